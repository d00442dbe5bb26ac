# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a plan counts beside its own directories, and where directories count that nobody uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import FakeCluster
from plans import ALL_ON_0, AS_IN_LINE, circumstances, family, judgement, made

from mds_partitioner.engine_client import EngineClient
from mds_partitioner.errors import NotPermitted
from mds_partitioner.judge.insides import Insides, Part
from mds_partitioner.judge.judgement import DirectoryJudgement, Judgement, RankJudgement
from mds_partitioner.judge.window import Observed
from mds_partitioner.model import Directory, Subtree
from mds_partitioner.observe.subtrees import SubtreeMap
from mds_partitioner.plan import families
from mds_partitioner.plan.caveats import many_pins, of_links
from mds_partitioner.plan.plan import RANK_MASK, Plan
from mds_partitioner.plan.planner import on
from mds_partitioner.plan.present import _now, present


def on_two_ranks(engine: EngineClient, beside: float, known: float = 1.0, **of_row: Any) -> Plan:
    """Two directories of 50 req/s on rank 0; rank 1 has a load that is of none."""
    rows = tuple(
        DirectoryJudgement(
            Observed(
                Directory(f"/{name}", name, 100 + i), 10.0, 50.0, 10, 1, (0,), -1, False, False, **of_row
            ),
            250.0,
            "light",
        )
        for i, name in enumerate("ab")
    )
    ranks = tuple(
        RankJudgement(i, load, load, 0.001, 10, 10, 1, 1, False) for i, load in enumerate((100, beside))
    )
    found = replace(judgement(ALL_ON_0), directories=rows, ranks=ranks)
    found = replace(found, caveats=replace(found.caveats, elsewhere=known * beside / (100 + beside)))
    c = circumstances("fanout", cluster=FakeCluster(ranks=2))
    return made(found, c, engine)


def test_what_is_of_no_directory_counts_on_its_rank(engine: EngineClient) -> None:
    busy = on_two_ranks(engine, 900.0)
    assert not busy.steps and busy.prediction.load_after == {"0": 100.0, "1": 900.0}
    assert [row.path for row in busy.rows] == ["/a", "/b"]
    managers = on_two_ranks(engine, 900.0, known=0.0)
    assert [step.value for step in managers.steps] == ["1"], "what managers ask for is no workload"
    idle = on_two_ranks(engine, 0.0)
    assert [step.value for step in idle.steps] == ["1"]
    assert idle.prediction.load_after == {"0": 50.0, "1": 50.0}


def test_what_was_deleted_since_does_not_count_on_its_rank() -> None:
    host: Any = FakeCluster()
    directories = [Directory(d.path, d.path, ino) for ino, d in host.directories.items()]
    rows = tuple(
        DirectoryJudgement(Observed(d, 1.0, 100.0, 10, 1, (0,), -1, False, False, parts=(0,)), 1.0, "light")
        for d in directories
    )
    ranks = (RankJudgement(0, 450.0, 450.0, 0.001, 10, 10, 1, 1, True),)
    found = replace(judgement(ALL_ON_0), directories=rows, ranks=ranks)
    del host.directories[101]
    host.tell_each = lambda fs, names, prefix, **_: {name: [] for name in names}
    (rank,) = present(host, host.state, found, {}).ranks
    assert rank.load == 350.0


@pytest.mark.parametrize(("requests", "ranks"), [(0.0, (3,)), (40.0, (0,))])
def test_what_sleeps_is_where_its_pin_is_though_no_cache_has_it(requests: float, ranks: tuple[int]) -> None:
    directory = Directory("/a", "a", 100)
    seen = Observed(directory, 1.0, requests, 10, 1, (0,), 3, False, False)
    where = SubtreeMap([Subtree("/", 0, -1, False)], ["/a"])
    assert _now(DirectoryJudgement(seen, 1.0, "light"), {100: 3}, where, (0, 1, 2, 3)).ranks == ranks


