# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans for loads that make and delete their directories, and what a plan leaves alone and says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fake_cluster import FakeCluster
from plans import ALL_ON_0, NOW, circumstances, family, judgement, made

from mds_partitioner.ceph.filesystem import FileSystem
from mds_partitioner.ceph.host import Host
from mds_partitioner.engine_client import EngineClient
from mds_partitioner.errors import NotFound, NotPermitted, Unavailable
from mds_partitioner.judge.insides import Insides, Part
from mds_partitioner.judge.judgement import Judgement
from mds_partitioner.model import Churning, FsState
from mds_partitioner.observe.children import Brood, Placed, brood
from mds_partitioner.observe.turnover import MOST_PARTS
from mds_partitioner.plan.circumstances import Circumstances, brood_of
from mds_partitioner.plan.ephemeral import fragment_ranks
from mds_partitioner.plan.families import family as plan_family
from mds_partitioner.plan.families import lasting
from mds_partitioner.plan.plan import DISTRIBUTED_STEP, FS_STEP, PIN_STEP, Plan

UUID = 400
SUBVOL1, SUBVOL2 = 100, 101
# The first inode number whose fragments are on all of three ranks, none with over half of them.
EVEN = next(
    ino
    for ino in range(1000, 2000)
    if max(fragment_ranks(ino, 3, 2.0).count(r) for r in range(3)) <= 3
    and len(set(fragment_ranks(ino, 3, 2.0))) == 3
)


@pytest.mark.parametrize(
    ("age", "parent_age", "churning", "lasts"),
    [
        (1e6, 1e6, False, True),
        (130.0, 1e6, False, True),  # older than two minutes
        (110.0, 1e6, False, False),
        (130.0, 1e6, True, False),
        (60.0, 1e6, False, False),
        (60.0, 100.0, False, True),  # as old as its parent
        (60.0, 1000.0, False, False),
        (60.0, 500.0, False, True),
        (20.0, 60.0, False, False),  # made during the analysis
        (60.0, 100.0, True, False),  # its siblings come and go
        (1e6, 1e6, True, False),
        (-1e6, 1e6, False, True),  # by a client's clock that is wrong: nothing is known
        (-1e6, 1e6, True, False),
        (-60.0, 1e6, False, False),  # just made, by one that is fast
    ],
)
def test_a_directory_lasts_that_has_lasted(
    age: float, parent_age: float, churning: bool, lasts: bool
) -> None:
    judge = lasting({7} if churning else set(), NOW - 30, NOW)
    assert judge(NOW - age, NOW - parent_age, 7) is lasts


@pytest.mark.parametrize(("child", "age", "lasts"), [(8, 700.0, True), (8, 500.0, False), (9, 1e6, False)])
def test_an_old_one_lasts_that_outlived_those_that_come_and_go_beside_it(
    child: int, age: float, lasts: bool
) -> None:
    judge = lasting({7}, NOW - 30, NOW, {8})
    assert judge(NOW - age, NOW - 1e6, 7, child) is lasts
    assert not judge(NOW - age, NOW - 1e6, 7), "what it is in may have others in a moment"


def churned(children: int, ino: int = EVEN) -> Brood:
    """Directories that are seconds old in an old one."""
    brood = family("/volumes/_nogroup/Subvol1", age=5, children=children)
    return replace(brood, chain=(brood.chain[0], replace(brood.chain[1], ino=ino)))


def only_subvol1(churning: tuple[Churning, ...] = ()) -> Judgement:
    """One heavy directory, of all the requests, and three idle ones."""
    found = judgement(ALL_ON_0)
    rows = [
        row
        if row.seen.directory.name == "Subvol1"
        else replace(row, seen=replace(row.seen, requests=0.0, wss=0.0, rentries=1))
        for row in found.directories
    ]
    return replace(found, directories=tuple(rows), churning=churning)


