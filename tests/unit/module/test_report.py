# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables an operator reads."""

import json
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import FakeCluster, plan
from hypothesis import given
from hypothesis import strategies as st
from plans import ALL_ON_0, judgement
from test_switch import HINTS
from verdicts import UNKNOWN, verdict
from wcwidth import wcswidth

from mds_partitioner.act.run import (
    APPLIED,
    DONE,
    INTENT,
    KEPT,
    ROLLED_BACK,
    SKIPPED,
    STOPPED,
    UNDONE,
    Head,
    Record,
    Run,
)
from mds_partitioner.clock import Now
from mds_partitioner.engine.capacity_source import CapacitySource
from mds_partitioner.errors import Unavailable
from mds_partitioner.judge.analysis import FINISHED, Analysis
from mds_partitioner.judge.judgement import DirectoryJudgement
from mds_partitioner.judge.verdict import RankCapacity
from mds_partitioner.judge.window import Observed
from mds_partitioner.model import Directory, FsState, RankSample, Subtree
from mds_partitioner.monitor import health
from mds_partitioner.observe.subtrees import SubtreeMap, subtree_map
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.plan.plan import Plan
from mds_partitioner.policy.switch import ON, TURNING_OFF, TURNING_ON, Switch
from mds_partitioner.report import imbalance
from mds_partitioner.report.analysis import analysis_text, directory_table, judgement_text, judgement_value
from mds_partitioner.report.hotspots import hotspots_text
from mds_partitioner.report.overview import Overview, overview_text, overview_value, unreadable_values
from mds_partitioner.report.partition import plan_text, plans_text, progress, run_line, run_text, run_value
from mds_partitioner.report.rows import RowState, row_states
from mds_partitioner.report.text import NAME_WIDTH, cut, ranks_cell, wrapped
from mds_partitioner.schedule.core.view import Piece
from mds_partitioner.schedule.hotspots import SUDDEN, Hotspot, Hotspots
from mds_partitioner.schedule.plans import preparation

HERE = SubtreeMap([Subtree("/", 0, -1, False)], [])
MANY = 2000
WIDEST = 150  # cells, with LINE's headings and the longest names and numbers
LONG = "x" * 255
ANALYZE = "ceph mds_partitioner analyze start cephfs --directories PATH"


@pytest.mark.parametrize("before", range(0, 100, 3))
def test_what_is_quoted_is_not_broken_and_nothing_is_too_wide(before: int) -> None:
    command = "'ceph mds_partitioner partition rollback the-cephfs plan-one'"
    text = f"{'x ' * before}the ranks' pins, an operator's: run {command} first, or '{'y ' * 80}'; {LONG}"
    lines = wrapped(text, 100)
    assert any(command in line for line in lines) and max(map(len, lines)) <= 100
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(("state", "said"), [(KEPT, "Kept"), (UNDONE, "Rolled back"), (SKIPPED, "Skipped")])
def test_nothing_is_in_progress_once_a_rollback_has_ended(state: str, said: str) -> None:
    run = Run("id", plan(FakeCluster(), {100: 1}), Head(state=ROLLED_BACK), {0: Record(state, "-1", 1.0)})
    assert progress(run) == 1.0
    assert row_states(run)[0].status == said


@pytest.mark.parametrize(("state", "said"), [(KEPT, "Kept"), (UNDONE, "Rolled back"), (SKIPPED, "Skipped")])
def test_a_rollback_does_not_wait_for_what_was_never_begun_of_a_row(state: str, said: str) -> None:
    made = plan(FakeCluster(), {100: 1})
    made = replace(made, steps=made.steps * 3)
    run = Run("id", made, Head(state=ROLLED_BACK), {0: Record(state, "-1", 1.0)})
    assert row_states(run)[0] == RowState(1.0, said)
    assert row_states(replace(run, head=Head(state=STOPPED)))[0].progress < 0.4, "it may be started again"
    assert row_states(replace(run, records={}))[0].status == "Ready"


def test_a_row_whose_pin_has_arrived_is_done() -> None:
    run = Run("id", plan(FakeCluster(), {100: 1}), Head(state="done"), {0: Record(APPLIED, "-1", 1.0)})
    assert row_states(run)[0].status == "Done"


