# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sequence: a lab, a load on one rank, analyze, partition, the same load again, and what comes then."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from demo import scene
from demo.console import DemoConsole
from demo.record import Record, Span
from demo.sequel import Followed, follow
from demo.steps import START_S, poll, until_working, watched
from demo.summary import Capacity
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


def play(release: str, heavy: str, console: DemoConsole, record: Record) -> Played:
    """Tell the story; nothing is left of the lab when this returns or raises."""
    console.heading("1. A real CephFS")
    with stage(release, console) as (lab, limited):
        ceph = lab.monitor.command("version").strip()
        watch = Watch(lab, record, console.rich)
        console.heading("2. All the load is on one rank")
        paths = _prepare(lab, console)
        _limit(lab, limited)
        steady, unsteady = scene.load(paths, *scene.STEADY), scene.load(paths, scene.HEAVY)
        with (
            lab.clients(steady, on_line=record.add_line) as clients,
            lab.clients(unsteady, on_line=record.add_line) as heavy_ones,
        ):
            with console.step("clients mount and start"):
                until_working(record, steady, clients.wait)
                until_working(record, unsteady, heavy_ones.wait)
                time.sleep(START_S)
            whole_start = record.marks["before"] = time.time()
            before = watched(console, watch, "load before", for_seconds(BEFORE_S, "before"))
            analysis = _analyze(lab, console, watch, record)
            capacity = _capacity(analysis)
            plan, execution = _partition(lab, heavy, console, watch, record)
            watched(console, watch, "settle", for_seconds(SETTLE_S[heavy], "settling"))
            record.marks["after"] = time.time()
            after = watched(console, watch, "load after", for_seconds(AFTER_S, "after"))
            followed = None
            if heavy == "fanout":  # with a mask, Ceph's own balancer is at work
                followed = follow(lab, heavy_ones, paths, limited, console, watch, record)
            with console.step("the other clients unmount"):
                heavy_ones.stop()
                clients.stop()
        with console.step("the lab ends"):
            lab.down()
    whole = Span(whole_start, followed.end if followed else after.end)
    return Played(whole, before, after, capacity, analysis, plan, execution, ceph, limited, followed)


@contextmanager
def stage(release: str, console: DemoConsole) -> Iterator[tuple[Lab, bool]]:
    """A lab with the module enabled, and whether CPU quotas are possible."""
    lab = Lab.up(name=f"demo-{os.getpid()}", release=release, mds=scene.RANKS, mgr=2, progress=console)
    with lab:
        with console.step("enable mds_partitioner"):
            module.enable(lab, scene.OPTIONS)
        limited = lab.state.cgroup is not None
        if not limited:
            console.note(
                "no rights to limit the MDSs' CPU: they go on unlimited, and gain less from spreading"
            )
        yield lab, limited


def _limit(lab: Lab, limited: bool) -> None:
    if limited:
        lab.set_mds_cpu(scene.CPU_PERCENT)


def _prepare(lab: Lab, console: DemoConsole) -> dict[str, str]:
    with console.step(f"make {len(scene.subvolumes())} subvolumes"):
        paths = lab.make_subvolumes(scene.subvolumes())
    load = scene.load(paths, *(kind.name for kind in scene.KINDS))
    files = sum(client.dirs * client.files for client in load.clients)
    with console.step(f"make {files:,} files in them"):
        lab.prepare(load)
    return paths


def _analyze(lab: Lab, console: DemoConsole, watch: Watch, record: Record) -> dict[str, Any]:
    console.heading(f"3. ceph mds_partitioner analyze start --duration {ANALYZE_S}")
    record.marks["analyze"] = time.time()
    module.text(lab, "analyze start", duration=ANALYZE_S)
    answers = poll(
        lab, "analyze status", "running", ANALYZE_S + PATIENCE_S, lambda a: f"analysis at {a['progress']:.0%}"
    )
    watched(console, watch, "analyze", answers)
    console.say(module.text(lab, "analyze status"))
    answer = module.ask(lab, "analyze status")
    if answer["result"] is None:
        raise LabError(f"the analysis {answer['state']}: {answer['problem']}")
    return answer


def _capacity(analysis: dict[str, Any]) -> Capacity:
    found = analysis["result"]["capacity"]
    if found["value"] is None:
        raise LabError("the module did not see that rank 0 is saturated, so there is no capacity to judge by")
    return Capacity(float(found["value"]), str(found["source"]))


def _partition(
    lab: Lab, heavy: str, console: DemoConsole, watch: Watch, record: Record
) -> tuple[dict[str, Any], dict[str, Any]]:
    console.heading(f"4. ceph mds_partitioner partition plan --heavy {heavy}")
    with console.step("plan"):
        plan = module.ask(lab, "partition plan", heavy=heavy, plan="demo")
        text = module.text(lab, "partition start", plan="demo", dry_run=True)
    console.say(text)
    console.heading("5. ceph mds_partitioner partition start")
    record.marks["partition"] = time.time()
    module.text(lab, "partition start", plan="demo")
    answers = poll(lab, "partition status", "running", PATIENCE_S, lambda a: f"plan at {a['progress']:.0%}")
    watched(console, watch, "partition", answers)
    record.marks["done"] = time.time()
    console.say(module.text(lab, "partition status"))
    execution = module.ask(lab, "partition status")
    if execution["state"] != "done":
        console.note(
            f"the plan is {execution['state']} ({execution['why']}), so what follows is not its full effect"
        )
    return plan, execution
