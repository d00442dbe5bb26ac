# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans, made by the real engine process."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cluster import SETTINGS, Directory, FakeCluster
from fake_cluster import plan as ours
from hypothesis import given
from hypothesis import strategies as st
from plans import ALL_ON_0, AS_IN_LINE, NOW, circumstances, family, judgement, made
from scheduled import Cluster, LoadedMount, Manager
from verdicts import UNKNOWN, verdict

from mds_partitioner import clock
from mds_partitioner.act.run import INTENT, RUNNING, Run
from mds_partitioner.engine_client import EngineClient
from mds_partitioner.errors import BadInput, Busy, CephError, NotFound, NotPermitted, Unavailable
from mds_partitioner.judge.analysis import FAILED, FINISHED, Analysis, restored
from mds_partitioner.judge.archive import Found
from mds_partitioner.judge.judgement import DirectoryJudgement, Judgement
from mds_partitioner.judge.window import Observed
from mds_partitioner.model import Directory as At
from mds_partitioner.model import FsState
from mds_partitioner.observe.children import Brood
from mds_partitioner.plan.caveats import caveats, less_even, of_elastic
from mds_partitioner.plan.circumstances import (
    TO_AUTH,
    Circumstances,
    Ours,
    above,
    brood_of,
    check_ranks,
    confined,
)
from mds_partitioner.plan.plan import CONFIG_STEP, FS_STEP, MASK_STEP, PIN_STEP, Prediction
from mds_partitioner.plan.present import present
from mds_partitioner.plan.ranks import balanced_ranks, format_ranks, mask_ranks, parse_ranks, ranks_mask
from mds_partitioner.planning import ANEW
from mds_partitioner.report.partition import plan_text


@pytest.mark.parametrize("current", [ALL_ON_0, AS_IN_LINE])
def test_lines_example_gets_lines_ranks(current: dict[str, tuple[int, ...]], engine: EngineClient) -> None:
    plan = made(judgement(current), circumstances(), engine)
    ranks = {row.name: row.new for row in plan.rows}
    assert ranks == {"Subvol1": (0, 1), "Subvol2": (2,), "subvol3": (2,), "subvol4": (2,)}


