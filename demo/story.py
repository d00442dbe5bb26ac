# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sequence: a lab, a load on one rank, analyze, partition, the same load again, and what comes then."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from demo import scene
from demo.record import Record, Span
from demo.sequel import Followed, follow
from demo.steps import START_S, poll, until_working, watched
from demo.summary import Capacity
from demo.telling import Telling
from demo.watch import Watch, for_seconds
from lab import module
from lab.api import Lab
from lab.errors import LabError

BEFORE_S = 30.0
ANALYZE_S = 40
PATIENCE_S = 130.0
AFTER_S = 45.0
# The built-in balancer, which spreads heavy subvolumes under a mask, beats every 10 s.
SETTLE_S = {"fanout": 10.0, "mask": 35.0}


@dataclass(frozen=True)
class Played:
    """What the story leaves for the summary."""

    whole: Span
    before: Span
    after: Span
    capacity: Capacity
    analysis: dict[str, Any]
    plan: dict[str, Any]
    execution: dict[str, Any]
    ceph: str
    mds_cpu_limited: bool
    followed: Followed | None


def play(release: str, heavy: str, telling: Telling, record: Record) -> Played:
    """Tell the story; nothing is left of the lab when this returns or raises."""
    telling.heading("1. A real CephFS")
    with stage(release, telling) as (lab, limited):
        ceph = lab.monitor.command("version").strip()
        watch = Watch(lab, record, telling.console)
        telling.heading("2. All the load is on one rank")
        paths = _prepare(lab, telling)
        _limit(lab, limited)
        steady, unsteady = scene.load(paths, *scene.STEADY), scene.load(paths, scene.HEAVY)
        with (
            lab.clients(steady, on_line=record.add_line) as clients,
            lab.clients(unsteady, on_line=record.add_line) as heavy_ones,
        ):
            with telling.step("clients mount and start"):
                until_working(record, steady, clients.wait)
                until_working(record, unsteady, heavy_ones.wait)
                time.sleep(START_S)
            whole_start = record.marks["before"] = time.time()
            before = watched(telling, watch, "load before", for_seconds(BEFORE_S, "before"))
            analysis = _analyze(lab, telling, watch, record)
            capacity = _capacity(analysis)
            plan, execution = _partition(lab, heavy, telling, watch, record)
            watched(telling, watch, "settle", for_seconds(SETTLE_S[heavy], "settling"))
            record.marks["after"] = time.time()
            after = watched(telling, watch, "load after", for_seconds(AFTER_S, "after"))
            followed = None
            if heavy == "fanout":  # with a mask, Ceph's own balancer is at work
                followed = follow(lab, heavy_ones, paths, limited, telling, watch, record)
            with telling.step("the other clients unmount"):
                heavy_ones.stop()
                clients.stop()
        with telling.step("the lab ends"):
            lab.down()
    whole = Span(whole_start, followed.end if followed else after.end)
    return Played(whole, before, after, capacity, analysis, plan, execution, ceph, limited, followed)


@contextmanager
def stage(release: str, telling: Telling) -> Iterator[tuple[Lab, bool]]:
    """A lab with the module enabled, and whether CPU quotas are possible."""
    lab = Lab.up(name=f"demo-{os.getpid()}", release=release, mds=scene.RANKS, mgr=2, progress=telling)
    with lab:
        with telling.step("enable mds_partitioner"):
            module.enable(lab, scene.OPTIONS)
        limited = lab.state.cgroup is not None
        if not limited:
            telling.note(
                "no rights to limit the MDSs' CPU: they go on unlimited, and gain less from spreading"
            )
        yield lab, limited


def _limit(lab: Lab, limited: bool) -> None:
    if limited:
        lab.set_mds_cpu(scene.CPU_PERCENT)


def _prepare(lab: Lab, telling: Telling) -> dict[str, str]:
    with telling.step(f"make {len(scene.subvolumes())} subvolumes"):
        paths = lab.make_subvolumes(scene.subvolumes())
    load = scene.load(paths, *(kind.name for kind in scene.KINDS))
    files = sum(client.dirs * client.files for client in load.clients)
    with telling.step(f"make {files:,} files in them"):
        lab.prepare(load)
    return paths


def _analyze(lab: Lab, telling: Telling, watch: Watch, record: Record) -> dict[str, Any]:
    telling.heading(f"3. ceph mds_partitioner analyze start --duration {ANALYZE_S}")
    record.marks["analyze"] = time.time()
    module.text(lab, "analyze start", duration=ANALYZE_S)
    answers = poll(
        lab, "analyze status", "running", ANALYZE_S + PATIENCE_S, lambda a: f"analysis at {a['progress']:.0%}"
    )
    watched(telling, watch, "analyze", answers)
    telling.say(module.text(lab, "analyze status"))
    answer = module.ask(lab, "analyze status")
    if "result" not in answer:
        raise LabError(f"the analysis {answer['state']}: {answer['problem']}")
    return answer


def _capacity(analysis: dict[str, Any]) -> Capacity:
    found = analysis["result"]["capacity"]
    if found["value"] is None:
        raise LabError("the module did not see that rank 0 is saturated, so there is no capacity to judge by")
    return Capacity(float(found["value"]), str(found["source"]))


def _partition(
    lab: Lab, heavy: str, telling: Telling, watch: Watch, record: Record
) -> tuple[dict[str, Any], dict[str, Any]]:
    telling.heading(f"4. ceph mds_partitioner partition plan --heavy {heavy}")
    with telling.step("plan"):
        plan = module.ask(lab, "partition plan", heavy=heavy, plan="demo")
        text = module.text(lab, "partition start", plan="demo", dry_run=True)
    telling.say(text)
    telling.heading("5. ceph mds_partitioner partition start")
    record.marks["partition"] = time.time()
    module.text(lab, "partition start", plan="demo")
    answers = poll(lab, "partition status", "running", PATIENCE_S, lambda a: f"plan at {a['progress']:.0%}")
    watched(telling, watch, "partition", answers)
    record.marks["done"] = time.time()
    telling.say(module.text(lab, "partition status"))
    execution = module.ask(lab, "partition status")
    if execution["state"] != "done":
        telling.note(
            f"the plan is {execution['state']} ({execution['why']}), so what follows is not its full effect"
        )
    return plan, execution