def distributing(c: Circumstances) -> Circumstances:
    return replace(c, distributed_factor=2.0)


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (None, "what the directories in it are asked for was not seen, and they count by what is in them"),
        ((0.94, 0.02, 0.02, 0.02), "94% of it is in '/volumes/_nogroup/Subvol1/uuid/d0', which stays in one"),
        ((0.4, 0.2, 0.2, 0.2), ""),
    ],
)
def test_what_a_plan_does_not_know_of_children_or_cannot_divide_is_told(
    engine: EngineClient, seen: Sequence[float] | None, told: str
) -> None:
    found = only_subvol1()
    heavy, *others = found.directories
    load, at = heavy.seen.requests, "/volumes/_nogroup/Subvol1/uuid"
    parts = tuple(Part(f"{at}/d{i}", part * load) for i, part in enumerate(seen or ()))
    inside = None if seen is None else Insides(1.0, parts)
    heavy = replace(heavy, seen=replace(heavy.seen, inside=inside))
    plan = made(replace(found, directories=(heavy, *others)), circumstances("fanout"), engine, family)
    notes = [text for text in plan.caveats if "was not seen" in text or "which stays in one piece" in text]
    assert len(notes) == bool(told) and all(told in text for text in notes)


def test_children_that_are_asked_for_most_are_pinned_to_different_ranks(engine: EngineClient) -> None:
    """Two that by what is in them would be on one rank."""
    found = only_subvol1()
    heavy, *others = found.directories
    paths = [f"/volumes/_nogroup/Subvol1/uuid/d{i}" for i in range(8)]

    def ranks(inside: Insides | None) -> dict[str, str]:
        judged = replace(heavy, seen=replace(heavy.seen, inside=inside))
        judgement = replace(found, directories=(judged, *others))
        plan = made(judgement, circumstances("fanout"), engine, lambda path: family(path, children=8))
        pins = {step.target: step.value for step in plan.steps}
        return {path: pins.get(path, pins[heavy.seen.directory.path]) for path in paths}

    alike = ranks(None)
    one, other = next((a, b) for a in paths for b in paths if a < b and alike[a] == alike[b])
    hottest = 0.49 * heavy.seen.requests
    parts = (Part(path, hottest if path in (one, other) else 1.0) for path in paths)
    hot = ranks(Insides(1.0, tuple(parts)))
    assert hot[one] != hot[other]


class Fleeting:
    """A mount on which every directory but the first is gone when it is looked at."""

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        return [(f"d{i}", 500 + i) for i in range(8)] if path == "/work" else []

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        if not path.endswith("d0"):
            raise NotFound(path)
        return 3, -1

    def entries(self, path: str) -> int:
        return len(self.subdirectories(path))

    def subdirs(self, path: str) -> int:
        return self.entries(path)

    def born(self, path: str) -> float:
        return NOW - 5

    def ino(self, path: str) -> int:
        return EVEN

    def pin(self, path: str) -> int:
        return -1

    def ephemeral_pins(self, path: str) -> tuple[bool, bool]:
        return False, False


def test_what_is_gone_before_it_is_looked_at_comes_and_goes() -> None:
    c = distributing(circumstances("fanout"))
    found = brood(cast(FileSystem, Fleeting()), "/work", lambda *_: True)
    assert (len(found.children), found.vanished, found.parent.path) == (1, 7, "/work")
    judged = plan_family(found, c, lambda *_: False, {})
    assert judged.passing == 8
    assert judged.fragments is not None


class Crowded(Fleeting):
    """Very many directories that are there, and a host that gives up a call of over 600 questions."""

    children, asked = 640, 0

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        return [(f"d{i}", 500 + i) for i in range(self.children)] if path == "/work" else []

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        self.asked += 2
        if self.asked > 600:
            raise Unavailable("no answer within 60 s")
        return 3, -1

    def on_fs(self, fs: FsState, call: Callable[[Any], Brood]) -> Brood:
        self.asked = 0
        self.children -= 1  # the last one goes
        return call(self)


def test_very_many_children_are_read_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    where = SimpleNamespace(ranks=lambda path: (0,), silent=())
    monkeypatch.setattr("mds_partitioner.plan.circumstances.subtree_map", lambda *_: where)
    fs = FakeCluster().state
    found = brood_of(cast(Host, Crowded()), fs, "/work", lambda *_: True)
    assert [child.ino for child in found.children] == list(range(500, 500 + 633))
    assert (found.unread, found.children[0].ranks) == ((), (0,))


