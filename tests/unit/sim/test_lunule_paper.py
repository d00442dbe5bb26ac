# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lunule as its paper has it, Ceph 12.2's balancer, and the report."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sim.course import build, run
from sim.load.clients import Does
from sim.load.crowd import Crowd, Group
from sim.load.pattern import Fixed, Scan
from sim.model.namespace import Namespace
from sim.model.tree import GROUP, Part, plant
from sim.model.visits import Seen, Visits
from sim.papers.lunule import vanilla
from sim.papers.lunule.document import text
from sim.papers.lunule.experiment import Run, play
from sim.papers.lunule.figures import draw
from sim.papers.lunule.initiator import Initiator, demands
from sim.papers.lunule.published import LUNULE, VANILLA
from sim.papers.lunule.selection import Selector, indexes
from sim.papers.lunule.setting import METADATA, Setting
from sim.papers.lunule.study import BALANCERS, DATA, HASHED, OTHERS, SCALES, WORKLOADS, Study, changes
from sim.papers.lunule.workloads import CNN, MD, NLP, WEB, ZIPF, with_data, workload
from sim.policies.base import DEFAULTS, Context
from sim.scenario import find
from tests.unit.sim.test_model import after, scenario

SMALL = Setting(
    clients=20,
    cnn_directories=40,
    cnn_files=300,
    nlp_folders=3,
    nlp_fragments=4,
    nlp_files=1_000,
    web_branches=4,
    web_requests=500.0,
    zipf_requests=500.0,
)


def names_of(files: float = 100.0, directories: int = 4) -> Namespace:
    """One subvolume with directories of so many files, on rank 0."""
    tree = plant([Part("vol", 1, (directories,), files)])
    return Namespace(tree, np.zeros(tree.size, dtype=np.int64))


def crowd_in(names: Namespace, pattern: Scan | Fixed, does: Does = "read") -> Crowd:
    """A client in the first directory."""
    kind = replace(scenario().clients[0], does=does)
    leaf = names.tree.leaves(0)[:1]
    return Crowd([Group(kind, pattern, slice(0, 1))], leaf, np.ones(1), 1)


def meet(visits: Visits, crowd: Crowd, requests: float) -> None:
    """A step."""
    visits.count(crowd, np.array([requests]))
    crowd.count(np.array([requests]), 0.0, 1.0)


# visits


def test_who_goes_through_a_directory_meets_each_file_once() -> None:
    names = names_of()
    leaf = int(names.tree.leaves(0)[0])
    crowd, visits = crowd_in(names, Scan(1, 100, 0.0)), Visits(names.tree.size)
    meet(visits, crowd, 30.0)
    visits.end_window(names.inodes)
    meet(visits, crowd, 20.0)
    seen = visits.end_window(names.inodes)
    assert (seen.visits[leaf], seen.visited[leaf], seen.revisited[leaf]) == pytest.approx((50.0, 50.0, 0.0))
    assert (seen.firsts[leaf], seen.unvisited[leaf]) == pytest.approx((20.0, 50.0))


def test_a_second_client_meets_the_same_files_again() -> None:
    names = names_of()
    leaf = int(names.tree.leaves(0)[0])
    first, second = (crowd_in(names, Scan(1, 100, 0.0)) for _ in range(2))
    visits = Visits(names.tree.size)
    meet(visits, first, 60.0)
    visits.end_window(names.inodes)
    meet(visits, second, 80.0)
    seen = visits.end_window(names.inodes)
    assert (seen.visited[leaf], seen.revisited[leaf], seen.firsts[leaf]) == pytest.approx((80.0, 60.0, 20.0))


def test_random_requests_meet_files_by_chance() -> None:
    names = names_of()
    leaf = int(names.tree.leaves(0)[0])
    crowd, visits = crowd_in(names, Fixed(np.ones(1))), Visits(names.tree.size)
    for _ in range(2):
        meet(visits, crowd, 100.0)
        seen = visits.end_window(names.inodes)
    met = 1.0 - math.exp(-1.0)
    assert seen.visited[leaf] == pytest.approx(100.0 * (1.0 - (1.0 - met) ** 2))
    assert seen.revisited[leaf] == pytest.approx(100.0 * met**2)
    assert seen.firsts[leaf] == pytest.approx(100.0 * met * (1.0 - met))


