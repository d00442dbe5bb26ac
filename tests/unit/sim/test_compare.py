# SPDX-License-Identifier: LGPL-2.1-or-later
"""One table for all: what is averaged how, what cannot run is said, and everything fits a terminal."""

from dataclasses import replace
from pathlib import Path

import pytest

import sim.compare
from sim.compare import FORWARDED, SCENARIOS, WIDTH, compare, standard
from sim.compare.picture import points
from sim.compare.scores import Cannot, Score, Seen, geometric, measured, score, seen, summary
from sim.compare.tables import of_all, of_scenario
from sim.course import run
from sim.policies import POLICIES
from sim.scenario import Ranks
from tests.unit.sim.test_model import scenario as small

ONE = Seen(answered=900.0, later=500.0, mean=0.2, p99=0.4, moves=4.0, inodes=600.0, forwards=0.1, unsafe=0)
OTHER = replace(ONE, answered=400.0, later=300.0, mean=0.4, p99=0.6, inodes=200.0, forwards=0.3, unsafe=2)
BEST = replace(ONE, answered=1000.0, later=600.0, inodes=200.0)

TEXT = """
about = "Everything is on the first of two ranks."
policy = "nothing"
fails_with = "nothing"
seconds = 40
must = {}
ranks = { count = 2, mask = [0, 1] }
subvolumes = [{ name = "vol", count = 4 }]
clients = [{ name = "all", on = [0, 4], apart = true, count = 4 }]
"""


def test_a_run_is_what_its_recording_says() -> None:
    recording = run(small(seconds=40.0), "oracle", 1)
    found = measured(recording)
    assert found.answered == recording.answered
    assert found.later == recording.loads[20:].sum()
    assert found.moves == len(recording.moves) > 0
    assert found.inodes == recording.moved
    assert 0.0 <= found.mean <= found.p99 <= 1.0


def test_throughput_and_cost_are_in_parts_of_the_oracles() -> None:
    found = score([ONE, OTHER], [BEST, BEST])
    assert isinstance(found, Score)
    assert found.part == pytest.approx(0.6)  # the root of 0.9 and 0.4
    assert found.later == pytest.approx((5 / 6 * 3 / 6) ** 0.5)
    assert found.cost == pytest.approx(2.0)
    assert (found.mean, found.p99, found.moves, found.inodes) == pytest.approx((0.3, 0.5, 4.0, 400.0))
    assert found.forwards == pytest.approx(0.2)
    assert found.unsafe == 2


def test_where_the_oracle_moves_nothing_there_is_no_cost() -> None:
    found = score([ONE], [replace(BEST, inodes=0.0)])
    assert isinstance(found, Score) and found.cost is None


def test_a_policy_that_a_scenario_has_no_place_for_is_said_to_be_one() -> None:
    masked = small(ranks=Ranks(2, 1000.0, mask=(0,)))
    refused = seen(masked, "vesta", 1)
    assert isinstance(refused, Cannot) and "mask" in refused.why
    found = score([refused], [BEST])
    assert found == refused
    told = of_scenario({"vesta": found}, markdown=False)
    assert "cannot" in told and refused.why in told


def test_all_scenarios_together() -> None:
    one = score([ONE], [BEST])
    other = score([OTHER], [BEST])
    scores = {"a": {"p": one, "q": one}, "b": {"p": other, "q": Cannot("why")}}
    found = summary(scores, "p")
    assert isinstance(found, Score)
    assert found.part == pytest.approx(0.6)
    assert found.cost == pytest.approx(2.0)
    assert (found.moves, found.inodes) == (8.0, 800.0)
    assert summary(scores, "q") == one
    assert "q is without b" in of_all(scores, markdown=False)
    assert summary({"b": {"q": Cannot("why")}}, "q") == Cannot("in none of the scenarios")


def test_a_policy_that_got_nothing_through_has_no_throughput() -> None:
    assert geometric([0.0, 1.0]) == 0.0


def test_the_scenarios_are_there_and_the_policies_have_their_rows() -> None:
    assert [one.name for one in standard()] == [*SCENARIOS, FORWARDED]
    assert [one.name for one in standard() if not one.ranks.to_auth] == [FORWARDED]
    wide = Score(12.34, 56.78, 0.123, 0.456, 12_345.0, 12_345_678.0, 123.45, 12.345, 9)
    lines = of_all({"a": dict.fromkeys(POLICIES, wide)}, markdown=False).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) == len(POLICIES) + 4


def test_points_that_the_table_does_not_tell_apart_are_one() -> None:
    one, other = score([ONE], [BEST]), score([OTHER], [BEST])
    assert points({"a": {"p": one, "q": other, "r": one, "s": Cannot("why")}}) == {
        (3.0, 0.9): ["p", "r"],
        (1.0, 0.4): ["q"],
    }


def test_the_page_the_picture_and_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: POLICIES[name] for name in ("nothing", "oracle", "vesta")}
    monkeypatch.setattr(sim.compare, "POLICIES", few)
    given = tmp_path / "two-ranks.toml"
    given.write_text(TEXT)
    told = compare([str(given)], [1], 1, tmp_path)
    page = (tmp_path / "all.md").read_text()
    for text in (told, page):
        assert "Everything is on the first of two ranks." in text
        assert "vesta cannot: a mask of ranks is Ceph's, and vesta is not" in text
    assert max(map(len, told.splitlines())) <= WIDTH
    assert "`vesta`" in page and "$" not in page
    assert (tmp_path / "all.png").stat().st_size > 10_000