def test_of_too_many_children_none_is_listed(engine: EngineClient, monkeypatch: pytest.MonkeyPatch) -> None:
    where = SimpleNamespace(ranks=lambda path: (0,), silent=())
    monkeypatch.setattr("mds_partitioner.plan.circumstances.subtree_map", lambda *_: where)
    crowded = Crowded()
    crowded.children = MOST_PARTS + 2
    found = brood_of(cast(Host, crowded), FakeCluster().state, "/work", lambda *_: True)
    assert found.unlisted and not found.children
    plan = made(judgement(ALL_ON_0), circumstances("fanout"), engine, lambda _: found)
    assert [len(row.new) for row in plan.rows if row.klass == "heavy"] == [1]
    assert [text for text in plan.caveats if text.startswith("'/work' has too many entries")]


def test_that_very_many_directories_are_pinned_is_told(engine: EngineClient) -> None:
    def many(path: str) -> Brood:
        return family(path, children=600)

    def told(plan: Plan) -> list[str]:
        return [text for text in plan.caveats if "pinned one by one" in text]

    plan = made(judgement(ALL_ON_0), circumstances("fanout"), engine, many)
    assert len(plan.steps) > 500 and len(told(plan)) == 1
    assert not told(made(judgement(ALL_ON_0), circumstances("fanout"), engine))


def test_clients_in_step_are_distributed_whenever_they_are_looked_at(engine: EngineClient) -> None:
    """All of them have just removed their directories."""
    found, c = only_subvol1((Churning(EVEN, 12.0),)), distributing(circumstances("fanout"))
    plan = made(found, c, engine, lambda _: churned(0))
    assert [step.value for step in plan.steps if step.kind == DISTRIBUTED_STEP] == ["1"]
    # Without that memory there is nothing to distribute.
    plan = made(only_subvol1(), c, engine, lambda _: churned(0))
    assert [step for step in plan.steps if step.kind == DISTRIBUTED_STEP] == []


def test_directories_that_come_and_go_are_not_pinned(engine: EngineClient) -> None:
    found = only_subvol1((Churning(EVEN, 8.0),))
    for children in (1, 2, 20):
        plan = made(found, circumstances("fanout"), engine, lambda _, n=children: churned(n))
        assert not [s for s in plan.steps if "/uuid/" in s.target]
        assert len(next(r for r in plan.rows if r.ino == SUBVOL1).new) == 1


def test_many_that_come_and_go_are_distributed_when_they_are_made(engine: EngineClient) -> None:
    found = only_subvol1((Churning(EVEN, 8.0),))
    plan = made(found, distributing(circumstances("fanout")), engine, lambda _: churned(12))
    assert [(s.kind, s.target, s.value, s.expected) for s in plan.steps] == [
        (DISTRIBUTED_STEP, "/volumes/_nogroup/Subvol1/uuid", "1", "0")
    ]
    assert plan.steps[0].command("cephfs") == (
        "setfattr -n ceph.dir.pin.distributed -v 1 '<mount>/volumes/_nogroup/Subvol1/uuid'"
    )
    ranks = fragment_ranks(EVEN, 3, 2.0)
    load = sum(row.reqs for row in plan.rows)
    expected = {str(r): load * ranks.count(r) / len(ranks) for r in range(3)}
    assert plan.prediction.load_after == pytest.approx(expected)
    assert any("come and go" in text for text in plan.caveats)


def test_fragments_that_are_often_empty_are_often_at_home(engine: EngineClient) -> None:
    """Few in a fragment: it goes home again and again. The fewer, the more of the load is predicted there."""
    home, parts = 0, []
    for children in (12, 20, 40, 400):
        brood = replace(churned(children), ranks=(home,))
        c = replace(distributing(circumstances("fanout")), owned_distributed={EVEN: "1"})
        found = plan_family(brood, c, lasting({EVEN}, NOW - 30, NOW), {})
        assert found.fragments is not None
        parts.append(found.fragments.count(home) / len(found.fragments))
    assert parts == sorted(parts, reverse=True)
    even = fragment_ranks(EVEN, 3, 2.0).count(home) / len(fragment_ranks(EVEN, 3, 2.0))
    assert parts[-1] == pytest.approx(even) and parts[0] > even + 0.2


