# SPDX-License-Identifier: LGPL-2.1-or-later
"""The clusters that histories begin with, and what is asked of the module on them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from verdicts import verdict

from mds_partitioner.engine.calls import CALLS
from mds_partitioner.judge.analysis import FINISHED, Analysis, restored
from mds_partitioner.judge.archive import Found
from mds_partitioner.judge.judgement import Caveats, DirectoryJudgement, Judgement
from mds_partitioner.judge.window import Observed
from mds_partitioner.model import Churning, FsState
from mds_partitioner.model import Directory as Named
from mds_partitioner.plan.plan import DISTRIBUTED_STEP, PIN_STEP, Plan, Step

from .fake_cluster import BEGINNING, ROOT, Directory, FakeCluster, FileSystem


@dataclass(frozen=True)
class Scenario:
    """File systems with one heavy directory and some light ones, and the plan's options."""

    filesystems: int
    ranks: int
    light: int
    heavy: str  # mask or fanout
    hooked: bool = False
    to_auth: bool = False
    churning: bool = False  # the heavy one's children come and go
    operators_pins: bool = False  # some directories are pinned before; the plan is made with --force
    scheduled: bool = False  # the plan is the scheduler's: what does not arrive in time is put back
    begins: int = 0  # the rank that everything is on at first; the last one may go
    swapped: tuple[str, ...] = ()  # how the scheduler distributes what has a pin: kinds of steps, by phase


SCENARIOS = {
    "fanout over four ranks": Scenario(1, 4, 5, "fanout"),
    "fanout, forwarding to the authority": Scenario(1, 3, 4, "fanout", to_auth=True),
    "a mask for the heavy": Scenario(1, 4, 6, "mask"),
    "a mask of the directory, with the hook": Scenario(1, 4, 5, "mask", hooked=True),
    "children that come and go": Scenario(1, 4, 5, "fanout", churning=True),
    "over an operator's pins": Scenario(1, 4, 6, "fanout", to_auth=True, operators_pins=True),
    "the scheduler's": Scenario(1, 4, 6, "fanout", scheduled=True),
    "the scheduler's, that distributes": Scenario(
        1, 4, 4, "fanout", scheduled=True, swapped=(DISTRIBUTED_STEP, PIN_STEP)
    ),
    "the scheduler's, that distributes, of an older version": Scenario(
        1, 4, 4, "fanout", scheduled=True, swapped=(PIN_STEP, DISTRIBUTED_STEP)
    ),
    "from a rank that may go": Scenario(1, 3, 4, "fanout", begins=2),
    "the scheduler's, from a rank that may go": Scenario(1, 3, 4, "fanout", scheduled=True, begins=2),
    "two file systems": Scenario(2, 3, 4, "fanout"),
    "two file systems, forwarding to the authority": Scenario(2, 3, 3, "fanout", to_auth=True),
    "two file systems, masks": Scenario(2, 4, 5, "mask"),
}
CHILDREN = 6
PINNED = 200  # is distributed where that is asked for


def build(scenario: Scenario) -> FakeCluster:
    """The cluster: everything is on one rank, but what an operator pinned."""
    return FakeCluster([_filesystem(i + 1, scenario) for i in range(scenario.filesystems)])


def _filesystem(fscid: int, s: Scenario) -> FileSystem:
    fs = FileSystem(fscid, f"fs{fscid}", s.ranks, s.ranks, hooked=s.hooked)
    fs.directories[2], fs.directories[3] = Directory("/volumes"), Directory(ROOT)
    fs.directories[100] = Directory(f"{ROOT}/heavy", rentries=600)
    for i in range(CHILDREN):
        born = BEGINNING - 1.0 if s.churning else 0.0
        fs.directories[110 + i] = Directory(f"{ROOT}/heavy/c{i}", rentries=100, born=born)
    for i in range(s.light):
        fs.directories[200 + i] = Directory(f"{ROOT}/light{i}", rentries=50)
    for directory in fs.directories.values():
        directory.rank = s.begins
    if s.swapped:
        fs.directories[PINNED].pin = fs.directories[PINNED].rank = 1
        fs.directories[300] = Directory(f"{fs.directories[PINNED].path}/in", rank=1)
    if s.operators_pins:
        for ino, rank in ((200, 1), (201, 2), (110, 0)):
            fs.directories[ino].pin = fs.directories[ino].rank = rank
    return fs


def with_swapped(plan: Plan, s: Scenario) -> Plan:
    """Also what has a pin is distributed, as schedule/plans.py has it."""
    row = next((i for i, row in enumerate(plan.rows) if row.ino == PINNED), None)
    if row is None:
        return plan
    values, path = {PIN_STEP: ("-1", "1"), DISTRIBUTED_STEP: ("1", "0")}, plan.rows[row].path
    steps = [Step(i, kind, row, path, PINNED, *values[kind], 1) for i, kind in enumerate(s.swapped)]
    return replace(plan, steps=(*plan.steps, *steps))


def judgement(fs: FileSystem) -> Judgement:
    """What an analysis would have found: the heavy directory has nine tenths of the load."""
    subvolumes = [(i, d) for i, d in sorted(fs.directories.items()) if d.path.count("/") == 3]
    rows = [
        DirectoryJudgement(
            Observed(
                directory=Named(d.path, d.path.rpartition("/")[2], ino),
                wss=10.0 * d.rentries,
                requests=9.0 * 50 if d.rentries > 100 else 10.0,
                rentries=d.rentries,
                sessions=1,
                ranks=(d.rank,),
                pin=d.pin,
                ephemeral=False,
                shared=False,
            ),
            300.0 if d.rentries > 100 else 20.0,
            "heavy" if d.rentries > 100 else "light",
        )
        for ino, d in subvolumes
    ]
    return Judgement(
        fs=fs.name,
        verdict=verdict(0.9),
        ranks=(),
        directories=tuple(rows),
        recommended=3,
        recommended_reason="",
        cache_limit=4 << 30,
        churning=(Churning(100, 5.0),) if any(d.born for d in fs.directories.values()) else (),
        caveats=Caveats(epochs=6, unread=0, unread_load=0.0, missing=0, by_heat=0),
    )


class Engine:
    """The engine, in this process; the same question is answered once."""

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """EngineClient.call."""
        answer: dict[str, Any] = json.loads(_answer(name, json.dumps(arguments, sort_keys=True)))
        return answer


@cache
def _answer(name: str, arguments: str) -> str:
    return json.dumps(CALLS[name](json.loads(arguments)))


class Analyzer:
    """Has analyzed every file system as it is now."""

    def __init__(self, cluster: Callable[[], FakeCluster]) -> None:
        self._cluster = cluster

    def get(self, fs: FsState) -> Analysis:
        """Analyzer.get."""
        return restored(self.found(fs))

    def found(self, fs: FsState) -> Found:
        """Analyzer.found: it ended just now."""
        cluster = self._cluster()
        return Found(fs.name, 60, 6, FINISHED, cluster.wall, judgement(cluster.filesystems[fs.fscid]))