def test_imbalance_has_a_row_a_rank_with_load_forecast_and_amounts() -> None:
    samples = [RankSample(r, f"m{r}", 300.0 * (r == 0), 0.002, 10, 5, 1, 0, 0, 1) for r in (0, 1)]
    judged = verdict(
        0.98765, RankCapacity(300.0, CapacitySource.OPTION), cov=1.0, urgency=0.9, mean=150.0, ranks=(0, 1),
        loads=(300.0, 0.0), forecast=(400.0, 10.0), matrix=((0.0, 150.0), (0.0, 0.0)),
    )  # fmt: skip
    lines = imbalance.text(judged, samples).splitlines()
    assert lines[1].split() == ["0", "300", "400", "2.0", "ms", "10", "-", "150"]
    assert "imbalance factor 0.988 (CoV 1.00, urgency 0.90, mean 150 req/s): uneven enough to act" in lines
    value = imbalance.value(judged, samples)
    assert [r["forecast"] for r in value["ranks"]] == [400.0, 10.0]
    assert json.loads(json.dumps(value))["capacity"] == {"value": 300.0, "source": "option"}


def test_ranks_that_came_or_went_since_the_verdict_shift_nothing() -> None:
    samples = [RankSample(r, f"m{r}", 100.0 * r, 0.002, 10, 5, 1, 0, 0, 1) for r in (1, 2)]
    judged = verdict(
        ranks=(0, 1), loads=(0.0, 100.0), forecast=(5.0, 105.0), matrix=((0.0, 0.0), (50.0, 0.0))
    )
    assert [(r["rank"], r["forecast"]) for r in imbalance.value(judged, samples)["ranks"]] == [(1, 105.0)]
    rows = imbalance.text(judged, samples).splitlines()[1:]
    assert rows[0].split() == ["1", "100", "105", "2.0", "ms", "10", "50", "-"] and not rows[1]


def test_what_a_silent_rank_does_is_null_in_each_place() -> None:
    busy, idle = (RankSample(r, f"m{r}", 612.0 * (r == 0), 0.002, 10, 5, 1, 0, 0, 1) for r in (0, 1))
    judged = verdict(ranks=(0, 1), loads=(612.0, 0.0), forecast=(620.0, 0.0), matrix=((0.0, 0.0),) * 2)
    value = imbalance.value(judged, [busy, replace(idle, rated=False)], "rank 1 is silent: not judged")
    assert (value["loads"], value["forecast"]) == ([612.0, None], [620.0, None])
    assert [rank["requests"] for rank in value["ranks"]] == [612.0, None]
    assert value["problem"] == "rank 1 is silent: not judged"
    well = imbalance.value(judged, [busy, idle])
    assert (well["loads"], well["forecast"], well["problem"]) == ([612.0, 0.0], [620.0, 0.0], "")


def test_imbalance_of_many_ranks_names_the_largest_moves_and_fits_a_terminal() -> None:
    many_ranks = range(36)
    samples = [RankSample(r, f"m{r}", 9e4, 0.002, 10**8, 5, 1, 0, 0, 1) for r in many_ranks]
    first_row = tuple(100.0 + r if r else 0.0 for r in many_ranks)
    judged = verdict(
        0.9, RankCapacity(9e4, CapacitySource.OPTION), ranks=tuple(many_ranks), loads=(9e4,) * 36,
        forecast=(9e4,) * 36, matrix=(first_row, *[(0.0,) * 36] * 35),
    )  # fmt: skip
    lines = imbalance.text(judged, samples).splitlines()
    assert lines[1].endswith("135 to 35, 134 to 34, 133 to 33 and 32 more")
    assert lines[2].split()[-1] == "-"
    assert max(map(wcswidth, lines)) <= 120


def test_an_unknown_capacity_is_not_called_even() -> None:
    said = imbalance.verdict_text(verdict(None, UNKNOWN))
    assert "imbalance factor at most 0.860 (CoV 1.70, urgency unknown" in said
    assert "capacity of a rank: unknown" in said and "rank_capacity" in said
    assert "no need to act" not in said
    assert imbalance.verdict_value(verdict(None, UNKNOWN))["imbalance_factor"] is None


