# SPDX-License-Identifier: LGPL-2.1-or-later
"""A journal with everything in it, made by the module itself, and what those of earlier versions looked like.

    PYTHONPATH=mgr:tests/fakes:tests/unit/module python3 tests/unit/module/journals.py \\
        > tests/unit/module/journals/VERSION.json

writes today's. Those of earlier versions stay as they are: every later version must read them.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fake_cluster import Directory, FakeCluster, Manager, plan
from test_archive import found
from test_switch import HINTS

from mds_partitioner.act.merge import merged
from mds_partitioner.act.run import DONE, PAUSED, ROLLING_BACK, RUNNING, STOPPED, Head, Run
from mds_partitioner.judge.analysis import Asked
from mds_partitioner.judge.archive import Archive, Found
from mds_partitioner.judge.wanted import KEY as ANALYSIS
from mds_partitioner.judge.window import Checkpoint, DirectorySum
from mds_partitioner.model import Directory as Place
from mds_partitioner.model import SubtreeSample
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.policy import switch as switching
from mds_partitioner.policy.switch import ON, SET, TURNING_OFF, TURNING_ON, Save, Switch
from mds_partitioner.ranks import KEY as CAPACITY
from mds_partitioner.schedule.core.state import Past
from mds_partitioner.schedule.core.view import Move, Scatter
from mds_partitioner.schedule.record import ACT, Capacity, Hour, InParts, Kept, Totals, Turn

ASKED = Asked("cephfs", 600, ("/volumes",), 1_795_000_100.0)
FOLDER = Path(__file__).with_name("journals")
OPERATORS = 3  # the pin that an operator sets in between


def everything() -> tuple[FakeCluster, dict[str, str]]:
    """A file system of whose plans there is one in every state; and the journal."""
    cluster = FakeCluster(directories=40)
    manager, inos = Manager(cluster), iter(cluster.directories)

    def made(name: str, steps: int = 2, **more: Any) -> Run:
        moves = {next(inos): 1 + i % 2 for i in range(steps)}
        return manager.journal.create(plan(cluster, moves, name=name, **more), [])

    def begun(name: str, ticks: int, steps: int = 2, **more: Any) -> Run:
        run = made(name, steps, **more)
        manager.journal.head(run, state=RUNNING, started=990.0)
        for _ in range(ticks):
            manager.tick(run)
        return run

    made("ready")
    begun("running", ticks=4, steps=5)
    held = begun("paused", ticks=1, steps=5)
    manager.journal.head(held, state=PAUSED, by_operator=True, until=5000.0)
    cluster.why = "rank 1 is failed"
    begun("waiting", ticks=1)
    cluster.why = None
    stopped = begun("stopped", ticks=1, steps=5)
    manager.journal.head(stopped, state=STOPPED)
    done = begun("done", ticks=8, mask="0x3", option=TO_AUTH)
    assert done.head.state == DONE
    skipped = made("skipped")
    cluster.directories[skipped.plan.steps[0].ino].pin = OPERATORS
    manager.journal.head(skipped, state=RUNNING)
    for _ in range(6):
        manager.tick(skipped)
    kept = begun("rolled-back", ticks=6)
    cluster.directories[kept.plan.steps[0].ino].pin = OPERATORS
    manager.journal.head(kept, state=ROLLING_BACK)
    for _ in range(12):
        manager.tick(kept)
    for name, state in (("rolling-back", ROLLING_BACK), ("stopped-on-the-way-back", STOPPED)):
        back = begun(name, ticks=8, steps=4)
        manager.journal.head(back, state=ROLLING_BACK)
        manager.tick(back)
        manager.journal.head(back, state=state, resume_to=back.heading())
    _scheduled(manager, [begun(f"scheduler-{i}", ticks=6) for i in (1, 2)])
    _others(cluster)
    return cluster, dict(sorted(cluster.store.data.items()))


def _scheduled(manager: Manager, runs: list[Run]) -> None:
    """Two of the scheduler's plans, which it has merged."""
    ours = [Run(run.id, replace(run.plan, scheduled=True), run.head, run.records) for run in runs]
    one, records = merged(ours, "scheduler-2")
    manager.journal.merge(one, Head(DONE), records)
    manager.journal.catch_up(one.fscid)
    while one.fscid in manager.journal.behind():
        manager.journal.tidy(one.fscid)