def test_planning_again_what_is_distributed_proposes_nothing(engine: EngineClient) -> None:
    c = replace(distributing(circumstances("fanout")), owned_distributed={EVEN: "1"})
    brood = churned(12)
    brood = replace(brood, chain=(brood.chain[0], replace(brood.chain[1], distributed=True)))
    found = only_subvol1((Churning(EVEN, 8.0),))
    rows = tuple(
        replace(r, seen=replace(r.seen, ranks=(0, 1, 2))) if r.seen.directory.ino == SUBVOL1 else r
        for r in found.directories
    )
    assert made(replace(found, directories=rows), c, engine, lambda _: brood).steps == ()


@pytest.mark.parametrize("children", [0, 1, 2])
def test_too_few_to_spread_stay_on_one_rank(children: int, engine: EngineClient) -> None:
    c = distributing(circumstances("fanout"))
    found = only_subvol1((Churning(EVEN, float(children)),))
    plan = made(found, c, engine, lambda _: churned(children))
    assert not [s for s in plan.steps if s.kind == DISTRIBUTED_STEP]


def test_what_stays_with_the_parent_is_predicted_there(engine: EngineClient) -> None:
    """Half of the directories are new: they go where the parent goes, and the report says so."""
    brood = family("/volumes/_nogroup/Subvol1", children=6)
    young = [replace(child, born=NOW - 5) for child in brood.children[3:]]
    brood = replace(brood, children=(*brood.children[:3], *young))
    plan = made(only_subvol1(), circumstances("fanout"), engine, lambda _: brood)
    parent = next(s.value for s in plan.steps if s.ino == SUBVOL1)
    total = sum(plan.prediction.load_after.values())
    assert plan.prediction.load_after[parent] >= total / 2
    assert not {s.ino for s in plan.steps} & {child.ino for child in young}
    assert any("3 directories are new" in text for text in plan.caveats)


def few_busy_ones_come_and_go() -> tuple[Judgement, Brood]:
    """Old directories that are idle, and young, small ones, each for a while, with 95 % of the requests."""
    found = only_subvol1()
    heavy, *others = found.directories
    brood = churned(28)
    old = [replace(child, born=NOW - 1e6, rentries=1000) for child in brood.children[:20]]
    brood = replace(brood, children=(*old, *brood.children[20:]), ranks=(0,))
    idle = (Part(child.path, 0.05 / 20 * heavy.seen.requests) for child in old)
    went = (Part(f"{brood.parent.path}/t{i}", 0.95 / 40 * heavy.seen.requests) for i in range(40))
    heavy = replace(heavy, seen=replace(heavy.seen, inside=Insides(0.5, (*went, *idle))))
    return replace(found, directories=(heavy, *others)), brood


def test_what_comes_and_goes_counts_by_what_it_is_asked_for(engine: EngineClient) -> None:
    found, brood = few_busy_ones_come_and_go()
    seen = found.directories[0].seen
    c = distributing(circumstances("fanout"))
    lasts = lasting(set(), NOW - 600, NOW)
    judged = plan_family(brood, c, lasts, {}, seen.inside, seen.requests)
    assert judged.staying == pytest.approx(0.95) and judged.fragments is not None
    plan = made(found, c, engine, lambda _: brood)
    assert [step.kind for step in plan.steps if step.row == 0] == [DISTRIBUTED_STEP]
    plan = made(found, circumstances("fanout"), engine, lambda _: brood)
    assert {step.value for step in plan.steps if step.row == 0 and "/uuid/" not in step.target} <= {"0"}


def test_what_lasts_and_is_asked_for_nothing_is_planned_for(engine: EngineClient) -> None:
    found, brood = few_busy_ones_come_and_go()
    heavy, *others = found.directories
    young = Insides(0.5, (Part(brood.children[-1].path, heavy.seen.requests),))
    heavy = replace(heavy, seen=replace(heavy.seen, inside=young))
    plan = made(
        replace(found, directories=(heavy, *others)), circumstances("fanout"), engine, lambda _: brood
    )
    assert not [step for step in plan.steps if "/uuid/" in step.target]


