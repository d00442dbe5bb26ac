# SPDX-License-Identifier: LGPL-2.1-or-later
"""A modelled cluster with a twin on a lab: whatever changes the one changes the other, and what the one says
is compared with what the other says.

The twin has the directories, their pins, the file system's settings, an option of the MDSs, and the journal's
keys. Ranks that come and go, caches, clocks and health are the model's alone.
"""

from __future__ import annotations

import json
from collections import UserDict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from lab.api import Lab
from lab.errors import LabError
from lab.mount import Mount
from lab.waiting import until
from mds_partitioner.ceph.filesystem import DISTRIBUTED, PIN

from .fake_cluster import FakeCluster, FileSystem, Target

FS = "cephfs"
RANKS = 4  # of the lab
KEYS = "replay/"  # of the lab's config-key store
PATIENCE = 60.0  # s
PINS = {"pin": PIN, "distributed": DISTRIBUTED}
OPTION = "mds_forward_all_requests_to_auth"


class Twin:
    """The lab's side."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.operator, self.module = Mount(lab.sandbox, PATIENCE), Mount(lab.sandbox, PATIENCE)

    def end(self) -> None:
        """Unmount."""
        self.operator.drop()
        self.module.drop()

    def mon(self, prefix: str, **arguments: str) -> str:
        """A monitor's answer."""
        return self._lab.monitor.command(prefix, **arguments)

    def setting(self, name: str) -> str:
        """What ``fs get`` says, as the model has it."""
        mdsmap = json.loads(self.mon("fs get", fs_name=FS, format="json"))["mdsmap"]
        if name == "balance_automate":
            return str(mdsmap["flags_state"][name]).lower()
        return str(mdsmap[name])

    def option(self, name: str) -> str:
        """What the operator has set for all MDSs; "" for nothing."""
        entries = json.loads(self.mon("config dump", format="json"))
        return next((str(e["value"]) for e in entries if (e["section"], e["name"]) == ("mds", name)), "")

    def set_option(self, name: str, value: str) -> None:
        """Set it, or take it away with ""."""
        if value:
            self.mon("config set", who="mds", name=name, value=value)
        else:
            self.mon("config rm", who="mds", name=name)

    def reset(self) -> None:
        """As every history begins."""
        self.mon("fs set", fs_name=FS, var="balance_automate", val="false")
        self.mon("fs set", fs_name=FS, var="bal_rank_mask", val="-1")
        self.set_option(OPTION, "")

    def journal(self) -> dict[str, str]:
        """The journal."""
        found = json.loads(self.mon("config-key dump", key=KEYS, format="json") or "{}")
        return {key.removeprefix(KEYS): value for key, value in found.items()}

    def ranks(self, paths: set[str]) -> dict[str, int]:
        """The rank that serves each of these directories, if it is the root of a subtree."""
        found = {}
        infos = json.loads(self.mon("fs get", fs_name=FS, format="json"))["mdsmap"]["info"].values()
        for info in infos:
            subtrees = json.loads(self._lab.monitor.command("get subtrees", target=f"mds.{info['name']}"))
            for subtree in subtrees:
                if subtree["is_auth"] and subtree["dir"]["path"] in paths:
                    found[str(subtree["dir"]["path"])] = int(info["rank"])
        return found


class TwinStore(UserDict[str, str]):
    """The journal's keys, in the lab's mon, too; compared whenever all are read."""

    def __init__(self, cluster: TwinWorld) -> None:
        super().__init__()
        self._cluster = cluster

    def __setitem__(self, key: str, value: str) -> None:
        super().__setitem__(key, value)
        self._cluster.twin.mon("config-key set", key=KEYS + key, val=value)

    def __delitem__(self, key: str) -> None:
        self._cluster.twin.mon("config-key rm", key=KEYS + key)
        super().__delitem__(key)

    def __iter__(self) -> Iterator[str]:
        self._cluster.compare("the journal", self.data, self._cluster.twin.journal())
        return super().__iter__()


