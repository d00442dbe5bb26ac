# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policies decide as their originals do."""

import numpy as np
import pytest

from mds_partitioner.errors import NotFound
from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.state import Limits, State
from mds_partitioner.schedule.core.view import View
from sim.course import build, run
from sim.model.counters import Beat
from sim.model.namespace import Namespace
from sim.model.tree import Part, Tree, plant
from sim.policies.builtin import match, mds_load
from sim.policies.exports import choose
from sim.policies.manager import samples
from sim.policies.mount import Mount
from sim.policies.oracle import even_out
from sim.scenario import Ranks
from tests.unit.sim.test_model import CAPACITY, after, scenario


@pytest.fixture
def tree() -> Tree:
    """Six subvolumes of four directories."""
    return plant([Part("vol", 6, (4,), 100.0)])


def names_of(tree: Tree) -> Namespace:
    return Namespace(tree, np.zeros(tree.size, dtype=np.int64))


def heat_of(names: Namespace, subvolumes: list[float]) -> np.ndarray:
    """Each subvolume's heat, in its four directories alike."""
    own = np.zeros(names.tree.size)
    for number, heat in enumerate(subvolumes):
        own[names.tree.leaves(number)] = heat / 4
    return names.below(own)


def chosen(names: Namespace, heats: list[float], targets: dict[int, float]) -> dict[str, int]:
    orders = choose(names, 0, heat_of(names, heats), targets, 0.0, "")
    return {names.tree.path(o.directory).removeprefix("/volumes/_nogroup/"): o.target for o in orders}


def test_a_subtree_that_fits_goes_alone(tree: Tree) -> None:
    assert chosen(names_of(tree), [50, 100, 210, 30, 30, 30], {1: 200.0}) == {"vol2": 1}


def test_without_one_that_fits_the_largest_smaller_ones_go(tree: Tree) -> None:
    assert chosen(names_of(tree), [150, 90, 80, 400, 10, 10], {1: 200.0}) == {"vol0": 1, "vol1": 1}


def test_a_larger_one_is_taken_apart(tree: Tree) -> None:
    found = chosen(names_of(tree), [800, 0, 0, 0, 0, 0], {1: 400.0})
    assert found == {"vol0/d0": 1, "vol0/d1": 1}


def test_what_came_from_a_rank_goes_back_to_it_first(tree: Tree) -> None:
    names = names_of(tree)
    names.auth[:] = 1
    root = int(tree.roots[4])
    names.move(root, 0, 0.0, "")
    assert chosen(names, [100, 0, 0, 0, 150, 0], {1: 160.0, 2: 160.0}) == {"vol4": 1}


def test_pinned_and_frozen_directories_and_crumbs_stay(tree: Tree) -> None:
    names = names_of(tree)
    names.set_pin(int(tree.roots[0]), 0)
    names.freeze(int(tree.roots[1]), names.members(int(tree.roots[1])))
    assert chosen(names, [100, 100, 0, 0, 0, 0], {1: 100.0}) == {}
    assert chosen(names, [0, 0, 100, 0, 0, 0], {1: 9.0}) == {}


def test_the_built_in_balancer_gives_nobody_more_than_the_mean() -> None:
    load = np.array([900.0, 500.0, 40.0, 60.0, 0.0])
    mean = np.full(5, float(load.mean()))
    for odd in (True, False):
        found = match(load, mean, [1, 0], {}, odd)
        given = {rank: sum(row.values()) for rank, row in found.by_rank.items()}
        assert given == pytest.approx({0: 600.0, 1: 200.0})
        assert ((found.imported + load)[2:] <= mean[2:] + 1e-9).all()


def test_the_built_in_balancer_sends_back_to_where_subtrees_came_from() -> None:
    load = np.array([900.0, 0.0, 0.0])
    assert next(iter(match(load, np.full(3, 300.0), [0], {0: [2]}, True).by_rank[0])) == 2


def test_mds_load_counts_what_waits_ten_times() -> None:
    one = np.array([1.0])
    assert mds_load(Beat(0.0, 100.0 * one, 20.0 * one, 3.0 * one, one)).tolist() == [150.0]


def test_the_oracle_moves_what_is_above_the_share_and_no_more() -> None:
    demand = np.array([0.0, 0, 0, 30, 20, 10, 10, 10, 20])
    auth = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1])
    moves = even_out(demand, auth, np.array([50.0, 50.0]), np.ones(9, dtype=np.bool_))
    assert sum(demand[d] for d, _ in moves) == 30.0
    assert {rank for _, rank in moves} == {1}
    free = np.arange(9) != 8
    assert even_out(demand, auth, np.array([100.0, 0.0]), ~free) == [(8, 0)]
    assert even_out(demand, auth, np.array([100.0, 0.0]), free) == []


def test_a_mount_names_directories_by_path_and_inode() -> None:
    cluster = build(scenario(), 1)
    mount, tree = Mount(cluster.names), cluster.tree
    for directory in range(tree.size):
        assert mount.directory(tree.path(directory)) == directory
        assert mount.by_ino(mount.ino(tree.path(directory))) == directory
    ino = mount.ino("/volumes/_nogroup/vol1/d0")
    cluster.names.remake(mount.directory("/volumes/_nogroup/vol1/d0"), 1.0)
    assert mount.by_ino(ino) is None
    for path in ("/volumes/_nogroup/vol9", "/volumes/_nogroup/vol1/d7"):
        with pytest.raises(NotFound, match="cannot stat"):
            mount.ino(path)


def test_the_manager_sees_what_ranks_reported() -> None:
    cluster = after(build(scenario(), 1), 33.0)
    first, second = samples(cluster, 10.0)
    assert first.requests == pytest.approx(CAPACITY, rel=0.01)
    assert first.requests * first.latency == pytest.approx(16.0, rel=0.1)  # threads that wait there
    assert (second.requests, second.latency) == (0.0, 0.0)
    assert (first.forwards, second.forwards) == (0.0, 0.0)
    cluster.die(0)
    after(cluster, 4.0)  # in the report at 35 s, two of ten seconds are missing
    assert samples(cluster, 10.0)[0].rank == 1


def test_the_scheduler_goes_by_the_options_of_the_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Limits] = []

    def scheduler(state: State, view: View, limits: Limits) -> Scheduler:
        given.append(limits)
        return Scheduler(state, view, limits)

    monkeypatch.setattr("sim.policies.scheduler.Scheduler", scheduler)
    options = {"arrival_timeout": 42, "smoothness": 0.5}
    run(scenario(seconds=10.0, options=options), "scheduler", 1)
    assert {(limits.deadline, limits.smoothness) for limits in given} == {(42.0, 0.5)}


def test_the_manager_sees_what_ranks_pass_on() -> None:
    cluster = build(scenario(ranks=Ranks(2, CAPACITY)), 1)
    cluster.to_auth = True
    leaf = int(cluster.tree.roots[0]) + 1
    cluster.place(leaf, 1, "")
    first, second = samples(after(cluster, 33.0), 10.0)
    assert first.forwards == pytest.approx(second.requests, rel=0.05)
    assert second.forwards == 0.0
