# SPDX-License-Identifier: LGPL-2.1-or-later
"""The modelled cluster keeps what it is given, and has the limits that queues have."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sim.course import build, run
from sim.load.clients import Clients, Surge
from sim.model.cluster import Cluster
from sim.model.migrator import Order
from sim.model.namespace import Namespace
from sim.model.physics import Physics
from sim.model.tree import GROUP, Part, plant
from sim.policies.exports import choose
from sim.scenario import Assertions, Event, Ranks, Scenario, Subvolumes

CAPACITY = 1000.0
TARGETS = Physics(targets=True)
EVERYONE = Clients(name="all", on=(0, 4), apart=True, count=4)


def scenario(**changes: Any) -> Scenario:
    """Four subvolumes on the first of two ranks."""
    usual = Scenario(
        about="",
        policy="nothing",
        fails_with=("oracle",),
        seconds=60.0,
        ranks=Ranks(2, CAPACITY),
        subvolumes=(Subvolumes("vol", 4, inodes=1000.0),),
        clients=(EVERYONE,),
        must=Assertions(),
    )
    return replace(usual, **changes)


def after(cluster: Cluster, seconds: float) -> Cluster:
    for _ in range(round(seconds / cluster.physics.step)):
        cluster.step()
    return cluster


@pytest.mark.parametrize(("threads", "think"), [(1, 0.0), (4, 0.0), (1, 0.01), (8, 0.1), (64, 0.01)])
def test_a_closed_loop_gets_what_threads_and_capacity_allow(threads: int, think: float) -> None:
    clients = replace(EVERYONE, on=(0, 1), count=1, threads=threads, think=think)
    cluster = after(build(scenario(clients=(clients,)), 1), 20.0)
    rate = cluster.served[0] / 20.0
    bound = min(threads / (think + 1 / CAPACITY), CAPACITY)
    assert rate <= bound * 1.001
    assert rate >= bound * 0.85  # what waits for one another near saturation
    # Far from the knee the bound is sharp.
    if not bound * 0.5 < threads / (think + 1 / CAPACITY) - CAPACITY / 2 < bound * 2:
        assert rate == pytest.approx(bound, rel=0.03)


def test_open_loops_are_served_up_to_the_capacity_and_the_rest_waits() -> None:
    clients = replace(EVERYONE, rate=400.0)
    cluster = after(build(scenario(clients=(clients,)), 1), 10.0)
    assert cluster.served[0] == pytest.approx(CAPACITY * 10.0, rel=1e-6)
    assert cluster.backlog[0] == pytest.approx(600.0 * 10.0, rel=1e-6)


@pytest.mark.parametrize("rate", [None, 100.0, 400.0])
def test_no_request_is_lost_or_made_up_whatever_moves_or_dies(rate: float | None) -> None:
    clients = replace(EVERYONE, rate=rate, surges=(Surge(5.0, 9.0, 2.0),))
    cluster = build(scenario(clients=(clients,), events=()), 1)
    roots = cluster.tree.roots.tolist()
    for second in range(60):
        if second == 3:
            cluster.order([Order(roots[0], 1, ""), Order(roots[1], 1, "")], [0])
        if second == 12:
            cluster.die(0)
        if second == 20:
            cluster.pin(roots[2], 1, "")
        after(cluster, 1.0)
        waiting = cluster.backlog.sum() + cluster.crowd.stuck.sum()
        assert cluster.asked == pytest.approx(cluster.served.sum() + waiting, rel=1e-9)
    assert cluster.names.auth[roots[0]] == cluster.names.auth[roots[2]] == 1


def test_an_export_takes_its_rank_time_by_inodes_and_freezes_what_moves() -> None:
    physics = Physics(export_delay=0.0, freeze=0.0, export_work=0.25, import_work=0.25, targets=True)
    cluster = build(scenario(physics=physics), 1)
    root = int(cluster.tree.roots[0])
    cluster.names.inodes[root + 1] = 4000.0  # 1,000 requests of work on either side: a second each
    after(cluster, 5.0)
    cluster.order([Order(root, 1, "")], [0])
    after(cluster, physics.tick + physics.map_delay)  # rank 1 is no export target of rank 0 yet
    before = cluster.served.copy()
    cluster.step()
    assert cluster.names.frozen[root + 1]
    after(cluster, 0.75)
    assert cluster.served[0] - before[0] < 0.05 * CAPACITY  # it did nothing else
    after(cluster, 1.25)
    assert cluster.names.auth[root] == cluster.names.auth[root + 1] == 1
    assert not cluster.names.frozen.any()
    assert [(m.source, m.target, m.inodes) for m in cluster.moves] == [(0, 1, 4001.0)]


def test_a_pin_is_followed_on_a_tick_and_not_before() -> None:
    cluster = build(scenario(), 1)
    after(cluster, 1.0)
    root = int(cluster.tree.roots[0])
    cluster.pin(root, 1, "")
    after(cluster, 3.75)
    assert cluster.names.auth[root] == 0
    after(cluster, 4.0)
    assert cluster.names.auth[root] == 1


def test_a_balancer_exports_so_many_inodes_at_a_time_and_a_beat_voids_what_was_not_begun() -> None:
    cluster = build(scenario(physics=Physics(export_size=50_000.0, export_work=0.25, import_work=0.25)), 1)
    roots = cluster.tree.roots.tolist()
    cluster.names.inodes[:] = 20_000.0  # with the directory above each takes its exporter ten seconds
    cluster.order([Order(root, 1, "") for root in roots], [0])
    after(cluster, cluster.physics.beat)
    assert len(cluster.migrator.exports) == 2
    cluster.order([], [0])
    after(cluster, 60.0)
    assert cluster.names.auth[roots].tolist() == [1, 1, 0, 0]


def test_the_first_export_to_a_rank_waits_until_the_map_has_it_as_a_target() -> None:
    cluster = after(build(scenario(physics=TARGETS), 1), 8.0)
    first, second, *_ = cluster.tree.roots.tolist()
    wait = cluster.physics.tick + cluster.physics.map_delay
    cluster.order([Order(first, 1, "")], [0])
    after(cluster, wait)
    assert not cluster.names.freezing.any()  # it may still be chosen, but is not begun twice
    cluster.order([Order(first, 1, "")], [0])
    cluster.step()
    assert [export.order.directory for export in cluster.migrator.exports] == [first]
    after(cluster, 3.0)
    cluster.order([Order(second, 1, "")], [0])
    after(cluster, 3.0)
    assert cluster.names.auth[[first, second]].tolist() == [1, 1]


def test_a_target_that_nothing_went_to_for_long_is_given_up() -> None:
    cluster = build(scenario(physics=TARGETS), 1)
    first, second, *_ = cluster.tree.roots.tolist()
    cluster.order([Order(first, 1, "")], [0])
    after(cluster, 200.0)  # a thousand inodes have decayed to less than a hundredth in some 170 s
    cluster.order([Order(second, 1, "")], [0])
    after(cluster, 4.0)
    assert cluster.names.auth[[first, second]].tolist() == [1, 0]


def test_two_exports_wait_for_a_target_at_most_and_what_is_behind_them_waits_too() -> None:
    cluster = after(build(scenario(ranks=Ranks(3, CAPACITY), physics=TARGETS), 1), 8.0)
    roots = cluster.tree.roots.tolist()
    cluster.order([Order(root, target, "") for root, target in zip(roots, (1, 1, 1, 2), strict=True)], [0])
    after(cluster, 1.0)
    assert [export.order.directory for export in cluster.migrator.exports] == roots[:2]
    after(cluster, 8.0)
    assert cluster.names.auth[roots].tolist() == [1, 1, 1, 0]
    after(cluster, 4.0)
    assert cluster.names.auth[roots].tolist() == [1, 1, 1, 2]


def test_until_it_is_frozen_a_subtree_is_served_and_not_chosen_again() -> None:
    cluster = after(build(scenario(physics=Physics(export_delay=20.0)), 1), 10.0)
    root = int(cluster.tree.roots[0])
    cluster.order([Order(root, 1, "")], [0])
    served = cluster.served[0]
    after(cluster, 19.0)
    assert cluster.served[0] - served == pytest.approx(19.0 * CAPACITY, rel=0.01)
    heat = cluster.names.below(cluster.counters.popularity)
    again = choose(cluster.names, 0, heat, {1: float(heat[root])}, 0.0, "")
    assert [o.directory for o in again] == [int(cluster.tree.roots[1])]
    cluster.order([], [0])  # the next beat finds nothing that it could void
    assert cluster.names.auth[root] == 0
    after(cluster, 10.0)
    assert cluster.names.auth[root] == 1


def test_requests_for_a_directory_away_from_its_parent_go_by_the_parents_rank() -> None:
    cluster = build(scenario(), 1)
    leaf = int(cluster.tree.roots[0]) + 1
    cluster.place(leaf, 1, "")
    after(cluster, 10.0)
    assert cluster.counters.passed[0] == pytest.approx(0.5 * cluster.served[1], rel=0.01)


def through_home(home: int, remembers: int, direct: bool = False) -> float:
    """The part of the lookups in two directories on rank 1 that their parent's rank passes on, with
    mds_forward_all_requests_to_auth. remembers: directories"""
    client = replace(EVERYONE, on=(0, 1), count=1, remembers=remembers)
    volumes = (Subvolumes("vol", 1, directories=(2,)),)
    cluster = build(scenario(clients=(client,), subvolumes=volumes, ranks=Ranks(3, CAPACITY)), 1)
    root = int(cluster.tree.roots[0])
    after(cluster, 5.0)
    cluster.place(root, home, "")
    for leaf in (root + 1, root + 2):
        cluster.place(leaf, 1, "")
    cluster.to_auth, cluster.direct, before = True, direct, cluster.served[1]
    after(cluster, 10.0)
    return float(cluster.counters.passed[home] / (cluster.served[1] - before))


@pytest.mark.parametrize("remembers", [1, 100])
def test_with_the_option_the_parents_rank_passes_on_everything_or_nothing(remembers: int) -> None:
    assert through_home(0, remembers) == pytest.approx(1.0, rel=0.01)
    assert through_home(2, remembers) == pytest.approx(0.0, abs=0.01)
    assert through_home(0, remembers, direct=True) == 0.0


def test_with_the_option_nothing_below_a_subtree_that_moved_is_passed_on() -> None:
    cluster = build(scenario(), 1)
    cluster.to_auth = True
    after(cluster, 5.0)
    cluster.place(int(cluster.tree.roots[0]), 1, "")
    after(cluster, 10.0)
    assert cluster.served[1] > 0.0
    assert cluster.counters.passed.sum() == 0.0


def test_below_a_subtree_that_moved_clients_go_on_asking_the_lowest_rank_that_they_know() -> None:
    cluster = build(scenario(), 1)
    after(cluster, 5.0)
    cluster.place(int(cluster.tree.roots[0]), 1, "")
    before = cluster.served[1]
    after(cluster, 10.0)
    assert cluster.counters.passed[0] == pytest.approx(cluster.served[1] - before, rel=0.01)
    cluster.place(int(cluster.tree.roots[0]), 0, "")
    passed = cluster.counters.passed.sum()
    after(cluster, 10.0)
    assert cluster.counters.passed.sum() == passed


def test_clients_that_forget_directories_learn_where_they_are() -> None:
    forgetful = replace(EVERYONE, on=(0, 1), count=1, remembers=1)
    volumes = (Subvolumes("vol", 1, directories=(2,)),)
    cluster = build(scenario(clients=(forgetful,), subvolumes=volumes), 1)
    after(cluster, 5.0)
    cluster.place(int(cluster.tree.roots[0]), 1, "")
    after(cluster, 10.0)
    assert cluster.served[1] > 0.0
    assert cluster.counters.passed.sum() == 0.0


def test_a_hot_directory_is_replicated_and_clients_draw_one_of_all_ranks() -> None:
    cluster = build(scenario(ranks=Ranks(4, CAPACITY), physics=Physics(replicate=15_000.0)), 1)
    leaf = int(cluster.tree.roots[0]) + 1
    cluster.place(leaf, 1, "")
    after(cluster, 60.0)
    # One of four on a full rank has 250 requests/s: a popularity of 1,803, and ten times that.
    assert cluster.names.replicated[leaf]
    passed, served = cluster.counters.passed.copy(), cluster.served[1]
    after(cluster, 20.0)
    passed = cluster.counters.passed - passed
    assert passed == pytest.approx(
        0.25 * (cluster.served[1] - served) * np.array([1.0, 0.0, 1.0, 1.0]), rel=0.01
    )


def test_who_began_with_a_directory_before_it_was_hot_goes_on_asking_its_own_rank() -> None:
    def passed(hot_before: bool) -> float:
        clients = replace(EVERYONE, on=(0, 1), count=1, uses="scan", files=5000, remembers=1)
        volumes = (Subvolumes("vol", 1, directories=(3,)),)
        cluster = build(scenario(clients=(clients,), subvolumes=volumes), 1)
        root = int(cluster.tree.roots[0])
        cluster.place(root, 1, "")
        cluster.distribute(root, True)
        if not hot_before:
            after(cluster, 1.0)
        cluster.names.replicate(cluster.tree.kids(root))
        after(cluster, 1.0)
        return float(cluster.counters.passed.sum())

    assert passed(hot_before=False) == 0.0
    assert passed(hot_before=True) > 100.0


def test_what_is_made_is_not_replicated_and_a_calm_directory_neither() -> None:
    ceph = Physics(replicate=8000.0)
    made = after(build(scenario(clients=(replace(EVERYONE, does="create"),), physics=ceph), 1), 20.0)
    assert not made.names.replicated.any()
    # 50 requests/s: 361, ten times that, and once more with all below.
    calm = after(build(scenario(clients=(replace(EVERYONE, rate=50.0),), physics=ceph), 1), 60.0)
    assert not calm.names.replicated.any()


def test_a_rank_keeps_replicas_of_what_went_while_requests_waited_and_answers_for_their_names() -> None:
    tree = plant([Part("vol", 1, (1, 2), 100.0)])
    names = Namespace(tree, np.zeros(tree.size, dtype=np.int64))
    upper = int(tree.roots[0]) + 1
    lower = upper + 1
    names.move(upper, 1, 0.0, "")
    names.leave(np.array([lower]), 0, np.array([0.75]))
    asked = np.array([0, 0, 1])
    # Of files nobody has replicas, and only rank 0 had the directory before.
    within, looked_up = np.array([upper, lower, upper]), np.array([lower, lower, lower])
    assert names.holds(asked, within, looked_up).tolist() == [0.75, 0.0, 1.0]
    names.replicate(np.array([lower]))
    assert names.holds(np.array([0]), np.array([upper]), np.array([lower])).tolist() == [1.0]


def test_a_distributed_directorys_names_are_where_its_fragments_are() -> None:
    cluster = build(scenario(), 1)
    group = GROUP
    cluster.distribute(group, True)
    root = int(cluster.tree.roots[0])
    cluster.names.move(root, 1, 0.0, "")
    entries = np.array([group, group, root + 1])
    assert cluster.names.answering(entries, np.array([group, root, root + 1])).tolist() == [0, 1, 1]
    assert cluster.names.home(np.array([root, root + 1])).tolist() == [1, 1]


def test_one_client_alone_gets_all_that_a_rank_can_do() -> None:
    cluster = after(build(scenario(clients=(replace(EVERYONE, on=(0, 1), count=1),)), 1), 10.0)
    assert cluster.served[0] == pytest.approx(CAPACITY * 10.0, rel=0.01)


def test_relief_is_what_a_rank_gains_that_few_clients_ask() -> None:
    alone = after(build(scenario(physics=Physics(relief=0.5)), 1), 10.0)
    assert alone.served[0] == pytest.approx(CAPACITY * 10.0, rel=0.01)
    shared = build(scenario(physics=Physics(relief=0.5)), 1)
    for root in shared.tree.roots[:2].tolist():
        shared.place(root, 1, "")
    shared.to_auth = True
    after(shared, 10.0)
    assert shared.served == pytest.approx([CAPACITY * 12.5] * 2, rel=0.01)


def test_clients_that_ask_all_ranks_relieve_none() -> None:
    def served(relief: float) -> list[float]:
        everyone = replace(EVERYONE, apart=False)
        cluster = build(scenario(physics=Physics(relief=relief), clients=(everyone,)), 1)
        for root in cluster.tree.roots[:2].tolist():
            cluster.place(root, 1, "")
        cluster.to_auth = True
        return [float(x) for x in after(cluster, 10.0).served]

    assert served(0.5) == served(0.0)


def test_a_client_counts_for_ten_seconds_where_it_was() -> None:
    cluster = after(build(scenario(physics=Physics(relief=0.5)), 1), 5.0)
    for root in cluster.tree.roots[:2].tolist():
        cluster.place(root, 1, "")
    cluster.to_auth = True
    threads = cluster.crowd.threads(cluster.crowd.there(cluster.now))
    after(cluster, 5.0)
    assert cluster.contacts.away(threads, cluster.now).tolist() == pytest.approx([0.0, 0.5])
    after(cluster, 6.0)
    assert cluster.contacts.away(threads, cluster.now).tolist() == pytest.approx([0.5, 0.5])


def test_clients_of_a_scan_that_begin_together_drift_apart_the_same_way_for_a_seed() -> None:
    scan = replace(EVERYONE, apart=False, uses="scan", files=50)

    def gone(seed: int) -> list[float]:
        cluster = after(build(scenario(clients=(scan,)), seed), 20.0)
        return [float(x) for x in cluster.crowd.answered]

    first = gone(1)
    assert gone(1) == first
    assert gone(2) != first
    assert len({round(x) for x in first}) == len(first)
    assert sum(first) == pytest.approx(CAPACITY * 20.0, rel=0.02)


def test_clients_that_mount_ask_every_rank_and_that_decays() -> None:
    cluster = after(build(scenario(), 1), 0.25)
    assert cluster.beat().popularity[1] == pytest.approx(4 * cluster.physics.mounting, rel=0.05)
    after(cluster, 5.0)
    assert cluster.beat().popularity[1] == pytest.approx(2 * cluster.physics.mounting, rel=0.05)


def test_what_makes_files_goes_to_the_directorys_own_rank() -> None:
    cluster = build(scenario(clients=(replace(EVERYONE, does="create"),)), 1)
    cluster.place(int(cluster.tree.roots[0]) + 1, 1, "")
    after(cluster, 10.0)
    assert cluster.served[1] > 0.0
    assert cluster.counters.passed.sum() == 0.0


def test_clients_of_a_dead_rank_wait_and_its_cache_is_cold_afterwards() -> None:
    cluster = build(scenario(physics=Physics(takeover=10.0)), 1)
    after(cluster, 5.0)
    cluster.die(0)
    served = cluster.served.sum()
    after(cluster, 9.0)
    assert cluster.served.sum() == served
    after(cluster, 1.25)
    assert cluster.names.cold.any()
    after(cluster, 10.0)
    assert cluster.served.sum() > served
    assert not cluster.names.cold[cluster.crowd.directory].any()


def test_a_stopped_ranks_directories_go_to_rank_0_and_count_as_nobodys_moves() -> None:
    cluster = build(scenario(), 1)
    root = int(cluster.tree.roots[0])
    cluster.place(root, 1, "")
    cluster.stop(1)
    assert (cluster.names.auth == 0).all()
    assert [move.forced for move in cluster.moves] == [False, True]


def test_a_pin_to_a_rank_that_was_stopped_waits_for_it() -> None:
    cluster = build(scenario(), 1)
    root = int(cluster.tree.roots[0])
    cluster.pin(root, 1, "")
    cluster.stop(1)
    after(cluster, 20.0)
    assert (cluster.names.auth[root], cluster.names.pin[root]) == (0, 1)
    cluster.add(1)
    after(cluster, 20.0)
    assert cluster.names.auth[root] == 1


def test_orders_to_ranks_that_are_not_there_down_or_masked_out_are_unsafe() -> None:
    cluster = build(scenario(ranks=Ranks(3, CAPACITY, mask=(0, 1))), 1)
    root = int(cluster.tree.roots[0])
    cluster.pin(root, 2, "")
    cluster.die(1)
    cluster.order([Order(root, 1, ""), Order(root, 7, "")], [0])
    told = [unsafe.what.rpartition(": ")[2] for unsafe in cluster.unsafe]
    assert told == ["it is masked out", "it is down", "there is no such rank"]


def test_popularity_has_the_steady_value_of_cephs_decay_and_goes_along() -> None:
    cluster = after(build(scenario(), 1), 60.0)
    rates = CAPACITY / 4
    assert cluster.counters.popularity[int(cluster.tree.roots[0]) + 1] == pytest.approx(
        rates * 5.0 / np.log(2), rel=0.05
    )
    beat = cluster.beat()
    cluster.place(int(cluster.tree.roots[0]), 1, "")
    assert cluster.beat().popularity[1] == pytest.approx(beat.popularity[0] / 4, rel=0.01)


def test_a_trees_directories_below_one_are_a_range() -> None:
    tree = plant([Part("a", 2, (2, 3), 10.0), Part("b", 1, (), 5.0)])
    assert tree.size == 3 + 2 * 9 + 1
    assert tree.names == ("a0", "a1", "b0")
    for directory in range(1, tree.size):
        above = int(tree.parent[directory])
        assert above < directory < tree.end[above]
        assert directory in tree.kids(above)
    assert tree.leaves(0).size == 6
    assert tree.leaves(2).tolist() == [int(tree.roots[2])]
    assert tree.path(int(tree.leaves(1)[4])) == "/volumes/_nogroup/a1/d1/d1"
    assert tree.inodes[tree.leaves(0)].tolist() == [10.0] * 6


def test_nested_subtrees_stay_when_what_is_above_them_moves() -> None:
    cluster = build(scenario(subvolumes=(Subvolumes("vol", 4, (2, 2)),)), 1)
    root = int(cluster.tree.roots[0])
    inner = int(cluster.tree.kids(root)[0])
    cluster.place(inner, 1, "")
    assert cluster.names.members(root).tolist() == [root, *range(inner + 3, inner + 6)]
    cluster.names.set_pin(int(cluster.tree.kids(root)[1]), 0)
    assert cluster.names.members(root).tolist() == [root]
    heat = cluster.names.below(np.ones(cluster.tree.size))
    assert heat[inner] == 3.0
    assert heat[GROUP] == 1.0 + 3 * 7 + 1.0


def test_what_is_made_anew_is_on_its_parents_rank_without_a_pin() -> None:
    cluster = build(scenario(), 1)
    leaf = int(cluster.tree.roots[0]) + 1
    ino = cluster.names.ino(leaf)
    cluster.place(leaf, 1, "")
    cluster.names.set_pin(leaf, 1)
    cluster.names.remake(leaf, 5.0)
    assert (cluster.names.auth[leaf], cluster.names.pin[leaf]) == (0, -1)
    assert cluster.names.ino(leaf) != ino


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    zipf = replace(EVERYONE, uses="zipf", apart=False, count=20)
    given = scenario(clients=(zipf,), events=(Event(20.0, 1, "slows", 0.5),), seconds=90.0)
    first, second, other = (run(given, "builtin", seed) for seed in (1, 1, 2))
    assert first.loads.tobytes() == second.loads.tobytes()
    assert (first.moves, first.said) == (second.moves, second.said)
    assert first.moves
    assert first.loads.tobytes() != other.loads.tobytes()