class TwinWorld(FakeCluster):
    """The model of one file system, below a directory of its own in the lab's."""

    def __init__(self, fs: FileSystem, twin: Twin, root: str) -> None:
        self.twin, self._root = twin, root
        self.compared = 0
        self._paths: dict[int, str] = {}  # in the lab, by the model's inode number
        self._inos: dict[int, int] = {}
        twin.reset()
        self.filesystems = {fs.fscid: fs}
        self._follow()
        for ino, directory in fs.directories.items():
            if directory.pin >= 0:
                self._pin(ino, "pin", str(directory.pin))
        super().__init__([fs])
        self.store = TwinStore(self)

    def compare(self, what: str, model: Any, lab: Any) -> None:
        """A difference is a violation, of the model's."""
        self.compared += 1
        if model != lab:
            self.violations.append(f"{what}: the model says {model}, the lab {lab}")

    def value(self, target: Target) -> str | None:
        """See FakeCluster; compared."""
        self._follow()
        said = super().value(target)
        kind, _, key = target
        if kind in PINS:
            self.compare(f"{kind} of {self._paths.get(int(key))}", said, self._known(int(key), kind))
        elif kind == "fs":
            self.compare(f"setting {key}", said, self.twin.setting(str(key)))
        elif kind == "config":
            self.compare(f"option {key}", said, self.twin.option(str(key)))
        return said

    def set(self, target: Target, value: str) -> None:
        """See FakeCluster; of both."""
        self._follow()
        super().set(target, value)
        kind, _, key = target
        if kind in PINS:
            self._pin(int(key), kind, value)
        elif kind == "fs":
            self.twin.mon("fs set", fs_name=FS, var=str(key), val=value)
        elif kind == "config":
            self.twin.set_option(str(key), value)

    def check_arrived(self) -> None:
        """Everything is where the model has it, as far as pins say."""
        self._follow()
        directories = next(iter(self.filesystems.values())).directories
        wanted = {self._root + d.path: d.pin for d in directories.values() if d.pin >= 0}
        paths = set(wanted)
        with suppress(LabError):  # what did not arrive is a difference
            until(lambda: self.twin.ranks(paths) == wanted, PATIENCE, "every pin is followed", every=1.0)
        self.compare("ranks of pinned directories", wanted, self.twin.ranks(paths))

    def end(self) -> None:
        """Leave nothing behind in the lab."""
        self.twin.operator("remove", self._root)
        for key in self.twin.journal():
            self.twin.mon("config-key rm", key=KEYS + key)

    def _known(self, ino: int, kind: str) -> str | None:
        if ino not in self._paths:
            return None
        found = self.twin.module("known", self._paths[ino])
        if found is None or found[0] != self._inos[ino]:
            return None
        return str(found[1 if kind == "pin" else 2])

    def _pin(self, ino: int, kind: str, value: str) -> None:
        self.twin.module("set_attribute", self._paths[ino], self._inos[ino], PINS[kind], value)

    def _follow(self) -> None:
        """What users did to the model's directories since, done to the lab's."""
        directories = next((fs.directories for fs in self.filesystems.values()), {})
        wanted = {ino: self._root + d.path for ino, d in directories.items()}
        if wanted == self._paths:
            return
        for ino in sorted(self._paths.keys() - wanted.keys(), key=lambda i: self._paths[i]):
            self._remove(ino)
        for ino in sorted(wanted.keys() & self._paths.keys(), key=lambda i: len(self._paths[i])):
            if self._paths[ino] != wanted[ino]:
                self._rename(self._paths[ino], wanted[ino])
        for ino in sorted(wanted.keys() - self._paths.keys(), key=lambda i: len(wanted[i])):
            self.twin.operator("make", wanted[ino], 0)
            self._inos[ino] = self.twin.operator("known", wanted[ino])[0]
        self._paths = wanted

    def _remove(self, ino: int) -> None:
        if self.twin.operator("known", self._paths[ino]) is not None:  # else with its parent
            self.twin.operator("remove", self._paths[ino])

    def _rename(self, old: str, new: str) -> None:
        self.twin.operator("rename", old, new)
        for ino, path in self._paths.items():
            if path == old or path.startswith(f"{old}/"):
                self._paths[ino] = new + path[len(old) :]