def test_what_was_asked_for_elsewhere_is_of_nothing_that_comes_and_goes() -> None:
    """The directory was renamed since: its children are other paths."""
    found, brood = few_busy_ones_come_and_go()
    seen = found.directories[0].seen
    assert seen.inside is not None
    parts = tuple(replace(part, path=f"/old{part.path}") for part in seen.inside.parts)
    inside = replace(seen.inside, parts=parts)
    lasts = lasting(set(), NOW - 600, NOW)
    assert plan_family(brood, circumstances("fanout"), lasts, {}, inside, seen.requests).staying < 0.1


def test_pins_of_ours_on_what_comes_and_goes_are_taken_off(engine: EngineClient) -> None:
    brood = churned(4)
    pinned = tuple(replace(child, pin=2, ranks=(2,)) for child in brood.children)
    c = replace(circumstances("fanout"), owned={child.ino: 2 for child in pinned})
    brood = replace(brood, children=pinned, ranks=(0,))
    found = judgement({**ALL_ON_0, "Subvol1": (0, 2)})
    plan = made(replace(found, churning=(Churning(EVEN, 8.0),)), c, engine, lambda _: brood)
    assert {s.value for s in plan.steps if s.ino in c.owned} == {"-1"}
    assert plan.prediction.load_before["0"] == sum(row.reqs for row in plan.rows)


def reason(plan: Plan, ino: int) -> str:
    return next(row.reason for row in plan.rows if row.ino == ino)


def test_a_childs_pin_of_an_operator_stays(engine: EngineClient) -> None:
    brood = family("/volumes/_nogroup/Subvol1")
    theirs = replace(brood.children[0], pin=2)
    brood = replace(brood, children=(theirs, *brood.children[1:]))
    plan = made(judgement(ALL_ON_0), circumstances("fanout"), engine, lambda _: brood)
    assert theirs.ino not in {s.ino for s in plan.steps}
    forced = made(judgement(ALL_ON_0), circumstances("fanout", force=True), engine, lambda _: brood)
    assert theirs.ino in {s.ino for s in forced.steps}


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"distributed": True}, "ephemeral-pin"),
        ({"random": True}, "ephemeral-pin"),
        ({"pin": 1}, "pinned-by-operator"),
    ],
)
def test_what_an_operator_set_between_a_heavy_one_and_its_children_holds_it(
    settings: dict[str, int], code: str, engine: EngineClient
) -> None:
    brood = family("/volumes/_nogroup/Subvol1")
    brood = replace(brood, chain=(brood.chain[0], replace(brood.chain[1], **settings)))
    plan = made(judgement(ALL_ON_0), circumstances("fanout"), engine, lambda _: brood)
    assert reason(plan, SUBVOL1) == code
    assert not {SUBVOL1, UUID, *(child.ino for child in brood.children)} & {s.ino for s in plan.steps}


GROUP = Placed("/volumes/_nogroup", 50, 1, False, False)


@pytest.mark.parametrize(
    ("at", "code"),
    [
        (GROUP, "pinned-by-operator"),
        (replace(GROUP, pin=-1, distributed=True), "ephemeral-pin"),
        (replace(GROUP, path="/volumes"), "pinned-by-operator"),
    ],
)
def test_an_operators_pin_of_a_group_holds_what_is_in_it(at: Placed, code: str, engine: EngineClient) -> None:
    plan = made(judgement(ALL_ON_0), replace(circumstances("fanout"), above={at.path: at}), engine)
    assert {row.reason for row in plan.rows} == {code}
    assert all(at.path in row.why for row in plan.rows)
    assert plan.steps == ()
    forced = replace(circumstances("fanout", force=True), above={at.path: at})
    assert made(judgement(ALL_ON_0), forced, engine).steps
    pins = {row.seen.directory.ino: 0 for row in judgement(ALL_ON_0).directories}
    pinned = [replace(row, seen=replace(row.seen, pin=0)) for row in judgement(ALL_ON_0).directories]
    before = replace(judgement(ALL_ON_0), directories=tuple(pinned))
    owned = replace(circumstances("fanout"), above={at.path: at}, owned=pins)
    plan = made(before, owned, engine)
    assert {row.reason for row in plan.rows} == {code} and plan.steps == (), "he did so since we pinned them"
    assert all("a pin of this module keeps it on rank 0" in row.why for row in plan.rows)
    ours = replace(circumstances("fanout"), above={GROUP.path: GROUP}, owned={GROUP.ino: GROUP.pin})
    assert made(judgement(ALL_ON_0), ours, engine).steps


