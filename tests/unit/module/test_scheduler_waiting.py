# SPDX-License-Identifier: LGPL-2.1-or-later
"""Why the scheduler waits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_cluster import FakeCluster, plan
from scheduled import DEFAULTS

from mds_partitioner.act.run import DONE, PAUSED, ROLLING_BACK, RUNNING, Head, Run
from mds_partitioner.clock import Now, told
from mds_partitioner.model import FsState, HealthCheck
from mds_partitioner.schedule.record import ACT, Kept
from mds_partitioner.schedule.waiting import automate, kept_out, paused, unready

NOON = 1_800_014_400.0  # Unix, s


def run(state: str, *, scheduled: bool = False) -> Run:
    return Run("id", replace(plan(FakeCluster(), {100: 1}), scheduled=scheduled), Head(state))


RESUME = "'ceph mds_partitioner partition resume cephfs' goes on"


def theirs(_: FsState) -> bool:
    return False


def ours(_: FsState) -> bool:
    return True


def none(_: FsState) -> str:
    return ""


@pytest.mark.parametrize(
    ("pause", "until", "why"),
    [
        (False, None, ""),
        (False, 70.0, ""),
        (True, None, f"an operator paused it: {RESUME}"),
        (True, 70.0, f"an operator paused it until {told(NOON + 60.0)}: {RESUME}"),
    ],
)
def test_an_operators_pause_is_told_by_the_walls_clock(pause: bool, until: float | None, why: str) -> None:
    kept = Kept("cephfs", ACT, 0.0, paused=pause, until=until)
    assert paused("cephfs", kept, Now(NOON, 10.0)) == why


def test_hours_come_before_plans_and_plans_before_the_balancer() -> None:
    fs, shut = replace(FakeCluster().state, balance_automate=True), replace(DEFAULTS, begin_time="2500")
    busy = [run(RUNNING)]
    assert kept_out(fs, busy, shut, theirs, none, NOON).startswith("begin_time is '2500'")
    assert kept_out(fs, busy, DEFAULTS, theirs, none, NOON) == "plan 'p' is running"
    assert kept_out(fs, [], DEFAULTS, theirs, none, NOON) == automate(theirs, [], fs) != ""
    assert kept_out(fs, [], DEFAULTS, ours, none, NOON) == ""


@pytest.mark.parametrize(
    ("state", "scheduled", "waits"),
    [
        (RUNNING, False, True),
        (PAUSED, False, True),
        (ROLLING_BACK, False, True),
        (DONE, False, False),
        (RUNNING, True, False),
    ],
)
def test_it_waits_for_plans_that_are_under_way_and_not_its_own(
    state: str, scheduled: bool, waits: bool
) -> None:
    why = kept_out(FakeCluster().state, [run(state, scheduled=scheduled)], DEFAULTS, theirs, none, NOON)
    assert why == (f"plan 'p' is {state}" if waits else "")


def test_a_balancer_that_is_on_is_switched_off_first_unless_a_policy_of_ours_balances() -> None:
    on = replace(FakeCluster().state, balance_automate=True)
    assert "run 'ceph fs set cephfs balance_automate false' first" in automate(theirs, [], on)
    assert automate(ours, [], on) == automate(theirs, [], replace(on, balance_automate=False)) == ""


def test_it_waits_for_mdss_that_go_on_without_our_policy_and_says_what_to_type() -> None:
    on = replace(FakeCluster().state, balance_automate=True)
    why = kept_out(on, [], DEFAULTS, ours, lambda fs: "mds.a: (2) No such file or directory", NOON)
    assert "built-in balancer in place of its policy (mds.a: (2) No such file or directory)" in why
    assert why.endswith("or run 'ceph mds_partitioner balance off cephfs'")


def test_what_the_cluster_lacks_comes_before_what_was_not_told_yet() -> None:
    fs = FakeCluster().state
    slow = {"MDS_SLOW_METADATA_IO": HealthCheck("1 MDSs report slow metadata IOs", ())}
    assert unready(fs, {}, {}, ()) == ""
    assert unready(fs, slow, {}, (1,)).startswith("MDS_SLOW_METADATA_IO: ")
    assert unready(fs, {}, {}, (1, 2)) == "rank 1 has not told this manager twice yet what it serves"
    assert "rank 2" not in unready(fs, {}, {1: 9.0}, (2,)) != ""