def test_what_is_even_needs_no_capacity() -> None:
    assert "no need to act" in imbalance.verdict_text(verdict(None, UNKNOWN, most=0.01, cov=0.02))


def many() -> Plan:
    """A plan for 2,000 subvolumes with long names, of which 40 move."""
    made = plan(FakeCluster(directories=40), {100 + i: 1 for i in range(40)})
    idle = replace(made.rows[0], name="idle", workload=0.0, reqs=0.0, reason="already-there", current=(1,))
    ranks = tuple(range(36))
    wide = tuple(
        replace(r, name=f"{i}-{LONG}", wss=1e9, reqs=1e5, current=ranks) for i, r in enumerate(made.rows)
    )
    return replace(made, rows=(*wide, *[idle] * (MANY - 40)))


def test_a_table_of_2000_subvolumes_shows_the_first_and_counts_the_others() -> None:
    run = Run("id", many(), Head(state=DONE), {i: Record(APPLIED, "-1", 1.0) for i in range(40)})
    for text in (run_text(run, HERE, 20), plan_text(run.plan, 20)):
        assert len(text.splitlines()) < 60
        assert "... and 1,980 more" in text and "--top 0" in text
    assert "1,960 already-there, 20 Done (" in run_text(run, HERE, 20)
    assert "1,960 already-there, 20 rebalance (" in plan_text(run.plan, 20)
    assert "... and 20 more (" in plan_text(run.plan, 20).partition("commands:")[2]
    total = next(line for line in run_text(run, HERE, 20).splitlines() if line.startswith("Total"))
    assert total.split()[1:3] == ["40,000,019,600", "4,000,000"]


def test_top_0_shows_all() -> None:
    run = Run("id", many(), Head(), {})
    assert len([line for line in run_text(run, HERE, 0).splitlines() if "already-there" in line]) == MANY - 40
    assert plan_text(run.plan, 0).count("setfattr") == 40
    assert "more" not in run_text(run, HERE, 0)


def test_the_reasons_below_a_table_are_those_of_its_rows() -> None:
    made = plan(FakeCluster(directories=4), dict.fromkeys(range(100, 104), 1))
    rows = tuple(replace(row, workload=float(i), why=f"it has {i}") for i, row in enumerate(made.rows))
    run = Run("id", replace(made, rows=rows), Head(), {})
    for text in (run_text(run, HERE, 2), plan_text(run.plan, 2)):
        told = [line for line in text.splitlines() if ": it has " in line]
        assert told == ["s3: rebalance: it has 3", "s2: rebalance: it has 2"]


def test_a_table_fits_a_terminal_however_long_the_names_are() -> None:
    run = Run("id", many(), Head(), {})
    tables = (run_text(run, HERE, 20), plan_text(run.plan, 20).partition("commands:")[0])
    assert max(wcswidth(line) for text in tables for line in text.splitlines()) <= WIDEST
    assert run_value(run, HERE)["subvolumes"][0]["name"] == f"0-{LONG}"


@given(st.text(alphabet=st.characters(), min_size=1), st.integers(4, 40))
def test_a_cut_name_keeps_its_ends_and_takes_no_more_than_its_width(name: str, width: int) -> None:
    short = cut(name, width)
    assert short.isprintable()
    assert sum(max(wcswidth(c), 0) for c in short) <= width


