# SPDX-License-Identifier: LGPL-2.1-or-later
"""Health checks: raised when an operator must act, saying what to do, gone when it is over."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from monitor_snapshots import NOW, broken, plan, scheduler, snapshot, uneven, unsettled
from verdicts import verdict

from mds_partitioner.clock import told
from mds_partitioner.monitor.health import (
    ENGINE_DOWN,
    IMBALANCE,
    STALE,
    UNJUDGED,
    Check,
    apart,
    collect,
    engine_down,
    imbalanced,
    scheduler_advises,
    scheduler_misjudges,
    scheduler_stuck,
    stale,
    unjudged,
)
from mds_partitioner.monitor.state import LATE, FsSample, Snapshot

LASTS = 300.0  # s


def advice(sample: Snapshot) -> str:
    (check,) = imbalanced(sample, 12, NOW)
    (line,) = check.detail
    return line


def test_imbalance_is_raised_only_when_it_lasts() -> None:
    assert [check.code for check in imbalanced(snapshot(), 12, NOW)] == [IMBALANCE]
    assert imbalanced(snapshot(), 13, NOW) == []
    assert imbalanced(snapshot(replace(uneven(), uneven_epochs=0)), 1, NOW) == []
    assert imbalanced(unsettled(), 1, NOW) == []


def unplanned() -> FsSample:
    """Uneven, and neither a plan nor a policy is there."""
    ranks = tuple(replace(rank, fell_back=None) for rank in uneven().ranks)
    return replace(uneven(), plan=None, ranks=ranks)


def test_imbalance_says_what_to_do_next() -> None:
    idle = unplanned()
    assert "rank 0 serves 93% of 655 req/s" in advice(snapshot(idle))
    assert "partition plan cephfs" in advice(snapshot(idle))
    assert "analyze start cephfs" in advice(snapshot(replace(idle, analysis=None)))
    assert "partition status cephfs" in advice(snapshot(replace(idle, plan=plan())))


def test_beside_a_policy_its_status_is_advised() -> None:
    """A plan that confines what a policy may move would be refused."""
    beside = replace(uneven(), plan=None)
    assert any(rank.fell_back is not None for rank in beside.ranks)
    assert "'ceph mds_partitioner balance status cephfs'" in advice(snapshot(beside))


def test_where_a_slow_rank_is_full_of_little_no_plan_is_advised() -> None:
    slow = verdict(saturated=(3,))
    idle = replace(unplanned(), verdict=slow)
    assert advice(snapshot(idle)).endswith("'ceph mds_partitioner scheduler start cephfs --mode act'")
    both = replace(idle, verdict=replace(slow, saturated=(0, 3)))
    assert "partition plan cephfs" in advice(snapshot(both))


def test_an_analysis_of_another_load_is_made_again_first() -> None:
    idle, analyze = unplanned(), "analyze start cephfs', then 'ceph mds_partitioner partition plan cephfs --"
    assert idle.analysis is not None
    old = replace(idle, analysis=replace(idle.analysis, ended=NOW - 3601.0))
    assert analyze in advice(snapshot(old))
    ran = replace(plan("done", 1.0), started=NOW - 360.0)
    assert analyze in advice(snapshot(replace(idle, plan=replace(ran, finished=NOW - 299.0))))
    assert analyze not in advice(snapshot(replace(idle, plan=replace(ran, finished=NOW - 301.0))))
    assert analyze not in advice(snapshot(replace(idle, plan=replace(ran, state="ready", started=None))))
    ahead = replace(ran, finished=NOW + 3600.0)  # by a clock that was put back since
    assert analyze not in advice(snapshot(replace(idle, plan=ahead)))
    since = replace(ran, finished=NOW + 10.0)  # after the last epoch
    (check,) = imbalanced(snapshot(replace(idle, plan=since)), 12, NOW + 20.0)
    assert analyze in check.detail[0]


def test_beside_a_silent_rank_that_is_looked_into_first() -> None:
    quiet = replace(uneven(), problem="rank 3 (mds.d) has said nothing for over 20 s")
    assert advice(snapshot(quiet)).endswith("has said nothing for over 20 s: see 'ceph fs status cephfs'")


def test_a_hot_rank_of_many_is_named_as_the_factor_is_not_above_its_threshold() -> None:
    hot = replace(uneven(), verdict=verdict(0.06))
    assert "imbalance factor 0.830, above 0.075; rank 0" in advice(snapshot())
    assert "uneven for 12 epochs: imbalance factor 0.060, hot ranks (0); rank 0" in advice(snapshot(hot))


def test_a_dead_engine_is_told_with_its_last_words() -> None:
    (check,) = engine_down(broken())
    assert check.code == ENGINE_DOWN
    assert "no answer within 60 s" in check.detail[0] and "engine_deadline" in check.detail[0]
    assert engine_down(snapshot()) == []


def unjudged_for(seconds: float, problem: str = "no mon", engine_problem: str = "") -> list[Check]:
    of = replace(uneven(), verdict=None, problem=problem, engine_problem=engine_problem)
    return unjudged(snapshot(replace(of, unjudged_since=NOW - seconds)), NOW)


def test_what_is_not_judged_is_told_with_the_reason_when_it_lasts() -> None:
    assert unjudged_for(119.0) == unjudged(snapshot(), NOW) == []
    (check,) = unjudged_for(180.0, "the option rank_capacity is nan: give a number")
    assert check.code == UNJUDGED and "1 of 2 file system(s)" in check.summary
    assert check.detail == (
        "'cephfs': not judged for 3 min: the option rank_capacity is nan: give a number; 'ceph "
        "mds_partitioner imbalance cephfs' judges it now, and says what fails then",
    )


def test_what_the_engine_fails_at_is_told_once() -> None:
    assert unjudged_for(180.0, "it ended", "it ended") == []


def test_when_no_epoch_ends_any_more_other_checks_are_said_to_be_old() -> None:
    assert stale(LATE, NOW, "x") == []
    (check,) = stale(601.0, NOW, "x")
    assert check.code == STALE and check.detail[0].startswith("mgr.x: an epoch is overdue by 10 min: ")
    assert f"as it was at {told(NOW)}" in check.detail[0] and "'ceph mgr fail'" in check.detail[0]
    (first,) = stale(601.0, 0.0, "x")
    assert "overdue by 10 min: nothing is known yet" in first.detail[0]


def test_checks_of_all_sources_are_raised_together() -> None:
    one, other = Check("A", "a", ("x",)), Check("B", "b", ("y", "z"))
    raised = collect([lambda: [one], lambda: [], lambda: [other]])
    assert raised == {
        "A": {"severity": "warning", "summary": "a", "count": 1, "detail": ["x"]},
        "B": {"severity": "warning", "summary": "b", "count": 2, "detail": ["y", "z"]},
    }
    assert collect([]) == {}


def test_a_check_is_one_line_of_utf8_whatever_name_is_in_it() -> None:
    raised = collect([lambda: [Check("C", "of \udcff", ("/a\nb", "/\udce9"))]])["C"]
    assert raised["summary"] == "of \\udcff" and raised["detail"] == ["/a\\nb", "/\\udce9"]


def test_a_source_that_fails_takes_no_other_check_with_it() -> None:
    def broken() -> list[Check]:
        raise ZeroDivisionError

    sources = [apart(source, logging.getLogger("test")) for source in (broken, lambda: [Check("C", "c", ())])]
    assert list(collect(sources)) == ["C"]


def scheduled(**changes: Any) -> Snapshot:
    return snapshot(replace(uneven(), scheduler=replace(scheduler(), **changes)))


def test_a_scheduler_that_cannot_help_says_why_and_where_to_look() -> None:
    assert scheduler_stuck(scheduled(stuck=299.0), LASTS) == scheduler_stuck(snapshot(), LASTS) == []
    (check,) = scheduler_stuck(scheduled(stuck=301.0), LASTS)
    assert "left alone: 12: pinned-by-operator" in check.detail[0]
    assert "rank 0 has too much" in check.detail[0]
    assert "scheduler status cephfs" in check.detail[0]


def test_a_scheduler_whose_looks_fail_says_why() -> None:
    why = "mds.a did not answer within 16 s"
    assert scheduler_stuck(scheduled(failing=299.0, problem=why), LASTS) == []
    (check,) = scheduler_stuck(scheduled(failing=301.0, problem=why), LASTS)
    see = "see 'ceph mds_partitioner scheduler status cephfs'"
    assert check.detail == (f"'cephfs': each look has failed for 301 s: {why}: {see}",)


def test_a_scheduler_that_cannot_read_directories_says_why() -> None:
    why = "the mount of 'cephfs' was refused"
    assert scheduler_stuck(scheduled(unread_for=299.0, unread=why), LASTS) == []
    see = "see 'ceph mds_partitioner scheduler status cephfs'"
    for besides in (0.0, 301.0):  # of what it cannot read it finds nothing to move
        (check,) = scheduler_stuck(scheduled(unread_for=301.0, unread=why, stuck=besides), LASTS)
        assert check.detail == (f"'cephfs': directories could not be read for 301 s: {why}: {see}",)


def advised_for(seconds: float, uneven_ago: float | None) -> list[Check]:
    of = replace(scheduler(), mode="advise", advised=3, advised_for=seconds)
    at = None if uneven_ago is None else NOW - uneven_ago
    seen = snapshot(replace(uneven(), uneven_epochs=0, uneven_at=at, scheduler=of))
    return scheduler_advises(seen, LASTS)


def test_advice_that_nobody_follows_is_told_with_the_command() -> None:
    assert advised_for(299.0, 0.0) == advised_for(301.0, 301.0) == advised_for(301.0, None) == []
    (check,) = advised_for(301.0, 299.0)
    assert "3 moves are advised" in check.detail[0]
    assert "scheduler start cephfs --mode act" in check.detail[0]


def test_advice_names_a_stopped_plan_that_is_in_the_way_of_acting() -> None:
    why = "plan 'scheduler-3' of the scheduler was stopped: undo it first"
    of = replace(scheduler(), mode="advise", advised=3, advised_for=301.0, stopped=why)
    (check,) = scheduler_advises(snapshot(replace(uneven(), uneven_at=NOW, scheduler=of)), LASTS)
    assert f"{why}; then 'ceph mds_partitioner scheduler start cephfs --mode act'" in check.detail[0]


def test_moves_that_do_not_help_are_told_when_there_were_enough_of_them() -> None:
    assert scheduler_misjudges(scheduled(settled=4)) == []
    assert scheduler_misjudges(scheduled(settled=9, real=1.0)) == []
    assert scheduler_misjudges(scheduled(settled=9, mode="advise")) == scheduler_misjudges(snapshot()) == []
    (check,) = scheduler_misjudges(scheduled(settled=9))
    assert "9 decisions were to take 300 req/s from the fullest ranks, and took -20" in check.detail[0]
    assert "scheduler stop cephfs" in check.detail[0]
    assert "with --rollback all since it was last started is undone" in check.detail[0]


def test_an_uneven_file_system_that_is_scheduled_needs_no_analysis() -> None:
    assert "scheduler status cephfs" in advice(scheduled())