def test_files_that_are_made_are_first_visits_and_windows_are_forgotten() -> None:
    names = names_of(files=0.0)
    leaf = int(names.tree.leaves(0)[0])
    crowd, visits = crowd_in(names, Fixed(np.ones(1)), does="create"), Visits(names.tree.size)
    meet(visits, crowd, 40.0)
    names.inodes[leaf] += 40.0
    seen = visits.end_window(names.inodes)
    assert (seen.visited[leaf], seen.firsts[leaf], seen.unvisited[leaf]) == pytest.approx((40.0, 40.0, 0.0))
    for _ in range(8):
        seen = visits.end_window(names.inodes)
    assert (seen.visits[leaf], seen.visited[leaf], seen.unvisited[leaf]) == pytest.approx((0.0, 0.0, 40.0))


# migration index and searches


def test_the_index_is_alpha_visits_and_beta_first_visits() -> None:
    names = names_of()
    a, b, c, _ = names.tree.leaves(0).tolist()
    zero = np.zeros(names.tree.size)

    def at(**values: float) -> np.ndarray:
        found = zero.copy()
        for name, value in values.items():
            found[{"a": a, "b": b, "c": c}[name]] = value
        return found

    seen = Seen(
        visits=at(a=300.0, b=50.0),
        visited=at(a=100.0, b=50.0),
        revisited=at(a=100.0),
        firsts=at(b=50.0),
        unvisited=names.inodes - at(a=100.0, b=50.0),
    )
    index = indexes(names, seen, np.random.default_rng(1))
    assert index[a] == 300.0  # nothing is left to visit
    assert index[b] == 50.0  # 50 / 50 * 50; nobody else had first visits
    # Two siblings of b share, by chance, half of its first visits; each counts a hundred times.
    assert index[c] > 0.0
    assert index[c] % 100.0 == 0.0


def selector(index: dict[int, float], directories: int = 4) -> tuple[Selector, list[int]]:
    """One whose leaves, in order, have these indexes."""
    names = names_of(directories=directories)
    values = np.zeros(names.tree.size)
    leaves = names.tree.leaves(0).tolist()
    for place, value in index.items():
        values[leaves[place]] = value
    return Selector(names, 0, names.below(values)), leaves


def test_one_subtree_that_is_worth_the_amount_goes() -> None:
    chosen, leaves = selector({0: 500.0, 1: 300.0, 2: 150.0, 3: 50.0})
    assert [o.directory for o in chosen.select(0.31, 1, "")] == [leaves[1]]


def test_without_one_the_largest_that_fit_go_and_nothing_twice() -> None:
    chosen, leaves = selector({0: 600.0, 1: 200.0, 2: 100.0, 3: 100.0})
    assert [o.directory for o in chosen.select(0.4, 1, "")] == leaves[1:]
    assert chosen.select(0.4, 2, "") == []


def test_what_is_larger_is_taken_apart_from_the_root_on() -> None:
    chosen, leaves = selector(dict.fromkeys(range(10), 10.0), directories=10)
    orders = chosen.select(0.5, 3, "why")
    assert sorted(o.directory for o in orders) == leaves[:5]
    assert {(o.target, o.why) for o in orders} == {(3, "why")}
    assert not set(chosen.chosen) & {0, 1, GROUP}


# Algorithm 1


def test_importers_take_what_their_own_growth_leaves() -> None:
    current = np.array([900.0, 300.0, 150.0, 100.0, 50.0])  # mean 300
    predicted = np.array([900.0, 300.0, 250.0, 100.0, 400.0])
    exports, imports = demands(current, predicted)
    assert exports.tolist() == [600.0, 0.0, 0.0, 0.0, 0.0]
    assert imports.tolist() == [0.0, 0.0, 50.0, 200.0, 0.0]


def test_a_load_that_is_light_or_even_is_left_alone() -> None:
    assert not Initiator().decide(np.array([200.0, 0.0, 0.0]), 10_000.0).matrix.any()
    assert not Initiator().decide(np.array([9_000.0, 8_500.0, 9_500.0]), 10_000.0).matrix.any()
    found = Initiator().decide(np.array([9_000.0, 0.0, 0.0]), 10_000.0)
    assert found.factor > 0.9
    assert found.matrix[0].sum() == pytest.approx(6_000.0)


# Ceph 12.2


def test_vanilla_counts_requests_since_the_begin() -> None:
    cluster = build(scenario(), 1)
    half = int(cluster.tree.roots[1])
    cluster.place(half, 1, "")
    policy = vanilla.Vanilla(Context((), 1, None, DEFAULTS))
    after(cluster, 25.0)
    assert policy.decide(cluster).exports == ()
    cluster.counters.received[0] += 1e6  # long ago: the loads of now are as they were
    assert policy.decide(cluster).exports == ()  # for one beat only
    assert {o.target for o in policy.decide(cluster).exports} == {1}


