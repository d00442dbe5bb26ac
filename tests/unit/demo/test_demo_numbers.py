# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the demo counts, on made-up clients and counters."""

import json
import math
import os
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo import cost, plot, scene, summary
from demo.record import Record, Span, moment
from demo.summary import Capacity
from experiments.common.figures.factor import SMOOTHNESS, factors

CAPACITY = Capacity(1000.0, "learned at saturation")


def line(client: str, t: float, ops: int, p95: float = 10.0) -> dict[str, Any]:
    latency = {"all": {"n": ops, "p95": p95} if ops else {"n": 0}}
    return {"client": client, "t": t, "seconds": 1.0, "ops": ops, "errors": 0, "latency_ms": latency}


def answer(*loads: float) -> dict[str, Any]:
    ranks = [{"rank": n, "requests": load, "latency": 0.01, "inodes": 10} for n, load in enumerate(loads)]
    return {"ranks": ranks[::-1], "imbalance_factor": 0.5}


def recorded() -> Record:
    """Ten seconds with one busy rank, ten with four."""
    record = Record()
    for second in range(1, 21):
        record.add_line(line("heavy-1", second, 100 if second <= 10 else 300, 40.0))
        record.add_line(line("light-1", second, 0 if second <= 10 else 100, 20.0))
    for second in range(5, 21, 5):
        loads = (1000.0, 0.0, 0.0, 0.0) if second <= 10 else (400.0 + second, 400.0, 400.0, 400.0)
        record.add_moment(moment(second, answer(*loads)))
    return record


def test_the_scene_has_lines_skew() -> None:
    assert [kind.count for kind in scene.KINDS] == [2, 6, 16, 2]
    paths = {name: f"/volumes/{name}" for name in scene.subvolumes()}
    load = scene.load(paths, scene.HEAVY, *scene.STEADY)
    assert [c.name for c in scene.load(paths, scene.LATER).clients] == ["later-1", "later-2"]
    assert len(load.clients) == 24
    assert [c.rate is None for c in load.clients] == [True] * 2 + [False] * 22
    assert all(c.dirs >= scene.RANKS for c in load.clients if c.name.startswith("heavy"))


def test_throughput_counts_what_ended_within_the_span() -> None:
    record = recorded()
    assert record.throughput(Span(0, 10)) == 100
    assert record.throughput(Span(10, 20)) == 400
    assert record.p95(Span(10, 20)) == pytest.approx((300 * 40 + 100 * 20) / 400)
    assert record.p95(Span(100, 200)) is None


def test_lines_that_are_no_seconds_are_left_out() -> None:
    record = Record()
    record.add_line({"client": "heavy-1", "failed": "mount"})
    assert record.lines(Span(-math.inf, math.inf)) == []


def test_counters_that_did_not_change_are_one_moment() -> None:
    record = Record()
    for t in (1.0, 2.0, 3.0):
        record.add_moment(moment(t, answer(1.0, 2.0)))
    assert [m.t for m in record.moments] == [1.0]
    assert record.moments[0].loads == [1.0, 2.0]


def test_before_and_after() -> None:
    record = recorded()
    before, after = (summary.part(record, span, CAPACITY) for span in (Span(0, 10), Span(10, 20)))
    value = summary.value(record, before, after, CAPACITY)
    assert value["throughput_ratio"] == 4
    assert before.fullest_share == 1 and after.fullest_share < 0.3
    assert before.imbalance_factor > 0.9 and after.imbalance_factor < 0.01
    assert before.loads == [1000, 0, 0, 0]


def by_hand(loads: list[float], capacity: float) -> float:
    """Lunule, equations 1 to 3."""
    peak = max(loads)
    if peak == 0.0:
        return 0.0
    parts, exponent = [load / peak for load in loads], (1.0 - 2.0 * peak / capacity) / SMOOTHNESS
    variation = statistics.stdev(parts) / statistics.fmean(parts) / math.sqrt(len(parts))
    return variation / (1.0 + math.exp(exponent)) if exponent < 700.0 else 0.0


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=8), st.floats(1, 1e6))
def test_the_factor_is_the_papers(loads: list[float], capacity: float) -> None:
    (value,) = factors([loads], capacity)
    assert value == pytest.approx(by_hand(loads, capacity), abs=1e-9)


def test_the_picture_can_be_drawn(tmp_path: Path) -> None:
    record, span = recorded(), Span(0, 20)
    record.marks["analyze"] = 5.0
    run = {
        "cpu_percent": 15,
        "subvolumes": 24,
        "release": "tentacle",
        "capacity": {"value": 1000.0, "source": "learned"},
        "series": summary.series(record, span, CAPACITY),
    }
    plot.draw(json.loads(json.dumps(run)), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_cpu_time_of_a_process_whatever_its_name() -> None:
    stat = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 0 0 0 11 5 900 900 20 0 1 0 1 1 1"
    assert cost.cpu_ticks(stat) == 16
    assert cost.parent(stat) == 7


def test_cpu_time_of_this_process_grows() -> None:
    before, ends = cost.ticks(os.getpid()), time.process_time() + 0.2
    while time.process_time() < ends:
        pass
    assert cost.ticks(os.getpid()).manager - before.manager >= 0.1 * os.sysconf("SC_CLK_TCK")