def _others(cluster: FakeCluster) -> None:
    """Records of policies, of the scheduler, of analyses."""
    for fscid, state in ((1, ON), (2, TURNING_ON), (3, TURNING_OFF)):
        names = (f"mds_partitioner.lunule.{fscid}",)
        switch = Switch("cephfs", fscid, state, "lunule", "", "mine.lua", True, 1.0, HINTS, names[0], names)
        host: Any = cluster
        switching.carry_out(host, Save(replace(switch, pushed=2.5, to_auth=SET, old_to_auth="false")), "")
    move = Move(100, "/volumes/_nogroup/s0", 0, 1, 50.0, 40.0, 1000.0, "rank 0 is full")
    scatter = Scatter(101, "/volumes/_nogroup/s1", 0, (1, 2), 30.0, 20.0, "children come and go")
    past = (Past(move, 900.0, 910.0, 2, 45.0, latency=0.01),)
    turn = Turn(900.0, ACT, "uneven", past, (50.0,), 0, 100.0, 1.5, 1.1, "scheduler-2", ("/volumes",),
                ((100, "it was refused"),), False, (scatter,))  # fmt: skip
    mind = Kept("cephfs", ACT, 800.0, (turn,), (7,), (Capacity("m0", 1000.0, 3.0),), Totals(1, 1, 1000.0),
                (Hour(0.0, 1),), True, 5000.0, (InParts(7, 500.0, 890.0, 900.0, 300.0),))  # fmt: skip
    Archive(cluster.store, "scheduler/", Kept).save(1, mind)
    Archive(cluster.store, "judgement/", Found).save(1, found())
    seen = SubtreeSample(Place("/volumes/_nogroup/s0", "s0", 100), 10.0, 5.0, 2, (0,), False, True,
                         served=(5.0,))  # fmt: skip
    sums = (DirectorySum(seen, 10.0, 30.0, 6, True, True, served=(30.0,)),)
    Archive(cluster.store, "checkpoint/", Checkpoint).save(1, Checkpoint(60.0, 6, 1, sums))
    cluster.store.put(f"{ANALYSIS}1", ASKED.to_json())
    cluster.store.put(f"{CAPACITY}1", str(1000.0))


def restored(text: str) -> FakeCluster:
    """The file system and the journal of what was written as text."""
    data = json.loads(text)
    cluster = FakeCluster(directories=0)
    cluster.directories = {int(ino): Directory(**fields) for ino, fields in data["directories"].items()}
    cluster.state = replace(cluster.state, **data["settings"])
    cluster.options, cluster.store.data = data["options"], data["journal"]
    cluster.managers = data["managers"]
    return cluster


def written() -> str:
    """What ``restored`` reads."""
    cluster, journal = everything()
    state = cluster.state
    settings = {name: getattr(state, name) for name in ("balance_automate", "balancer", "bal_rank_mask")}
    data = {
        "directories": {ino: asdict(directory) for ino, directory in cluster.directories.items()},
        "settings": settings,
        "options": cluster.options,
        "managers": cluster.managers,
        "journal": journal,
    }
    return json.dumps(data, indent=1)


def shapes(journal: dict[str, str]) -> dict[str, list[str]]:
    """The kinds of values that each kind of key has: their fields, and the kinds of these."""
    found: dict[str, set[str]] = {}
    for key, value in journal.items():
        kind = re.sub(r"/[0-9a-f]{32}(?=/|$)", "/ID", re.sub(r"/\d+(?=/|$)", "/N", key))
        found.setdefault(kind, set()).add(json.dumps(_shape(_read(value)), sort_keys=True))
    return {kind: sorted(shapes) for kind, shapes in sorted(found.items())}


def _read(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return json.loads(zlib.decompress(base64.b85decode(value)))


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {"N" if name.isdecimal() else name: _shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(_shape(item), sort_keys=True) for item in value})
    return "number" if type(value) in (int, float) else type(value).__name__


if __name__ == "__main__":
    print(written())