def judged(most: float) -> Judgement:
    """Ranks so uneven, whatever the urgency."""
    found = judgement(ALL_ON_0)
    return replace(found, verdict=replace(found.verdict, most=most, threshold=0.075))


def test_rest_says_how_long_and_what_to_do(engine: EngineClient) -> None:
    c = replace(circumstances("fanout"), moved_at={SUBVOL2: NOW - 100})
    plan = made(judged(1.0), c, engine, since=NOW - 200)
    row = next(r for r in plan.rows if r.ino == SUBVOL2)
    assert row.reason == "resting"
    assert re.search(r"rests for 500 s more.*--force.*rollback", row.why)


def test_what_was_moved_rests_only_while_it_is_even(engine: EngineClient) -> None:
    """Judged after the move: a plan that made things worse can be made again at once."""
    c = replace(circumstances("fanout"), moved_at={SUBVOL2: NOW - 100})
    assert reason(made(judged(0.01), c, engine, since=NOW - 90), SUBVOL2) == "resting"
    assert reason(made(judged(1.0), c, engine, since=NOW - 90), SUBVOL2) != "resting"
    assert reason(made(judged(1.0), c, engine, since=NOW - 110), SUBVOL2) == "resting"


def test_what_was_not_read_is_said_and_stops_a_plan_that_it_could_undo(engine: EngineClient) -> None:
    found = judgement(ALL_ON_0)
    few = replace(found, caveats=replace(found.caveats, unread=3, unread_load=0.01))
    plan = made(few, circumstances("fanout"), engine)
    assert plan.steps
    assert "3 directories with 1% of the requests were not read" in plan.caveats[0]
    assert Plan.from_json(plan.to_json()) == replace(plan, analyzed=None, metadata_pool=None), (
        "which is in the seal"
    )
    busy = replace(found, caveats=replace(found.caveats, unread=1205, unread_load=0.8))
    option = "mgr/mds_partitioner/rentries_per_epoch"
    do = rf"analyze start cephfs.*raise {option}.*--force"
    with pytest.raises(NotPermitted, match=rf"1205 directories.*{do}"):
        made(busy, circumstances("fanout"), engine)
    assert made(busy, circumstances("fanout", force=True), engine).caveats


def test_our_own_policy_is_not_an_operators(engine: EngineClient) -> None:
    cluster = FakeCluster(ranks=3)
    cluster.state = replace(cluster.state, balance_automate=True, balancer="lunule-1")
    ours = replace(circumstances(cluster=cluster), policy="lunule")
    with pytest.raises(NotPermitted, match=r"'balance on' balances 'cephfs' by lunule.*balance off cephfs"):
        made(judgement(ALL_ON_0), ours, engine)
    for alone in (False, True):
        beside = made(judgement(ALL_ON_0), replace(ours, force=True, for_policy=alone), engine)
        assert ("balance_automate" in [s.target for s in beside.steps]) == alone, (
            "it is put back with the plan"
        )
    assert not [s for s in made(judgement(ALL_ON_0), ours_fanout(ours), engine).steps if s.kind == FS_STEP]


def ours_fanout(c: Circumstances) -> Circumstances:
    return replace(c, heavy_mode="fanout")


def test_an_empty_rank_is_filled_first(engine: EngineClient) -> None:
    """Many small ones that change little, then one that fills an empty rank: last listed, first to go."""
    found = judgement(ALL_ON_0)
    seen = found.directories[1].seen
    rows = [
        replace(
            found.directories[1],
            seen=replace(
                seen,
                directory=replace(seen.directory, path=f"/d{i}", name=f"d{i}", ino=600 + i),
                requests=requests,
                wss=100.0,
                rentries=100,
            ),
        )
        for i, requests in enumerate([*[10.0] * 6, 50.0, 60.0, 70.0])
    ]
    plan = made(replace(found, directories=tuple(rows)), circumstances("fanout"), engine)
    pins = [s for s in plan.steps if s.kind == PIN_STEP and s.row >= 0]
    first = plan.rows[pins[0].row]
    assert first.reqs == max(plan.rows[s.row].reqs for s in pins)