def test_with_the_mask_everything_that_is_not_heavy_is_pinned_before_the_balancer_starts(
    engine: EngineClient,
) -> None:
    plan = made(judgement(AS_IN_LINE), circumstances("mask"), engine)
    pins = {step.target.rpartition("/")[2]: step.value for step in plan.steps if step.kind == PIN_STEP}
    assert pins == {"Subvol2": "2", "subvol3": "2", "subvol4": "2"}
    settings = [(s.target, s.value) for s in plan.steps if s.kind == FS_STEP]
    assert settings == [("bal_rank_mask", "0x3"), ("balance_automate", "true")]
    assert max(s.phase for s in plan.steps if s.kind == PIN_STEP) < min(
        s.phase for s in plan.steps if s.kind == FS_STEP
    )


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("classify", "workload"),
        ("classify", "class"),
        ("plan", "new"),
        ("plan", "reason"),
        ("plan", "load_after"),
    ],
)
def test_an_engine_that_says_nothing_of_the_last_row_is_not_believed(
    engine: EngineClient, monkeypatch: pytest.MonkeyPatch, call: str, name: str
) -> None:
    def short(asked: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = whole(asked, arguments)
        return {**answer, name: answer[name][:-1]} if asked == call else answer

    whole = engine.call
    monkeypatch.setattr(engine, "call", short)
    with pytest.raises(Unavailable, match=f"'{name}'; allowed: one a row"):
        made(judgement(AS_IN_LINE), circumstances(), engine)


def hooked(found: Circumstances, masks: dict[int, str], owned: dict[int, str] | None = None) -> Circumstances:
    return replace(found, masks=masks, owned_masks=owned or {})


def test_mdss_with_the_hook_confine_the_heavy_one_and_need_no_mask_of_the_file_system(
    engine: EngineClient,
) -> None:
    plan = made(judgement(AS_IN_LINE), hooked(circumstances("mask"), {100: "-1"}), engine)
    (mask,) = [s for s in plan.steps if s.kind == MASK_STEP]
    assert (mask.target, mask.value, mask.expected) == ("/volumes/_nogroup/Subvol1", "0,1", "-1")
    assert mask.command("cephfs") == "setfattr -n ceph.dir.bal.mask -v 0,1 '<mount>/volumes/_nogroup/Subvol1'"
    pins = {step.target.rpartition("/")[2]: step.value for step in plan.steps if step.kind == PIN_STEP}
    assert pins == {"Subvol2": "2", "subvol3": "2", "subvol4": "2"}
    assert [(s.target, s.value) for s in plan.steps if s.kind == FS_STEP] == [("balance_automate", "true")]


def test_with_the_hook_planning_again_proposes_nothing(engine: EngineClient) -> None:
    first = made(judgement(ALL_ON_0), hooked(circumstances("mask"), {100: "-1"}), engine)
    ranks = {row.name: row.new for row in first.rows}
    pins = {row.name: row.new[0] for row in first.rows if row.klass != "heavy"}
    cluster = FakeCluster(ranks=3)
    cluster.state = replace(cluster.state, balance_automate=True)
    done = replace(circumstances("mask", cluster=cluster), owned={r.ino: r.new[0] for r in first.rows})
    again = made(judgement(ranks, pins), hooked(done, {100: "0,1"}, {100: "0,1"}), engine)
    assert again.steps == ()


def test_an_operators_directory_mask_stays_without_force(engine: EngineClient) -> None:
    kept = made(judgement(ALL_ON_0), hooked(circumstances("mask"), {100: "2"}), engine)
    (row,) = [r for r in kept.rows if r.ino == 100]
    assert row.reason == "masked-by-operator"
    assert not any(s.ino == 100 for s in kept.steps)
    forced = made(judgement(ALL_ON_0), hooked(circumstances("mask", force=True), {100: "2"}), engine)
    assert [(s.expected, s.value) for s in forced.steps if s.kind == MASK_STEP] == [("2", "0,1")]


def test_fanout_pins_children_over_the_heavy_ranks_and_leaves_the_balancer_alone(
    engine: EngineClient,
) -> None:
    plan = made(judgement(ALL_ON_0), circumstances("fanout"), engine)
    children = [int(s.value) for s in plan.steps if "/uuid/" in s.target]
    assert sorted(children) == [0, 0, 1, 1]
    assert all(s.kind == PIN_STEP for s in plan.steps)


def test_a_plan_without_heavy_ones_needs_no_ranks_of_a_mask_that_is_there(engine: EngineClient) -> None:
    cluster = FakeCluster(ranks=3)
    cluster.state = replace(cluster.state, balance_automate=True, bal_rank_mask="0x3")
    found = judgement(ALL_ON_0)
    alike = tuple(
        replace(d, klass="light", workload=10.0, seen=replace(d.seen, wss=1e3, requests=1e3, rentries=1000))
        for d in found.directories[:3]
    )
    plan = made(replace(found, directories=alike), circumstances("mask", cluster=cluster), engine)
    assert "heavy" not in {row.klass for row in plan.rows}
    assert plan.heavy_ranks == () and "heavy subvolumes" not in plan_text(plan, 20)


def test_what_became_heavy_since_the_analysis_is_treated_as_heavy_throughout(engine: EngineClient) -> None:
    """Analyzed over one rank, nothing was heavy; the plan is for three."""
    found = judgement(ALL_ON_0)
    light = replace(found, directories=tuple(replace(d, klass="light") for d in found.directories))
    fanout = made(light, circumstances("fanout"), engine)
    assert {row.name: row.klass for row in fanout.rows}["Subvol1"] == "heavy"
    assert sorted(int(s.value) for s in fanout.steps if "/uuid/" in s.target) == [0, 0, 1, 1]
    masked = made(light, circumstances("mask"), engine)
    assert next((s.target, s.value) for s in masked.steps if s.kind == FS_STEP) == ("bal_rank_mask", "0x3")


def test_in_a_fanout_the_parent_is_on_the_highest_of_its_ranks(engine: EngineClient) -> None:
    """Clients ask the lowest rank they know a directory from; the children's inodes are their parent's."""
    plan = made(judgement(ALL_ON_0), circumstances("fanout"), engine)
    assert [s.value for s in plan.steps if s.target == "/volumes/_nogroup/Subvol1"] == ["1"]


def test_in_a_fanout_the_parent_comes_last_and_nothing_moves_twice(engine: EngineClient) -> None:
    plan = made(judgement(ALL_ON_0), replace(circumstances("fanout"), to_auth=""), engine)
    *pins, parent, setting = plan.steps
    assert (parent.target, setting.kind) == ("/volumes/_nogroup/Subvol1", CONFIG_STEP)
    assert len([step for step in pins if "/uuid/" in step.target and step.home == 0]) == 4
    assert {step.phase for step in pins} == {0} and 0 < parent.phase < setting.phase
    assert plan.prediction.inodes_to_move == pytest.approx(500_000 + 700_000 + 100_000 + 3_000)


def test_a_fanout_knows_of_children_that_are_in_place_and_have_no_step(engine: EngineClient) -> None:
    first = made(judgement(ALL_ON_0), circumstances("fanout"), engine)
    pins = {s.ino: int(s.value) for s in first.steps if s.ino in (500, 501, 502)}

    def later(path: str) -> Brood:
        brood = family(path)
        children = (replace(at, pin=pins[at.ino]) if at.ino in pins else at for at in brood.children)
        return replace(brood, children=tuple(children))

    second = made(judgement(ALL_ON_0), replace(circumstances("fanout"), owned=pins), engine, later)
    (row,) = (i for i, row in enumerate(second.rows) if row.name == "Subvol1")
    assert len(pins) == 3 and not any(step.ino in pins for step in second.steps)
    assert (first.in_place, second.in_place) == ((), (row,))


def test_the_parent_of_a_fanout_goes_home_whatever_ranks_its_children_are_on(engine: EngineClient) -> None:
    """The balancer has spread them."""
    spread = judgement({**ALL_ON_0, "Subvol1": (0, 1)})
    plan = made(spread, circumstances("fanout"), engine, lambda path: replace(family(path), ranks=(0,)))
    assert [s.home for s in plan.steps if s.target == "/volumes/_nogroup/Subvol1"] == [0]


@pytest.mark.parametrize(("now", "steps"), [(None, []), ("", ["true"]), ("false", ["true"]), ("true", [])])
def test_forwarding_to_the_authority_is_a_step_when_asked_for_and_not_set(
    now: str | None, steps: list[str], engine: EngineClient
) -> None:
    plan = made(judgement(ALL_ON_0), replace(circumstances("fanout"), to_auth=now), engine)
    found = [s for s in plan.steps if s.kind == CONFIG_STEP]
    assert [s.value for s in found] == steps
    assert [s.expected for s in found] == [now] * len(steps)
    assert all(s.phase > max(p.phase for p in plan.steps if p.kind == PIN_STEP) for s in found)
    for step in found:
        assert step.command("cephfs") == "ceph config set mds mds_forward_all_requests_to_auth true"


def test_forwarding_to_the_authority_is_a_step_also_where_nothing_is_worth_moving(
    engine: EngineClient,
) -> None:
    found = judgement(ALL_ON_0)
    caveats = replace(found.caveats, unread=5, unread_load=0.4)  # which refuses a plan that moves less
    there = circumstances("fanout", cluster=FakeCluster(ranks=1))
    full = replace(found, caveats=caveats, verdict=replace(found.verdict, saturated=(0,)))
    assert made(full, there, engine).steps == ()
    plan = made(full, replace(there, to_auth=""), engine)
    assert [(step.kind, step.target, step.expected) for step in plan.steps] == [(CONFIG_STEP, TO_AUTH, "")]
    assert plan.prediction.load_before == plan.prediction.load_after
    assert plan.prediction.inodes_to_move == 0.0
    text = plan_text(plan, 20)
    assert f"ceph config set mds {TO_AUTH} true" in text and "nothing to change" not in text
    assert "rank 0 was saturated" in text and "when this plan is done" not in text
    assert made(full, replace(there, to_auth="true"), engine).steps == (), "it is so already"


def test_an_operators_pin_stays_without_force(engine: EngineClient) -> None:
    found = judgement(ALL_ON_0, pins={"Subvol2": 0})
    kept = made(found, circumstances("fanout"), engine)
    (row,) = [r for r in kept.rows if r.name == "Subvol2"]
    assert (row.reason, row.new) == ("pinned-by-operator", (0,))
    assert not any(s.target == row.path for s in kept.steps)
    forced = made(found, circumstances("fanout", force=True), engine)
    assert any(s.target == row.path and s.expected == "0" for s in forced.steps)


def test_a_pin_of_ours_is_not_an_operators(engine: EngineClient) -> None:
    ours = replace(circumstances("fanout"), owned={101: 0})
    plan = made(judgement(ALL_ON_0, pins={"Subvol2": 0}), ours, engine)
    assert [r.new for r in plan.rows if r.name == "Subvol2"] == [(2,)]


class Analyzed:
    """An analyzer that saw a cluster as it was when this was made."""

    def __init__(self, cluster: Cluster) -> None:
        of = judgement(ALL_ON_0)
        of = replace(of, directories=tuple(_seen(row, cluster) for row in of.directories))
        self._found = Found("cephfs", 600, 60, FINISHED, cluster.wall, of)
        self.newest = restored(self._found)

    def get(self, fs: FsState) -> Analysis:
        """Analyzer.get."""
        return self.newest

    def found(self, fs: FsState) -> Found:
        """Analyzer.found."""
        return self._found


def _seen(row: DirectoryJudgement, cluster: Cluster) -> DirectoryJudgement:
    at = cluster.directories[row.seen.directory.ino]
    directory = replace(row.seen.directory, path=at.path)
    return replace(row, seen=replace(row.seen, directory=directory, pin=at.pin, ranks=(at.rank,)))


@pytest.mark.parametrize("back", [True, False])
def test_a_plan_is_of_what_is_there_not_of_what_an_analysis_saw(engine: EngineClient, back: bool) -> None:
    """An analysis before a plan of ours, or before its rollback."""
    cluster = Cluster([1.0] * 4)
    manager = Manager(cluster)
    partitioner: Any = manager.partitioner
    planning: Any = manager.planning
    before = Analyzed(cluster)
    partitioner.plans.save(ours(cluster, {100: 2, 101: 3}))
    partitioner.start(manager.fs, "p")
    manager.run(10)
    planning._engine, planning._analyzer = engine, Analyzed(cluster) if back else before
    if back:
        partitioner.rollback(manager.fs, "p")
    manager.run(10)
    cluster.wall += SETTINGS.rest_period
    plan = planning.plan(manager.fs, name=None, heavy="fanout", ranks=[1, 0], force=False)
    assert plan.ranks == (0, 1)
    assert {(r.ino, r.current) for r in plan.rows} == {(i, (d.rank,)) for i, d in _loaded(cluster)}
    assert "pinned-by-operator" not in {row.reason for row in plan.rows}
    pins = [step for step in plan.steps if step.kind == PIN_STEP]
    assert pins
    for step in pins:
        at = cluster.directories[step.ino]
        assert (step.expected, step.home) == (str(at.pin), at.rank)


def test_while_a_plan_is_made_that_is_known(engine: EngineClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is saved, whether it is or not."""
    cluster = Cluster([1.0] * 4)
    manager = Manager(cluster)
    plans: Any = manager.partitioner.plans
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    other = replace(manager.fs, fscid=manager.fs.fscid + 1)
    seen: list[bool] = []

    def named() -> str:
        planning.refuse_while_made(other)
        try:
            planning.refuse_while_made(manager.fs)
        except Busy as e:
            assert "a plan of 'cephfs' is being made" in str(e)
            seen.append(True)
        if len(seen) > 1:
            raise Unavailable("no mon")
        return "plan-1"

    monkeypatch.setattr(plans, "free_name", named)
    planning.plan(manager.fs, name=None, heavy="fanout", ranks=None, force=False)
    planning.refuse_while_made(manager.fs)
    with pytest.raises(Unavailable, match="no mon"):
        planning.plan(manager.fs, name=None, heavy="fanout", ranks=None, force=False)
    planning.refuse_while_made(manager.fs)
    assert len(seen) == 2


def begun_and_not_set(
    engine: EngineClient, monkeypatch: pytest.MonkeyPatch, *, masks: bool
) -> tuple[Cluster, Manager]:
    """A plan that is done, and one that was stopped as Ceph took its pins, or its mask, not."""
    cluster = Cluster([1.0] * 4)
    manager = Manager(cluster)
    partitioner: Any = manager.partitioner
    planning: Any = manager.planning

    def begun(name: str, moves: dict[int, int], mask: str) -> Run:
        made = ours(cluster, moves, mask if masks else None, name=name)
        partitioner.plans.save(replace(made, created=cluster.wall))
        run: Run = partitioner.start(manager.fs, name)
        manager.run(20)
        return run

    mon = cluster.mon

    def refuses(prefix: str, **arguments: str) -> str:
        if prefix == "fs set":
            raise Unavailable("the mon did not answer 'fs set' within 20 s")
        return mon(prefix, **arguments)

    begun("a", {100: 1, 101: 2, 102: 3}, "0x7")
    if masks:
        monkeypatch.setattr(cluster, "mon", refuses)
    else:
        cluster.refused = {d.path for d in cluster.directories.values()}
    run = begun("b", {100: 2, 101: 3, 102: 0}, "0xf")
    assert INTENT in {record.state for record in run.records.values()}
    partitioner.stop(manager.fs)
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    cluster.wall += SETTINGS.rest_period
    return cluster, manager


def test_a_pin_of_ours_is_not_an_operators_where_a_later_one_was_begun_and_not_set(
    engine: EngineClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, manager = begun_and_not_set(engine, monkeypatch, masks=False)
    assert [cluster.directories[ino].pin for ino in (100, 101, 102)] == [1, 2, 3]
    plan = manager.planning.plan(manager.fs, name=None, heavy="fanout", ranks=[0], force=False)
    assert "pinned-by-operator" not in {row.reason for row in plan.rows}
    cluster.directories[101].pin = 0
    plan = manager.planning.plan(manager.fs, name=None, heavy="fanout", ranks=[1], force=False)
    assert [row.ino for row in plan.rows if row.reason == "pinned-by-operator"] == [101]


def test_a_mask_of_ours_is_not_an_operators_where_a_later_one_was_begun_and_not_set(
    engine: EngineClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, manager = begun_and_not_set(engine, monkeypatch, masks=True)
    assert cluster.state.bal_rank_mask == "0x7"
    plan = manager.planning.plan(manager.fs, name=None, heavy="mask", ranks=[0, 1, 3], force=False)
    assert [s.expected for s in plan.steps if s.target == "bal_rank_mask"] == ["0x7"]
    cluster.state = replace(cluster.state, bal_rank_mask="0x5")
    with pytest.raises(NotPermitted, match="an operator has set bal_rank_mask 0x5"):
        manager.planning.plan(manager.fs, name=None, heavy="mask", ranks=[0, 1, 3], force=False)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_plan_is_made_after_what_was_done_before_also_when_the_clock_was_put_back(
    engine: EngineClient, monkeypatch: pytest.MonkeyPatch, meanwhile: bool
) -> None:
    """What is done while it is made is not among that."""
    cluster = Cluster([1.0] * 4)
    manager = Manager(cluster)
    partitioner: Any = manager.partitioner
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    partitioner.plans.save(ours(cluster, {100: 2, 101: 3}))
    cluster.wall += 3600.0

    def done() -> None:
        partitioner.start(manager.fs, "p")
        manager.run(10)
        cluster.wall -= 3600.0

    if meanwhile:
        monkeypatch.setattr(partitioner.plans, "free_name", lambda: done() or "plan-1")
    else:
        done()
    plan = planning.plan(manager.fs, name=None, heavy="fanout", ranks=[0, 1], force=True)
    if meanwhile:
        with pytest.raises(Busy, match="'plan-1' was made before 'p' was executed or undone"):
            partitioner.start(manager.fs, plan.name)
    else:
        assert partitioner.start(manager.fs, plan.name).head.state == RUNNING


def test_where_an_mds_is_silent_an_analysis_is_believed() -> None:
    host: Any = Cluster([1.0] * 4)
    seen = Analyzed(host).found(host.state).judgement
    host.directories[100].pin = host.directories[100].rank = 2
    now = present(host, host.state, seen, {100: 2})
    assert (now.directories[0].seen.pin, now.directories[0].seen.ranks) == (2, (2,))
    host.silent.add("m3")
    now = present(host, host.state, seen, {100: 2})
    assert (now.directories[0].seen.pin, now.directories[0].seen.ranks) == (2, (0,))


@pytest.mark.parametrize("heavy", ["mask", "fanout"])
@pytest.mark.parametrize("silent", [set(), {"m2", "m3"}])
def test_that_a_rank_did_not_say_what_it_holds_is_told(
    engine: EngineClient, heavy: str, silent: set[str]
) -> None:
    cluster = Cluster([900.0, 10.0, 10.0, 10.0])
    manager = Manager(cluster)
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    cluster.silent |= silent
    plan = planning.plan(manager.fs, name=None, heavy=heavy, ranks=None, force=False)
    told = [text for text in plan.caveats if text.startswith("rank 2,3 did not answer")]
    assert plan.steps and len(told) == bool(silent)


def test_a_plan_says_that_the_newest_analysis_failed_and_that_it_is_of_the_one_before(
    engine: EngineClient,
) -> None:
    cluster = Cluster([900.0, 10.0, 10.0, 10.0])
    manager, analyzer = Manager(cluster), Analyzed(cluster)
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, analyzer
    before = f"this plan is of the one that ended {clock.told(cluster.wall)}"
    told = [f"the newest analysis failed (boom): {before}"]
    for state, problem, expected in ((FINISHED, "one epoch was not sampled", []), (FAILED, "boom", told)):
        analyzer.newest = replace(analyzer.newest, state=state, problem=problem)
        plan = planning.plan(manager.fs, name=None, heavy="fanout", ranks=None, force=False)
        assert [text for text in plan.caveats if "newest analysis" in text] == expected
        assert plan.analyzed == cluster.wall


@pytest.mark.parametrize(("code", "lost"), [(errno.ESHUTDOWN, True), (errno.EACCES, False)])
def test_a_mount_that_is_lost_while_a_plan_is_made_is_told_so_that_it_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, code: int, lost: bool
) -> None:
    def refuses(path: str) -> int:
        raise CephError(f"cannot stat {path!r}", code)

    host: Any = Cluster([1.0] * 4)
    seen = Analyzed(host).found(host.state).judgement
    monkeypatch.setattr(host, "on_fs", lambda fs, call: call(SimpleNamespace(ino=refuses)))
    if lost:
        with pytest.raises(CephError):
            present(host, host.state, seen, {})
    else:
        now = present(host, host.state, seen, {})
        assert [row.seen.pin for row in now.directories] == [row.seen.pin for row in seen.directories]


@pytest.mark.parametrize("looked_for", [200, 1])
def test_what_is_found_over_a_link_was_renamed(looked_for: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """MDSs have nothing of that path."""
    monkeypatch.setattr("mds_partitioner.plan.present.LOOKED_FOR", looked_for)
    host: Any = Cluster([1.0] * 4)
    seen = Analyzed(host).found(host.state).judgement
    for at in (d for ino, d in host.directories.items() if ino >= 100):
        at.path = at.path.replace("/volumes", "/srv")
    host.links["/volumes"] = "/srv"
    now = present(host, host.state, seen, {})
    assert not now.directories and len(now.caveats.gone) == len(seen.directories) > 0


@pytest.mark.parametrize("heavy", ["mask", "fanout"])
@pytest.mark.parametrize(
    ("masked", "kept"), [(101, {101}), (100, {100}), (3, {100, 101, 102, 103}), (None, set())]
)
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("hook", [False, True, None])
def test_what_an_operators_directory_mask_confines_stays_without_force(
    engine: EngineClient,
    heavy: str,
    masked: int | None,
    kept: set[int],
    force: bool,
    hook: bool | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pin wins over it, also over that of the group (3) that it is in. Stock MDSs have no such masks; which
    they are is not known (None) while one does not answer."""
    cluster = Cluster([900.0, 10.0, 10.0, 10.0])
    if masked is not None:
        cluster.directories[masked].mask = "0"
    monkeypatch.setattr(cluster, "has_hook", lambda fs: hook)
    manager = Manager(cluster)
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    plan = planning.plan(manager.fs, name=None, heavy=heavy, ranks=None, force=force)
    found = {row.ino for row in plan.rows if row.reason == "masked-by-operator"}
    assert found == (kept if hook is not False and not force else set())
    assert not found & {step.ino for step in plan.steps}


def test_of_very_many_groups_a_full_mds_tells_in_several_calls() -> None:
    """One that takes 0.2 s for each of four questions is given up after 60 s."""
    groups = [f"/volumes/g{i:03d}" for i in range(150)]
    asked: list[str] = []

    def settings(path: str) -> tuple[bool, bool]:
        asked.append(path)
        if len(asked) > 75:
            raise Unavailable("no answer within 60 s")
        return path == groups[7], False

    def on_fs(fs: FsState, call: Callable[[Any], Any]) -> Any:
        asked.clear()
        return call(SimpleNamespace(ephemeral_pins=settings, ino=lambda path: 9, pin=lambda path: -1))

    host: Any = SimpleNamespace(on_fs=on_fs)
    directories = [At(f"{group}/s", "s", i) for i, group in enumerate(groups)]
    assert above(host, Cluster().state, directories).keys() == {groups[7]}


@pytest.mark.parametrize(("code", "lost"), [(errno.EIO, False), (errno.ESHUTDOWN, True)])
def test_of_masks_the_nearest_counts_and_one_that_cannot_be_read_stops_no_plan(
    engine: EngineClient, code: int, lost: bool
) -> None:
    """Also where that is ours, and an operator's is above it."""

    class Unreadable(Cluster):
        def on_fs(self, fs: FsState, call: Any, ino: int | None = None) -> Any:
            def mask(path: str) -> str:
                if path == self.directories[102].path:
                    raise CephError(f"cannot read {path!r}", code)
                return mount.mask(path)

            mount: Any = LoadedMount(self)
            return call(SimpleNamespace(mask=mask, ino=mount.ino))

    host: Any = Unreadable([900.0, 10.0, 10.0, 10.0])
    host.directories[3].mask, host.directories[100].mask = "0", "1,2"
    seen = Analyzed(host).found(host.state).judgement
    ours = Ours({}, {100: "1,2"}, {}, {}, {}, None, False, None)
    if lost:
        with pytest.raises(CephError):
            confined(host, host.state, seen, ours)
    else:
        assert confined(host, host.state, seen, ours).keys() == {101, 102, 103}


@pytest.mark.parametrize("times", [1, ANEW, ANEW + 1])
def test_what_is_deleted_while_a_plan_is_made_is_no_part_of_it(
    engine: EngineClient, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heavy ones, when it is read how they can be divided."""
    cluster = Cluster([900.0, 10.0, 10.0, 10.0])
    manager = Manager(cluster)
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    left, gone = [times], cluster.directories[100].path

    def read(host: Any, fs: FsState, path: str, lasts: Any) -> Any:
        if path != gone or not left[0]:
            return brood_of(host, fs, path, lasts)
        left[0] -= 1
        if not left[0]:
            del cluster.directories[100]
        raise NotFound(f"cannot read {path!r}")

    monkeypatch.setattr("mds_partitioner.planning.brood_of", read)
    if times > ANEW:
        with pytest.raises(NotFound):
            planning.plan(manager.fs, name=None, heavy="fanout", ranks=None, force=False)
        return
    plan = planning.plan(manager.fs, name=None, heavy="fanout", ranks=None, force=False)
    assert {row.ino for row in plan.rows} == {101, 102, 103}


@pytest.mark.parametrize("how", ["deleted", "renamed", "replaced"])
@pytest.mark.parametrize("heavy", ["mask", "fanout"])
@pytest.mark.parametrize(("looked_for", "ino"), [(200, 100), (1, 103)])
def test_what_was_deleted_since_the_analysis_is_no_part_of_a_plan(
    engine: EngineClient, how: str, heavy: str, looked_for: int, ino: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it has not so much workload that it is looked for by itself."""
    monkeypatch.setattr("mds_partitioner.plan.present.LOOKED_FOR", looked_for)
    cluster = Cluster([900.0, 10.0, 10.0, 10.0])
    manager = Manager(cluster)
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    gone = cluster.directories[ino].path
    if how == "renamed":
        cluster.directories[ino].path = "/volumes/_nogroup/new/" + str(ino)
    else:
        del cluster.directories[ino]
    if how == "replaced":
        cluster.directories[700] = Directory(gone)
    plan = planning.plan(manager.fs, name=None, heavy=heavy, ranks=None, force=False)
    assert {row.ino for row in plan.rows} == {100, 101, 102, 103} - {ino}
    assert f"{gone!r} is gone: it is no part of this plan" in plan.caveats
    assert ino not in {step.ino for step in plan.steps}


def test_one_note_tells_of_all_that_is_gone() -> None:
    seen = judgement(ALL_ON_0).caveats
    before = caveats(seen, (), {}, (), balanced=False)
    for number, said in (
        (1, "'/d0' is gone: it is"),
        (3, "3 directories are gone: '/d0', '/d1', '/d2': they are"),
        (2000, "2,000 directories are gone: '/d0', '/d1', '/d2' and 1,997 more: they are"),
    ):
        lost = replace(seen, gone=tuple(f"/d{i}" for i in range(number)))
        assert set(caveats(lost, (), {}, (), balanced=False)) - set(before) == {
            f"{said} no part of this plan"
        }


def test_a_pin_that_an_operator_set_since_the_analysis_is_seen(engine: EngineClient) -> None:
    cluster = Cluster([100.0] * 4)
    manager = Manager(cluster)
    planning: Any = manager.planning
    planning._engine, planning._analyzer = engine, Analyzed(cluster)
    cluster.directories[101].pin = 0
    plan = planning.plan(manager.fs, name=None, heavy="fanout", ranks=None, force=False)
    assert [row.reason for row in plan.rows if row.ino == 101] == ["pinned-by-operator"]


def test_requests_beside_the_directories_are_told(engine: EngineClient) -> None:
    seen = judgement(ALL_ON_0)
    elsewhere = replace(seen, caveats=replace(seen.caveats, elsewhere=0.53))
    (told,) = (c for c in made(elsewhere, circumstances("fanout"), engine).caveats if "beside" in c)
    assert told.startswith("53% of the requests are beside or above these directories")
    assert told.endswith("they count where they are, and stay there")
    assert not [c for c in made(seen, circumstances("fanout"), engine).caveats if "beside" in c]
    (told,) = (c for c in made(elsewhere, circumstances("mask"), engine).caveats if "beside" in c)
    assert told.endswith("are not pinned, and the balancer may move them"), "it turns the balancer on"


def test_a_plan_of_an_idle_file_system_says_what_it_goes_by(engine: EngineClient) -> None:
    seen = judgement(ALL_ON_0)
    idle = tuple(replace(row, seen=replace(row.seen, requests=0.0)) for row in seen.directories)
    for found, said in ((seen, False), (replace(seen, directories=idle), True)):
        told = made(found, circumstances("fanout"), engine).caveats
        assert any("nothing was asked of these directories" in text for text in told) is said


@pytest.mark.parametrize(("age", "told"), [(600, ""), (3 * 3600, "the analysis ended 3 h ago")])
def test_how_old_the_analysis_is_is_told(engine: EngineClient, age: float, told: str) -> None:
    found = judgement(ALL_ON_0)
    since = NOW - age - found.caveats.span(SETTINGS.epoch)
    plan = made(found, circumstances("fanout"), engine, since=since)
    assert plan.analyzed == NOW - age
    assert [text[: len(told)] for text in plan.caveats if "analysis ended" in text] == [told] * bool(told)
    assert f"{clock.lasting(age)} before" in plan_text(plan, 20)
    pinned = judgement(ALL_ON_0, dict.fromkeys(ALL_ON_0, 0))
    idle = made(pinned, circumstances("fanout"), engine, since=since)
    assert not idle.steps and any("analysis ended" in text for text in idle.caveats) == bool(told)


def test_what_comes_and_goes_is_left_out(engine: EngineClient) -> None:
    seen = served_by((0,) * 20)
    rows = [replace(row, seen=replace(row.seen, passing=i >= 6)) for i, row in enumerate(seen.directories)]
    caveats = replace(seen.caveats, passing=60, passing_load=0.5)
    found = replace(seen, directories=tuple(rows), caveats=caveats)
    plan = made(found, circumstances(), engine)
    assert [row.reason for row in plan.rows[6:]] == ["comes-and-goes"] * 6
    assert {step.row for step in plan.steps} <= set(range(6)) and plan.steps
    (told,) = (text for text in plan.caveats if "came or went" in text)
    assert told.startswith("60 directories with 50% of the requests came or went during the analysis")


def served_by(parts: tuple[int, ...]) -> Judgement:
    """Twelve alike, all with something on each rank."""
    seen = Observed(At("", "", 0), 1000.0, 75.0, 10_000, 1, (0, 1, 2), -1, False, False, parts=parts)
    rows = (replace(seen, directory=At(f"/v/s{i}", f"s{i}", 100 + i)) for i in range(12))
    directories = tuple(DirectoryJudgement(row, 1.0, "light") for row in rows)
    return replace(judgement(ALL_ON_0), directories=directories)


def test_a_subvolume_counts_where_it_is_served_and_not_where_something_small_of_it_is(
    engine: EngineClient,
) -> None:
    plan = made(served_by((0,) * 20), circumstances(), engine)
    assert plan.prediction.load_before == {"0": 900.0, "1": 0.0, "2": 0.0}
    assert plan.prediction.load_after == {"0": 300.0, "1": 300.0, "2": 300.0}
    assert sorted(step.value for step in plan.steps) == ["1"] * 4 + ["2"] * 4
    partly = made(served_by((0,) * 16 + (1,) * 4), circumstances(), engine)
    assert partly.prediction.load_before == {"0": 720.0, "1": 180.0, "2": 0.0}
    unknown = made(served_by(()), circumstances(), engine)
    assert unknown.prediction.load_before == {"0": 300.0, "1": 300.0, "2": 300.0} and not unknown.steps


def test_where_a_rank_with_much_of_the_load_never_told_its_subtrees_there_is_no_plan(
    engine: EngineClient,
) -> None:
    """What it serves is shown on other ranks, and would be taken off these."""
    seen = judgement(ALL_ON_0)
    blind = replace(seen, caveats=replace(seen.caveats, unmapped=(2,), unmapped_load=0.8))
    with pytest.raises(NotPermitted, match="rank 2, with 80% of the requests, did not tell its subtrees"):
        made(blind, circumstances("fanout"), engine)
    told = made(blind, circumstances("fanout", force=True), engine).caveats
    assert [text for text in told if text.startswith("rank 2, with 80%")]


def test_where_an_operators_pin_fills_a_rank_the_plan_that_evens_the_others_is_named(
    engine: EngineClient,
) -> None:
    seen = served_by((1,) * 20)
    first = replace(seen.directories[0].seen, wss=2e4, requests=2_000.0, ranks=(0,), pin=0, parts=())
    pinned = replace(seen, directories=(replace(seen.directories[0], seen=first), *seen.directories[1:]))
    plan = made(pinned, circumstances("fanout"), engine)
    assert plan.prediction.load_after == {"0": 2_000.0, "1": 825.0, "2": 0.0} and not plan.steps
    (told,) = (text for text in plan.caveats if "whatever is planned" in text)
    assert told.startswith("2000 req/s stay on rank 0") and "(up to 825 req/s, 412 on the mean)" in told
    assert "'ceph mds_partitioner partition plan cephfs --ranks 1,2 --heavy fanout' plans for these" in told
    named = made(pinned, replace(circumstances("fanout"), ranks=(1, 2)), engine)
    assert sorted(named.prediction.load_after.values()) == [375.0, 450.0, 2_000.0]
    for even in (named, made(served_by((0,) * 20), circumstances("fanout"), engine)):
        assert not [text for text in even.caveats if "whatever is planned" in text]


def test_that_a_rank_was_saturated_is_told(engine: EngineClient) -> None:
    said = "rank 0 was saturated: what is there may ask for more than was seen; analyze again when this plan"
    assert f"{said} is done" in made(judgement(ALL_ON_0), circumstances("fanout"), engine).caveats
    idle = made(judgement(ALL_ON_0, dict.fromkeys(ALL_ON_0, 0)), circumstances("fanout"), engine)
    assert not idle.steps and said.removesuffix(" when this plan") in idle.caveats
    unlike = replace(judgement(ALL_ON_0, dict.fromkeys(ALL_ON_0, 0)), verdict=verdict(saturated=(2, 3)))
    (told,) = (c for c in made(unlike, circumstances("fanout"), engine).caveats if "full with less" in c)
    assert told.startswith("ranks 2,3 are full") and "scheduler start cephfs" in told
    rests = replace(judgement(ALL_ON_0), verdict=verdict(saturated=()))
    assert not [c for c in made(rests, circumstances("fanout"), engine).caveats if "saturated" in c]


@pytest.mark.parametrize(("held", "klass"), [(0.0, "moderate"), (150.0, "heavy")])
def test_what_a_full_rank_holds_back_is_split_and_that_is_told(
    held: float, klass: str, engine: EngineClient
) -> None:
    found = served_by((0,) * 20)
    first, *others = found.directories
    busy = replace(first, seen=replace(first.seen, requests=150.0, held_back=held))
    plan = made(replace(found, directories=(busy, *others)), circumstances("fanout"), engine)
    row, told = plan.rows[0], [text for text in plan.caveats if "held back" in text]
    assert (row.klass, row.reqs, len(row.new) > 1) == (klass, 150.0, held > 0.0)
    assert [text.partition(":")[0] for text in told] == ["a full rank held back clients of 's0'"] * (
        held > 0.0
    )


def test_of_many_that_are_held_back_some_are_named() -> None:
    rows = served_by(()).directories[:5]
    heavy = [replace(row, klass="heavy", seen=replace(row.seen, held_back=75.0)) for row in rows]
    (told,) = of_elastic(heavy)
    assert "clients of 's0', 's1', 's2' and 2 more: " in told
    assert "clients of 's0', 's1', 's2': " in of_elastic(heavy[:3])[0]
    assert of_elastic([replace(row, klass="light") for row in heavy]) == of_elastic(rows) == ()


@pytest.mark.parametrize(("after", "told"), [(0.198, True), (0.05, False), (0.01, False)])
def test_that_the_ranks_are_less_even_afterwards_is_told(after: float, told: bool) -> None:
    nothing = Prediction(0.02, after, 0, 0.0, 0, 0.0, 0.0, {}, {}, 0.0)
    assert bool(less_even(nothing, 0.075)) is told
    assert not less_even(replace(nothing, imbalance_before=0.2), 0.075)


def _loaded(cluster: Cluster) -> list[tuple[int, Directory]]:
    return [(ino, at) for ino, at in cluster.directories.items() if ino in cluster.load]


def test_what_moved_lately_rests(engine: EngineClient) -> None:
    resting = replace(circumstances("fanout"), moved_at={101: NOW - 60})
    plan = made(judgement(ALL_ON_0), resting, engine)
    assert [r.reason for r in plan.rows if r.name == "Subvol2"] == ["resting"]


def test_what_was_moved_later_than_now_does_not_rest(engine: EngineClient) -> None:
    """The clock was put back."""
    ahead = replace(circumstances("fanout"), moved_at={101: NOW + 86_400})
    plan = made(judgement(ALL_ON_0), ahead, engine)
    assert [r.new for r in plan.rows if r.name == "Subvol2"] == [(2,)]


@pytest.mark.parametrize("heavy", ["mask", "fanout"])
def test_what_rests_and_has_not_arrived_yet_keeps_its_pin(engine: EngineClient, heavy: str) -> None:
    resting = replace(circumstances(heavy), moved_at={101: NOW - 60}, owned={101: 2})
    plan = made(judgement(ALL_ON_0, pins={"Subvol2": 2}), resting, engine)
    assert [r.reason for r in plan.rows if r.name == "Subvol2"] == ["resting"]
    assert plan.steps and 101 not in {step.ino for step in plan.steps}


def test_planning_again_after_a_finished_plan_proposes_nothing(engine: EngineClient) -> None:
    first = made(judgement(ALL_ON_0), circumstances("fanout"), engine)
    ranks = {row.name: row.new for row in first.rows}
    pins = {row.name: max(row.new) for row in first.rows}
    done = replace(circumstances("fanout"), owned={row.ino: max(row.new) for row in first.rows})
    assert made(judgement(ranks, pins), done, engine).steps == ()


@pytest.mark.parametrize("mask", ["0x4", "0x0", "0", "0x18"])  # of one rank, of none, of none that is there
@pytest.mark.parametrize("automate", [True, False])
def test_an_operators_mask_is_not_overwritten_without_force(
    engine: EngineClient, mask: str, automate: bool
) -> None:
    cluster = FakeCluster(ranks=3)
    cluster.state = replace(cluster.state, bal_rank_mask=mask, balance_automate=automate)
    with pytest.raises(NotPermitted, match=f"{mask} "):
        made(judgement(ALL_ON_0), circumstances(cluster=cluster), engine)
    forced = made(judgement(ALL_ON_0), circumstances(cluster=cluster, force=True), engine)
    (step,) = [s for s in forced.steps if s.target == "bal_rank_mask"]
    assert step.expected == mask != step.value


def test_an_operators_mask_is_in_nobodys_way_where_nothing_is_heavy(engine: EngineClient) -> None:
    cluster = FakeCluster(ranks=3)
    cluster.state = replace(cluster.state, bal_rank_mask="0x3", balance_automate=True)
    plan = made(served_by((0,) * 20), circumstances(cluster=cluster), engine)
    assert plan.steps and {step.kind for step in plan.steps} == {PIN_STEP}
    rests = replace(circumstances(cluster=cluster), moved_at={100: NOW - 60})
    plan = made(judgement(ALL_ON_0), rests, engine)
    assert plan.steps and {step.kind for step in plan.steps} == {PIN_STEP}


def test_however_every_rank_is_written_it_is_no_operators_mask(engine: EngineClient) -> None:
    cluster = FakeCluster(ranks=3)
    cluster.state = replace(cluster.state, bal_rank_mask="all")
    found = circumstances(cluster=cluster)
    assert "bal_rank_mask" in {s.target for s in made(judgement(ALL_ON_0), found, engine).steps}
    found = hooked(found, {100: "-1"})
    assert "bal_rank_mask" not in {s.target for s in made(judgement(ALL_ON_0), found, engine).steps}


def test_a_rank_that_does_not_exist_is_named() -> None:
    with pytest.raises(BadInput, match=r"no rank 7 \(it has 0,1,2\)"):
        check_ranks(FakeCluster(ranks=3).state, [0, 7])
    shrinks = replace(FakeCluster(ranks=3).state, max_mds=2)
    assert check_ranks(shrinks, None) == (0, 1)
    with pytest.raises(BadInput, match=r"no rank 2 \(it has 0,1\)"):
        check_ranks(shrinks, [2])


@given(st.sets(st.integers(0, 255), min_size=1))
def test_ranks_survive_both_notations(ranks: set[int]) -> None:
    assert parse_ranks(format_ranks(ranks)) == parse_ranks(ranks_mask(ranks)) == tuple(sorted(ranks))
    assert balanced_ranks(ranks_mask(ranks)) == tuple(sorted(ranks))


def test_ranks_are_taken_as_tables_have_them() -> None:
    assert parse_ranks("0-2, 5,7-7") == (0, 1, 2, 5, 7)


@pytest.mark.parametrize(
    ("mask", "ranks"),
    [
        *(("3", (0, 1)), ("0XB", (0, 1, 3)), (" 0x3", (0, 1)), ("1-3", (0,)), ("0x", None), ("0x00", None)),
        *(
            ("0x" + "1" + 16 * "0", (124,)),
            ("1" + 32 * "0", (188,)),
            (65 * "1", None),
            ("-2", (*range(1, 64),)),
        ),
    ],
)
def test_a_mask_is_read_as_ceph_does(mask: str, ranks: tuple[int, ...] | None) -> None:
    assert balanced_ranks(mask) == ranks


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "0,,1", "-1", "0x", "0x0", "256", "1;2", "0xg", "0x1_0", "²", "9" * 5000),
        *("0-", "-", "5-3", "0-256", "1-2-3", "0-0x3"),
    ],
)
def test_what_is_no_rank_list_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_ranks(text)


def test_a_mask_wider_than_there_can_be_ranks_is_refused() -> None:
    with pytest.raises(BadInput):
        mask_ranks(hex(1 << 256))


def test_a_plan_made_without_a_capacity_says_so(engine: EngineClient) -> None:
    known = judgement(ALL_ON_0)
    found = replace(
        known, verdict=verdict(None, UNKNOWN), caveats=replace(known.caveats, capacity_known=False)
    )
    plan = made(found, circumstances("fanout"), engine)
    assert "capacity of a rank is not known" in plan.caveats[0]
    assert plan.prediction.imbalance_before > 0.9
    assert plan.prediction.imbalance_after < 0.1
