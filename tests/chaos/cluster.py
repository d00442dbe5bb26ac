# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cluster that chaos happens to: orders and looks, and the record of both."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lab.api import Lab
from lab.clients.run import ClientRun
from lab.clients.spec import ClientSpec, LoadSpec
from lab.errors import LabError
from lab.mount import Mount
from lab.waiting import until
from tests.chaos.invariants import History, OperatorSet, Seen, left_behind, not_journaled, not_restored

TOP = "/chaos"
DIRECTORIES, CHILDREN = 8, 4
BUSY = 2  # of the directories have much more load than the others
RANKS = 4
POLL_S = 0.5
PATIENCE_S = 180.0
ORDER_S = 60  # a command's deadline
KEYS = "mgr/mds_partitioner/plan"


class Cluster:
    """One lab with the module, directories below TOP, and what was done to them."""

    def __init__(self, lab: Lab, saturated: bool = False) -> None:
        """saturated: the busiest clients ask for as much as they are answered."""
        self.lab = lab
        self.saturated = saturated
        self.fs = "cephfs"
        self.history = History()
        self.wrong: list[str] = []
        self.excused: list[str] = []
        self.load: ClientRun | None = None
        self.mount = Mount(lab.sandbox, PATIENCE_S)

    def begin(self) -> None:
        """The directories, on rank 0 and without pins."""
        for number in range(DIRECTORIES):
            self.mount("make", f"{TOP}/d{number}", CHILDREN)
        self.history.initial = {seen.ino: seen.pin for seen in self.scan()}

    def end(self) -> None:
        """Nothing of ours works in the lab any more."""
        self.stop_load()
        self.mount.drop()

    def mon(self, prefix: str, **args: Any) -> str:
        """A monitor's command."""
        return self.lab.monitor.command(prefix, timeout=ORDER_S, **args)

    def module(self, command: str, **args: Any) -> Any:
        """A command of the module. :raises LabError: it was refused, or no manager answered"""
        args = {"fs": self.fs, "format": "json", **args}
        text = self.lab.monitor.command(f"mds_partitioner {command}", target="mgr", timeout=ORDER_S, **args)
        return json.loads(text)

    def operator_pins(self, path: str, rank: int) -> None:
        """Recorded even where the answer is lost: it may have been done."""
        ino = next((seen.ino for seen in self.scan() if seen.path == path), None)
        if ino is None:
            raise LabError(f"no {path} to pin")
        try:
            ino = self.mount("pin", path, rank)
        finally:
            self.history.operator.append(OperatorSet(ino, rank, time.time()))

    def begin_load(self) -> None:
        """Clients, each in a directory of its own, the first ones much busier."""
        clients = (
            ClientSpec(
                f"c{number}",
                "/",
                home=f"{TOP}/d{number}",
                mix={"stat": 4.0, "create": 1.0, "unlink": 1.0},
                rate=10.0 if number >= BUSY else None if self.saturated else 60.0,
                dirs=CHILDREN,
                files=10,
                workers=8 if self.saturated else 2,
                cache=8,
            )
            for number in range(DIRECTORIES)
        )
        load = LoadSpec(tuple(clients), fs=self.fs)
        self.lab.prepare(load, PATIENCE_S)
        self.load = self.lab.clients(load)

    def stop_load(self) -> None:
        """Its directories may have been removed: what its clients say of that is no matter."""
        if self.load is not None:
            self.load.abandon()
            self.load = None

    def scan(self) -> list[Seen]:
        """Every directory with its pin, as clients see it."""
        return [Seen(*entry) for entry in self.mount("scan", TOP)]

    def active_mgr(self) -> str:
        """Its name."""
        return str(json.loads(self.mon("mgr dump", format="json"))["active_name"])

    def ranks(self) -> dict[int, tuple[str, str]]:
        """The MDS of each rank and its state."""
        mdsmap = json.loads(self.mon("fs get", fs_name=self.fs, format="json"))["mdsmap"]
        return {info["rank"]: (info["name"], info["state"]) for info in mdsmap["info"].values()}

    def whole(self, ranks: int) -> bool:
        """Are so many ranks active, and no others there?"""
        found = self.ranks()
        return sorted(found) == list(range(ranks)) and {s for _, s in found.values()} == {"up:active"}

    def wait_whole(self) -> None:
        """Until every rank that is to be there is active, and the module answers."""
        mdsmap = json.loads(self.mon("fs get", fs_name=self.fs, format="json"))["mdsmap"]
        self.wait("every rank is active", lambda: self.whole(mdsmap["max_mds"]))
        self.wait("the module answers", self.answers)

    def answers(self) -> bool:
        """Does the module?"""
        try:
            self.module("partition ls")
        except LabError:
            return False
        return True

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Poll. :raises LabError: not within PATIENCE_S"""
        until(condition, PATIENCE_S, what, every=POLL_S)

    def ordered(self, steps: Iterable[Mapping[str, Any]]) -> list[int]:
        """A plan's steps are orders from now on; the inode of each, 0 of what is no pin."""
        inos = []
        for step in steps:
            is_pin = step["kind"] == "pin"
            if is_pin:
                self.history.planned.setdefault(step["ino"], set()).add(int(step["value"]))
                self.history.passing.setdefault(step["ino"], set()).add(int(step["home"]))
            inos.append(int(step["ino"]) if is_pin else 0)
        return inos

    def note_times(self, steps: Sequence[Mapping[str, Any]], inos: Sequence[int]) -> None:
        """When a plan's steps were last recorded."""
        for step, ino in zip(steps, inos, strict=True):
            if ino and step.get("time"):
                self.history.stepped.setdefault(ino, set()).add(float(step["time"]))

    def check_now(self, learn: Callable[[], None]) -> None:
        """Nothing has a pin that nobody ordered. learn: takes in the plans, as the scheduler makes one at any
        time, and may forget one."""
        learn()
        seen = self.scan()
        learn()
        self.wrong += not_journaled(seen, self.history)

    def check_restored(self) -> None:
        """Everything is as it was, but for what the operator changed."""
        wrong, excused = not_restored(self.scan(), self.history)
        self.wrong += wrong
        self.excused += excused

    def check_forgotten(self) -> None:
        """Neither the mon nor the health checks know of a plan."""

        def left() -> list[str]:
            keys = json.loads(self.mon("config-key dump", key=KEYS, format="json") or "{}")
            return left_behind(keys, json.loads(self.mon("health", format="json"))["checks"])

        try:
            self.wait("nothing is left", lambda: not left())
        except LabError:
            self.wrong += left()
