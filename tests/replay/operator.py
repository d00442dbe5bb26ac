# SPDX-License-Identifier: LGPL-2.1-or-later
"""What others do to a modelled cluster: the operator, users, dying daemons, the host's clock."""

import random
from collections.abc import Callable

from mds_partitioner.model import HealthCheck

from .fake_cluster import Directory, FakeCluster, FileSystem, Held, Target

FIRST_OF_USERS = 100  # inode number


class Operator:
    """Everybody but the managers. Its dice are the history's, so that it does the same again."""

    def __init__(self, cluster: FakeCluster, seed: int) -> None:
        self._cluster, self._dice = cluster, random.Random(seed ^ 0x5EED)
        self._made = 9_000  # inode numbers of what is made anew

    def do(self, action: str) -> None:
        """One action, on something that exists."""
        fs = self._cluster.filesystems.get(self._dice.choice(sorted(self._cluster.filesystems or [0])))
        if fs is not None:
            deeds: dict[str, Callable[[FileSystem], None]] = {
                "operator pins": self._pin,
                "operator sets": self._set,
                "rename": self._rename,
                "remove": self._remove,
                "replace": self._replace,
                "another in its place": self._displace,
                "rank goes": self._rank_goes,
                "rank dies": lambda fs: fs.down.add(self._dice.randrange(fs.ranks)),
                "caches go cold": self._cool,
                "fs renamed": self._rename_fs,
                "fs removed": self._remove_fs,
                "clock jumps": self._jump,
                "unwell": lambda fs: self._cluster.health.update(
                    MDS_SLOW_REQUEST=HealthCheck("slow requests")
                ),
            }
            deeds[action](fs)

    def heal(self) -> None:
        """All is well again, and every rank has an MDS."""
        self._cluster.health.clear()
        for fs in self._cluster.filesystems.values():
            fs.down.clear()
            fs.max_mds = fs.ranks

    def _change(self, target: Target, value: str) -> None:
        held, before = self._cluster.held[target], self._cluster.value(target)
        self._cluster.set(target, value)
        held.wanted.add(value)
        if value != before:
            held.last, held.doubtful = value, value in self._cluster.planned(target)

    def _any(self, fs: FileSystem) -> int:
        return self._dice.choice(_users(fs))

    def _pin(self, fs: FileSystem) -> None:
        if _users(fs):
            ino = self._any(fs)
            kinds = {"pin": ["-1", *map(str, range(fs.ranks))], "distributed": ["0", "1"]}
            if fs.hooked:
                kinds["mask"] = ["-1", "0,1", "1"]
            kind = self._dice.choice(["pin", *kinds])
            self._change((kind, fs.fscid, ino), self._dice.choice(kinds[kind]))

    def _set(self, fs: FileSystem) -> None:
        values = {"bal_rank_mask": ["-1", "0x1", "0x3"], "balance_automate": ["true", "false"]}
        name = self._dice.choice([*values, "option"])
        if name == "option":
            self._change(("config", 0, "mds_forward_all_requests_to_auth"), self._dice.choice(["", "false"]))
        else:
            self._change(("fs", fs.fscid, name), self._dice.choice(values[name]))

    def _rename(self, fs: FileSystem) -> str:
        """The old path."""
        if not _users(fs):
            return ""
        old = fs.directories[self._any(fs)].path
        self._made += 1
        for directory in fs.directories.values():
            if directory.path == old or directory.path.startswith(f"{old}/"):
                directory.path = f"{old}-moved{self._made}" + directory.path[len(old) :]
        return old

    def _remove(self, fs: FileSystem) -> str:
        if not _users(fs):
            return ""
        path = fs.directories[self._any(fs)].path
        gone = [i for i, d in fs.directories.items() if d.path == path or d.path.startswith(f"{path}/")]
        for ino in gone:
            del fs.directories[ino]
        return path

    def _replace(self, fs: FileSystem) -> None:
        self._make(fs, self._remove(fs))

    def _displace(self, fs: FileSystem) -> None:
        self._make(fs, self._rename(fs))

    def _make(self, fs: FileSystem, path: str) -> None:
        if path:
            self._made += 1
            fs.directories[self._made] = Directory(path)
            for kind in ("pin", "mask", "distributed"):
                target = (kind, fs.fscid, self._made)
                self._cluster.held[target] = Held(self._cluster.value(target) or "")

    def _rank_goes(self, fs: FileSystem) -> None:
        if fs.ranks > 2:
            fs.ranks -= 1
            fs.max_mds = fs.ranks
            for directory in fs.directories.values():
                directory.rank = min(directory.rank, fs.ranks - 1)

    def _cool(self, fs: FileSystem) -> None:
        for directory in fs.directories.values():
            directory.cold = True

    def _rename_fs(self, fs: FileSystem) -> None:
        fs.name += "-renamed"

    def _remove_fs(self, fs: FileSystem) -> None:
        if len(self._cluster.filesystems) > 1 or self._dice.random() < 0.3:
            del self._cluster.filesystems[fs.fscid]
            if fs.fscid % 2:  # of every other one the pools stay
                self._cluster.pools.discard(fs.fscid)

    def _jump(self, fs: FileSystem) -> None:
        self._cluster.wall += self._dice.choice((-3600.0, 3600.0))


def _users(fs: FileSystem) -> list[int]:
    """Directories that users may do something to; not the volumes module's own."""
    return [ino for ino in sorted(fs.directories) if ino >= FIRST_OF_USERS]
