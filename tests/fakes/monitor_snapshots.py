# SPDX-License-Identifier: LGPL-2.1-or-later
"""Snapshots to show: an uneven file system and one that does not answer."""

from __future__ import annotations

import math
from dataclasses import replace

from verdicts import UNKNOWN, verdict

from mds_partitioner.monitor.state import (
    EXPORTER,
    IMPORTER,
    AnalysisState,
    FsSample,
    HotState,
    PlanState,
    Point,
    RankState,
    SchedulerState,
    Snapshot,
    SubvolumeState,
    Timing,
)

NOW = 1_795_000_000.0
HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror=alert(1)>',
    "a\nb",
    "a\\nb",
    "not utf-8: \udcff",
    'quote" and \\ and {brace="1"} 1',
    "%s %n {0}",
    "x" * 255,
)


def rank(number: int, load: float, role: str = IMPORTER) -> RankState:
    """A rank; only rank 1 is watched for fallbacks."""
    return RankState(
        rank=number,
        daemon=f"mds.{'abcd'[number]}",
        load=load,
        latency=0.004,
        inodes=1000,
        exported=50 * number,
        imported=7,
        fell_back=True if number == 1 else None,
        forecast=load * 1.1,
        saturated=number == 0,
        hot=number == 0,
        role=role,
    )


def subvolume(name: str, workload: float = 10.0) -> SubvolumeState:
    """A row of the table."""
    return SubvolumeState(name, "light", workload, 3.0, 40.0, (0, 1))


def plan(state: str = "running", progress: float = 0.42) -> PlanState:
    """A plan under way."""
    return PlanState("plan-1", state, state, "", False, progress, 12_000.0, NOW - 60, None)


def scheduler(names: tuple[str, ...] = ("/volumes/_nogroup/heavy-1",)) -> SchedulerState:
    """It acts. ``names``: of hot spots, and in its decisions."""
    return SchedulerState(
        mode="act",
        why="rank 0 has too much: what is on it fits nowhere else, or was moved lately",
        problem="",
        even=False,
        stopped="",
        under_way=0,
        decisions=4,
        moves=9,
        inodes=1200.0,
        settled=4,
        predicted=300.0,
        real=-20.0,
        advised=0,
        advised_for=0.0,
        stuck=0.0,
        failing=0.0,
        unread="",
        unread_for=0.0,
        held=("12: pinned-by-operator",),
        last=tuple((NOW - 60 * i, f"{name} is looked at as parts") for i, name in enumerate(names)),
        hot=tuple(HotState(name, "sudden", 0.3) for name in names),
    )


def uneven(names: tuple[str, ...] = ("heavy-1", "heavy-2")) -> FsSample:
    """One file system, uneven, analyzed, with a plan."""
    ranks = (rank(0, 612.0, EXPORTER), rank(1, 31.0), rank(2, 12.0), rank(3, 0.0, ""))
    history = tuple(Point(NOW - 10 * i, 0.5 + 0.4 * math.sin(i / 20)) for i in range(300, -1, -1))
    top = tuple(subvolume(name, 100.0 - i) for i, name in enumerate(names))
    analysis = AnalysisState(NOW - 300, 3, "for the load", 24, top)
    return FsSample("cephfs", NOW, ranks, verdict(), 12, plan(), analysis, history)


def snapshot(sample: FsSample | None = None) -> Snapshot:
    """That, and a file system that does not answer."""
    silent = FsSample("silent", NOW, (), None, problem="file system 'silent' does not answer")
    return Snapshot(
        NOW,
        10.0,
        (sample or uneven(), silent),
        Timing(10, 3.2),
        Timing(9, 0.45),
        {"observe": 0, "judge": 2},
    )


def unsettled() -> Snapshot:
    """Uneven, and no rank was seen saturated."""
    ranks = tuple(replace(rank, saturated=False, hot=None) for rank in uneven().ranks)
    analysis = AnalysisState(NOW - 300, None, "the capacity of a rank is not known", 24, ())
    open_ = replace(uneven(), ranks=ranks, verdict=verdict(None, UNKNOWN, saturated=()), uneven_epochs=0)
    return snapshot(replace(open_, analysis=analysis))


def broken() -> Snapshot:
    """The engine gave no judgement."""
    why = "the engine failed at 'judge': no answer within 60 s"
    return snapshot(replace(uneven(), verdict=None, engine_problem=why))