@pytest.mark.parametrize(("balanced", "ranks"), [(True, (0, 1)), (False, (0,))])
def test_a_heavy_one_counts_on_all_its_ranks_only_while_a_balancer_evens_them(
    balanced: bool, ranks: tuple[int, ...]
) -> None:
    seen = Observed(Directory("/a", "a", 100), 1.0, 600.0, 10, 1, (0, 1), -1, False, False, parts=(0,) * 20)
    c = circumstances()
    c = replace(c, fs=replace(c.fs, balance_automate=balanced))
    assert on(DirectoryJudgement(seen, 1.0, "heavy"), c) == ranks


@pytest.mark.parametrize(("of_children", "own"), [(900.0, 0.0), (50.0, 0.95)])
def test_files_right_in_a_heavy_directory_stay_together(
    engine: EngineClient, of_children: float, own: float
) -> None:
    brood = family("/volumes/_nogroup/Subvol1")
    inside = Insides(1.0, tuple(Part(child.path, of_children / 4) for child in brood.children))
    found = families.family(brood, circumstances("fanout"), lambda *_: True, {}, inside, 1000.0)
    assert (found.own, found.staying) == (pytest.approx(own), pytest.approx(own))


def test_what_hard_links_may_do_to_what_is_taken_apart_is_told() -> None:
    (told,) = of_links(taken_apart=True)
    assert "MDS_DAMAGE" in told and of_links(taken_apart=False) == ()


def test_many_pins_are_told() -> None:
    assert many_pins(500, 500, 4) == ()
    of_heavy, others = many_pins(501, 10_000, 4)
    assert (
        of_heavy.startswith("501 directories of heavy ones")
        and "10,000 directories are pinned, 4 at" in others
    )


def like_one_another(pinned: bool) -> Judgement:
    """None is heavy; rank 2 has none."""
    ranks = dict(zip(AS_IN_LINE, [(0,), (0,), (1,), (1,)]))
    found = judgement(ranks, {name: of[0] for name, of in ranks.items()} if pinned else None)
    rows = [
        replace(row, seen=replace(row.seen, wss=9.0, rentries=9, requests=rate))
        for row, rate in zip(found.directories, (50.0, 40.0, 40.0, 30.0))
    ]
    return replace(found, directories=tuple(rows))


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("mode", ["fanout", "mask"])
def test_what_an_operators_balancer_may_move_is_told(engine: EngineClient, mode: str, balanced: bool) -> None:
    c = circumstances(mode)
    c = replace(c, fs=replace(c.fs, balance_automate=balanced))

    def told(found: Judgement) -> list[str]:
        return [text for text in made(found, c, engine).caveats if "balance_automate" in text]

    assert bool(told(like_one_another(pinned=False))) is balanced
    assert not told(like_one_another(pinned=True))
    if mode == "fanout":
        assert bool(told(judgement(AS_IN_LINE))) is balanced


def test_what_is_confined_by_a_mask_is_the_balancers(engine: EngineClient) -> None:
    c = replace(circumstances("mask"), owns_settings=True)
    c = replace(c, fs=replace(c.fs, balance_automate=True))
    plan = made(judgement(AS_IN_LINE), c, engine)
    assert RANK_MASK in [step.target for step in plan.steps]
    assert not [text for text in plan.caveats if "balance_automate" in text]


@pytest.mark.parametrize(("unread_load", "refused"), [(0.001, False), (0.6, True)])
def test_what_was_not_read_is_weighed_against_what_was(
    engine: EngineClient, unread_load: float, refused: bool
) -> None:
    """Rank 0 serves 900 req/s of no directory: what a plan takes off others counts all the same."""
    rows = tuple(
        DirectoryJudgement(
            Observed(Directory(f"/{i}", str(i), 100 + i), 10.0, 100.0, 10, 1, (1,), -1, False, False),
            62.5,
            "light",
        )
        for i in range(8)
    )
    loads = (900.0, 800.0, 0.0)
    ranks = tuple(RankJudgement(i, load, load, 0.001, 10, 10, 1, 1, False) for i, load in enumerate(loads))
    found = replace(judgement(ALL_ON_0), directories=rows, ranks=ranks)
    found = replace(found, caveats=replace(found.caveats, elsewhere=0.53, unread=1, unread_load=unread_load))
    if refused:
        with pytest.raises(NotPermitted, match="1 directories with 60% of the requests"):
            made(found, circumstances("fanout"), engine)
    else:
        assert made(found, circumstances("fanout"), engine).steps