def test_vanilla_leaves_out_less_than_a_fifth_of_the_mean() -> None:
    names = names_of()
    heat = np.zeros(names.tree.size)
    heat[names.tree.leaves(0)] = 100.0
    orders = vanilla.choose(names, 0, names.below(heat), {1: 100.0}, 499.0, "")
    assert [o.target for o in orders] == [1]
    assert vanilla.choose(names, 0, names.below(heat), {1: 100.0}, 501.0, "") == ()


# workloads and runs


@pytest.mark.parametrize("name", [CNN, NLP])
def test_every_client_of_a_scan_reads_every_file_once(name: str) -> None:
    work = workload(name, SMALL)
    found = play(work, "nothing", SMALL, 1, 3_600.0)
    files = SMALL.clients * work.tree.inodes[work.tree.leaves(0)].sum()
    assert np.isfinite(found.ended).all()
    assert found.loads.sum() == pytest.approx(files, rel=0.05)  # a client ends with a step
    assert found.loads[:, 1:].sum() == 0.0


def test_the_sizes_are_table_1s() -> None:
    files = {name: workload(name, Setting()).tree.inodes for name in (CNN, NLP, WEB, ZIPF)}
    assert files[CNN][files[CNN] > 1.0].sum() == 1_280_000
    assert files[NLP][files[NLP] > 1.0].sum() == pytest.approx(836_000, rel=0.001)
    assert files[WEB][files[WEB] > 1.0].sum() == pytest.approx(302_000)
    assert files[ZIPF][files[ZIPF] > 1.0].tolist() == [10_000.0] * 100
    assert with_data(ZIPF, SMALL, 0.002).think == SMALL.think + 0.002


def test_all_balancers_spread_and_the_same_seed_gives_the_same() -> None:
    work = workload(ZIPF, replace(SMALL, clients=40, zipf_requests=math.inf))
    alone = play(work, "nothing", SMALL, 1, 200.0)
    for policy in ("vanilla", "lunule-light", "lunule-paper"):
        first, again = (play(work, policy, SMALL, 1, 200.0) for _ in range(2))
        assert first.loads.tobytes() == again.loads.tobytes()
        assert first.mean > 1.2 * alone.mean
        assert first.factors[-1] < 0.5 * alone.factors[-1]


def test_pins_by_hash_use_all_ranks() -> None:
    work = workload(MD, replace(SMALL, clients=100))
    found = play(work, "nothing", SMALL, 1, 20.0, hashed=True)
    assert (found.loads[-1] > 0.0).all()


@pytest.mark.parametrize("policy", ["vanilla", "lunule-light", "lunule-paper"])
def test_scenarios_can_name_them(policy: str) -> None:
    one = replace(find(["one-hot-rank"])[0], seconds=60.0)
    found = run(one, policy, 1)
    assert not found.unsafe
    assert found.moves


# report


def made_up(rng: np.random.Generator) -> Run:
    loads = rng.uniform(1_000.0, 9_000.0, (2_400, 6))
    return Run(loads, rng.uniform(1_000.0, 9_000.0, 5), 3, 4_000.0, 0.1, 10_250.0)


def test_the_report_has_all_figures_and_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    setting = Setting()
    found = Study(
        setting=setting,
        single={key: [made_up(rng)] * 2 for key in product(WORKLOADS, (*BALANCERS, *OTHERS))},
        data={key: made_up(rng) for key in product(METADATA, (VANILLA, LUNULE), DATA)},
        growing=made_up(rng),
        phases=made_up(rng),
        scale={ranks: made_up(rng) for ranks in SCALES},
        web={key: made_up(rng) for key in product((VANILLA, LUNULE, HASHED), (0.0, 0.5))},
        varied={key: made_up(rng) for key in product(changes(setting), (VANILLA, LUNULE))},
    )
    pictures = draw(found, tmp_path)
    told = text(found, pictures)
    assert all((tmp_path / name).stat().st_size > 10_000 for name in pictures)
    assert all(f"({name})" in told for name in pictures)
    assert "$" not in told
    assert "nan" not in told
    for name, balancer in product(WORKLOADS, BALANCERS):
        assert any(line.startswith(f"| {name}") and f"| {balancer} " in line for line in told.splitlines())