def test_what_is_cut() -> None:
    assert cut("short") == "short"
    assert cut("a" * 200 + "end") == "a" * (NAME_WIDTH // 2) + "…" + "a" * 12 + "end"
    assert cut("日本語" * 20) == "日本語日本語日本…語日本語日本語"


def test_a_finished_plan_says_how_many_steps_were_skipped_and_why() -> None:
    records = {
        0: Record(APPLIED, "-1", 1.0),
        1: Record(SKIPPED, "", 1.0, "an operator changed it from -1 to 2 after it was planned"),
        2: Record(SKIPPED, "", 1.0, "'/volumes/_nogroup/s2' was deleted or replaced"),
    }
    run = Run("id", plan(FakeCluster(), {100: 1, 101: 1, 102: 1}), Head(state=DONE), records)
    assert run_line(run) == "plan 'p' on 'cephfs': done, 2 of 3 steps skipped, 100%"
    text = run_text(run, HERE, 20)
    assert "skipped: an operator changed it from -1 to 2" in text and "skipped: '/volumes" in text
    assert "done, 2 of 3 steps skipped" in plans_text([run], [], [])
    assert (run_value(run, HERE)["state"], run_value(run, HERE)["skipped"]) == (DONE, 2)
    assert (row_states(run)[0].status, row_states(run)[1].status) == ("Done", "Skipped")


def test_a_step_that_is_tried_again_is_told_with_its_reason() -> None:
    run = Run(
        "id", plan(FakeCluster(), {100: 1, 101: 1}), Head(state="running"), {0: Record("intent", "-1", 1.0)}
    )
    run.memory.troubles[0] = "cannot set ceph.dir.pin: Permission denied"
    line = next(line for line in run_text(run, HERE, 20).splitlines() if "tried again" in line)
    assert line.startswith(run.plan.steps[0].command("cephfs")) and "Permission denied" in line
    assert [step["trouble"] for step in run_value(run, HERE)["steps"]] == [run.memory.troubles[0], ""]


def test_what_is_balanced_by_mask_is_so_once_the_mask_is_set() -> None:
    made = plan(FakeCluster(), {100: 1, 101: 2}, mask="0x3")
    heavy = replace(made.rows[1], klass="heavy", reason="heavy", new=(0, 1))
    steps = tuple(step for step in made.steps if step.row != 1)
    made = replace(made, rows=(made.rows[0], heavy), steps=steps)
    before = Run("id", made, Head(state="running"), {0: Record(APPLIED, "-1", 1.0)})
    assert row_states(before)[1] == RowState(0.0, "Ready")
    done = Record(APPLIED, "-1", 1.0)
    after = Run("id", made, Head(state=DONE), dict.fromkeys(range(3), done))
    assert row_states(after)[1] == RowState(1.0, "Balanced by mask")
    without = Run("id", replace(made, steps=steps[:1]), Head(state=DONE), {0: done})
    assert row_states(without)[1].status == "No step"


def test_ranks_that_nobody_was_asked_for_are_not_made_up() -> None:
    run = Run("id", plan(FakeCluster(), {100: 1}), Head(state="running"), {0: Record(APPLIED, "-1", 1.0)})
    assert run_value(run, None)["subvolumes"][0]["current_ranks"] is None
    there = SubtreeMap([Subtree("/volumes/_nogroup/s0", 1, 1, False)], [])
    assert run_value(run, there)["subvolumes"][0]["current_ranks"] == [1]


def test_a_directory_that_was_renamed_is_shown_where_it_is() -> None:
    run = Run("id", plan(FakeCluster(), {100: 1}), Head(state=DONE), {0: Record(APPLIED, "-1", 1.0)})
    found = [
        Subtree("/", 0, -1, False, 1),
        Subtree("/volumes/group/s9", 1, 1, False, 100),
        Subtree("/volumes/group/s9/a", 2, 2, False, 101),
        Subtree("/volumes/_nogroup/s0", 3, 3, False, 102),  # another one has its name
    ]
    where = SubtreeMap(iter(found), ["/volumes/_nogroup/s0"], inos={100})
    assert run_value(run, where)["subvolumes"][0]["current_ranks"] == [1, 2]
    assert " 1,2 " in run_text(run, where, 20)


def test_a_rank_that_does_not_answer_is_named() -> None:
    class Tells:
        def tell_each(self, fs: FsState, names: list[str], prefix: str, *, within: float) -> dict[str, Any]:
            assert within == 2.0
            return {"m0": [], "m1": Unavailable("mds.m1 did not answer"), "m2": [], "m3": []}

    run = Run("id", plan(FakeCluster(), {100: 1}), Head(state="running"), {0: Record(APPLIED, "-1", 1.0)})
    where = subtree_map(Tells(), FakeCluster().state, ["/volumes/_nogroup/s0"], 2.0, {100})
    assert run_value(run, where)["silent_ranks"] == [1]
    assert "rank 1 did not answer" in run_text(run, where, 20)


def subvolume(i: int, requests: float) -> DirectoryJudgement:
    directory = Directory(f"/volumes/_nogroup/s{i}", f"{i}-{LONG}", 100 + i)
    seen = Observed(directory, 10.0, requests, 10, 1, tuple(range(36)), -1, False, False)
    return DirectoryJudgement(seen, requests, "light")


def test_an_analysis_of_2000_subvolumes_shows_the_first_and_counts_the_others() -> None:
    rows = [subvolume(i, 30.0 - i if i < 30 else 0.0) for i in range(MANY)]
    text = directory_table("cephfs", rows, 20)
    assert "... and 1,980 more: 1,970 without requests, 10 with requests" in text
    assert len(text.splitlines()) == 22
    assert max(map(wcswidth, text.splitlines())) <= WIDEST
    assert len(directory_table("cephfs", rows, 0).splitlines()) == 1 + MANY


def test_an_analysis_tells_whom_full_ranks_hold_back() -> None:
    found = judgement(ALL_ON_0)
    told = "a full rank held back clients of 'Subvol1'"
    assert told not in judgement_text(found, 20)
    first, *others = found.directories
    waiting = replace(first, seen=replace(first.seen, held_back=1e6))
    found = replace(found, directories=(waiting, *others))
    assert told in judgement_text(found, 20)
    rows = {row["name"]: row["held_back"] for row in judgement_value(found)["directories"]}
    assert rows == {"Subvol1": 1e6, "Subvol2": 0.0, "subvol3": 0.0, "subvol4": 0.0}


def test_a_file_system_without_subvolumes_says_what_to_do() -> None:
    assert directory_table("cephfs", [], 20).startswith("no subvolumes, nor")
    nothing = replace(plan(FakeCluster(), {}), rows=())
    for text in (plan_text(nothing, 20), run_text(Run("id", nothing, Head(), {}), HERE, 20)):
        assert "no subvolumes, nor" in text and f"use '{ANALYZE}'" in text and "Total" not in text


def test_what_is_set_for_the_whole_cluster_is_in_a_status() -> None:
    """Also where that is all, as it is with the first plan of a scheduler: subvolumes are no matter of it."""
    command = f"ceph config set mds {TO_AUTH} true"
    first = replace(preparation(FakeCluster().state, "", 1.0), name="scheduler-1")
    made = plan(FakeCluster(), {100: 1}, "0x3", option=TO_AUTH)
    for of in (first, made, replace(made, rows=(), steps=made.steps[-1:])):
        last = len(of.steps) - 1
        for head, records, state in (
            (Head(), {}, "Planned"),
            (Head("running"), {last: Record(INTENT, "", 1.0)}, "In-progress"),
            (Head(DONE), {last: Record(APPLIED, "", 1.0)}, "Done"),
            (Head(ROLLED_BACK), {last: Record(UNDONE, "", 1.0)}, "Rolled back"),
        ):
            text = run_text(Run("id", of, head, records), HERE, 20)
            assert f"  {command}: {state}" in text.splitlines()
            assert ("ceph fs set cephfs bal_rank_mask 0x3: " in text) is (of is made)
            assert ("no subvolumes" in text) is (not of.rows and not of.scheduled)
            assert ("Total" in text) is bool(of.rows)
    assert "no subvolumes" not in plan_text(first, 20) and f"  {command}" in plan_text(first, 20)
    assert "settings:" not in run_text(Run("id", plan(FakeCluster(), {100: 1}), Head(), {}), HERE, 20)


@pytest.mark.parametrize(
    ("ranks", "told"),
    [
        ((), "-"),
        ((3, 0, 1), "0,1,3"),
        (tuple(range(36)), "0-35"),
        ((*range(10), 12, *range(20, 30)), "0-9,12,20-29"),
        (tuple(range(0, 36, 2)), "18 ranks"),
    ],
)
def test_many_ranks_fit_a_column(ranks: tuple[int, ...], told: str) -> None:
    assert ranks_cell(ranks) == told


def test_status_shows_the_plan_in_force_behind_a_newer_one() -> None:
    old = Run(
        "old", plan(FakeCluster(), {100: 1}, name="old"), Head(state=DONE), {0: Record(APPLIED, "-1", 1.0)}
    )
    back = plan(FakeCluster(), {100: 1}, name="undone")
    undone = Run("undone", back, Head(state=ROLLED_BACK), {0: Record(UNDONE, "-1", 1.0)})
    new = Run("new", plan(FakeCluster(), {100: 2}, name="new"), Head(), {})
    seen = Overview(FakeCluster().state, "done 100%", [old, undone, new], None, "off")
    value = overview_value(seen)
    assert (value["in_force"], value["plan"]) == (["old: done"], "new: ready")
    assert "old: done" in overview_text([overview_value(seen)]) and "new: ready" in overview_text(
        [overview_value(seen)]
    )
    assert "undone" not in overview_text([overview_value(seen)])
    started = replace(seen, runs=[Run("new", new.plan, Head(state="running"), {})])
    assert overview_value(started)["in_force"] == ["new: running"]
    assert "none" in overview_text([overview_value(replace(seen, runs=[]))])


def test_a_plan_that_cannot_be_read_is_in_the_columns_of_plans() -> None:
    head, *_, row = overview_text(unreadable_values(["bad"])).splitlines()
    cells = [row[head.index(name) :].split("  ")[0].strip() for name in ("Plan in force", "Newest plan")]
    assert cells == ["bad: unreadable"] * 2 and row.endswith("none")


@pytest.mark.parametrize(
    ("now", "pushed", "state", "told"),
    [
        ({}, 2.0, ON, "on"),
        ({"balancer": "mine.lua"}, 2.0, ON, "not in force"),
        ({"balance_automate": False}, 2.0, ON, "not in force"),
        ({"bal_rank_mask": "0x0"}, 2.0, ON, "not in force"),
        ({"balancer": ""}, 1.0, TURNING_ON, "turning-on"),
        ({"balancer": "mine.lua"}, 1.0, TURNING_ON, "not in force"),
        ({"balancer": "mine.lua"}, 2.0, TURNING_OFF, "turning-off"),
    ],
)
def test_a_policy_that_an_operator_has_stopped_is_not_told_as_on(
    now: dict[str, Any], pushed: float, state: str, told: str
) -> None:
    name = "mds_partitioner.lunule.1"
    switch = Switch("cephfs", 1, state, "lunule", "", "", False, 1.0, HINTS, name, (name,), pushed)
    fs = replace(FakeCluster().state, **({"balancer": name, "balance_automate": True} | now))
    seen = Overview(fs, "none", [], switch, "off")
    assert overview_value(seen)["balance"] == f"lunule: {told}"


def test_a_waiting_plan_is_told_by_the_name_its_file_system_has_now() -> None:
    run = Run("id", plan(FakeCluster(), {100: 1}), Head(state="paused", why="rank 2 is replaying"))
    (check,) = health.paused([run], {1: "renamed"})
    assert check.code == health.PAUSED
    assert check.detail == (
        "plan 'p' on 'renamed': rank 2 is replaying: it goes on by itself; see 'ceph mds_partitioner "
        "partition status renamed p'",
    )
    assert health.paused([run], {})[0].detail[0].startswith("plan 'p' on 'cephfs'")
    assert health.paused([], {1: "renamed"}) == []


@pytest.mark.parametrize(
    ("age", "told"), [(40, "40 s ago"), (150, "2 min ago"), (7300, "2 h ago"), (1e6, "12 days ago")]
)
def test_a_status_tells_how_long_ago_an_analysis_ended(age: float, told: str) -> None:
    over = Analysis("cephfs", 60, started=0.0, state=FINISHED, ended=1e9)
    assert told in analysis_text(over, Now(1e9 + age, 100.0), 20)
    assert "ago" not in analysis_text(replace(over, ended=None), Now(1e9, 100.0), 20)


@pytest.mark.parametrize(("clients", "cell"), [(0, "0"), (3, "3"), (None, "-")])
def test_that_no_client_is_at_a_hot_spot_is_known(clients: int | None, cell: str) -> None:
    spot, piece = Hotspot(7, SUDDEN, 0.5, 100.0), Piece(7, "/volumes/g/s", 1, 90.0, 10.0)
    text = hotspots_text(Hotspots(((spot, piece),), {piece.path: clients}, 1_800_000_000.0, 60.0))
    assert text.splitlines()[1].split()[3] == cell
