# SPDX-License-Identifier: LGPL-2.1-or-later
"""What others do to a modelled cluster: the operator, users, dying daemons, the host's clock."""

import random
from collections.abc import Callable

from mds_partitioner.model import HealthCheck

from .world import FileSystem, Held, Target, World


class Operator:
    """Everybody but the managers. Its dice are the history's, so that it does the same again."""

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._dice = world, random.Random(seed ^ 0x5EED)
        self._made = 9_000  # inode numbers of what is made anew

    def do(self, action: str) -> None:
        """One action, on something that exists."""
        fs = self._world.filesystems.get(self._dice.choice(sorted(self._world.filesystems or [0])))
        if fs is not None:
            deeds: dict[str, Callable[[FileSystem], None]] = {
                "operator pins": self._pin,
                "operator sets": self._set,
                "rename": self._rename,
                "remove": self._remove,
                "replace": self._replace,
                "rank goes": self._rank_goes,
                "rank dies": lambda fs: fs.down.add(self._dice.randrange(fs.ranks)),
                "fs renamed": self._rename_fs,
                "fs removed": self._remove_fs,
                "clock jumps": self._jump,
                "unwell": lambda fs: self._world.health.update(MDS_SLOW_REQUEST=HealthCheck("slow requests")),
            }
            deeds[action](fs)

    def heal(self) -> None:
        """All is well again, and every rank has an MDS."""
        self._world.health.clear()
        for fs in self._world.filesystems.values():
            fs.down.clear()
            fs.max_mds = fs.ranks

    def _change(self, target: Target, value: str) -> None:
        self._world.set(target, value)
        self._world.held[target].wanted.add(value)

    def _pin(self, fs: FileSystem) -> None:
        if fs.directories:
            ino = self._dice.choice(sorted(fs.directories))
            kind = "mask" if fs.hooked and self._dice.random() < 0.3 else "pin"
            if fs.churning and self._dice.random() < 0.5:
                ino, kind = next(iter(fs.directories)), "distributed"
            values = {
                "mask": ["-1", "0,1", "1"],
                "pin": ["-1", *map(str, range(fs.ranks))],
                "distributed": ["0", "1"],
            }
            self._change((kind, fs.fscid, ino), self._dice.choice(values[kind]))

    def _set(self, fs: FileSystem) -> None:
        values = {"bal_rank_mask": ["-1", "0x1", "0x3"], "balance_automate": ["true", "false"]}
        name = self._dice.choice([*values, "option"])
        if name == "option":
            self._change(("config", 0, "mds_forward_all_requests_to_auth"), self._dice.choice(["", "false"]))
        else:
            self._change(("fs", fs.fscid, name), self._dice.choice(values[name]))

    def _rename(self, fs: FileSystem) -> None:
        if fs.directories:
            moved = fs.directories[self._dice.choice(sorted(fs.directories))]
            old, new = moved.path, f"{moved.path}-moved{self._made}"
            self._made += 1
            for directory in fs.directories.values():
                if directory.path == old or directory.path.startswith(f"{old}/"):
                    directory.path = new + directory.path[len(old) :]

    def _remove(self, fs: FileSystem) -> str:
        if not fs.directories:
            return ""
        path = fs.directories[self._dice.choice(sorted(fs.directories))].path
        gone = [i for i, d in fs.directories.items() if d.path == path or d.path.startswith(f"{path}/")]
        for ino in gone:
            del fs.directories[ino]
        return path

    def _replace(self, fs: FileSystem) -> None:
        if not fs.directories:
            return
        kind = type(next(iter(fs.directories.values())))
        path = self._remove(fs)
        self._made += 1
        fs.directories[self._made] = kind(path)
        for name, none in (("pin", "-1"), ("mask", "-1"), ("distributed", "0")):
            self._world.held[name, fs.fscid, self._made] = Held(none)

    def _rank_goes(self, fs: FileSystem) -> None:
        if fs.ranks > 2:
            fs.ranks -= 1
            fs.max_mds = fs.ranks
            for directory in fs.directories.values():
                directory.rank = min(directory.rank, fs.ranks - 1)

    def _rename_fs(self, fs: FileSystem) -> None:
        fs.name += "-renamed"

    def _remove_fs(self, fs: FileSystem) -> None:
        if len(self._world.filesystems) > 1 or self._dice.random() < 0.3:
            del self._world.filesystems[fs.fscid]

    def _jump(self, fs: FileSystem) -> None:
        self._world.wall += self._dice.choice((-3600.0, 3600.0))
