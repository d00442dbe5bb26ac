# SPDX-License-Identifier: LGPL-2.1-or-later
"""The papers' systems on the simulator's clusters: who answers, and what that costs everybody."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mds_partitioner.schedule.core.lookup_table import LookupTable
from sim.course import Recording, run
from sim.errors import SimError
from sim.load.clients import Clients
from sim.model.tree import Part, plant
from sim.papers.ilt.ilt_policy import DESIGN, handed_out
from sim.papers.line.masked_policy import masked_ranks
from sim.papers.tpps.parc_policy import setting_of
from sim.papers.tpps.setting import Setting
from sim.papers.tpps.subtree_policy import namenodes
from sim.policies.service import hashed
from sim.scenario import Event, Ranks, Scenario, Subvolumes
from tests.unit.sim.test_model import CAPACITY, scenario

SERVERS = 4
ONE_DIRECTORY = Clients(name="crowd", on=(0, 1), count=20)


def small(**changes: Any) -> Scenario:
    """Sixteen subvolumes on the first of four ranks, all of them used alike."""
    everyone = Clients(name="all", on=(0, 16), apart=True, count=16)
    usual = scenario(
        ranks=Ranks(SERVERS, CAPACITY), subvolumes=(Subvolumes("vol", 16, inodes=400.0),), clients=(everyone,)
    )
    return replace(usual, **changes)


def rate(recording: Recording, since: int = 20) -> float:
    """req/s of all ranks."""
    return float(recording.loads[since:].sum(axis=1).mean())


def test_of_each_directory_files_are_where_their_hash_says() -> None:
    tree = plant([Part("vol", 3, (2,), 10.0)])
    parts = hashed(tree, 4, lambda path: int(path.rpartition("/f")[2]))
    assert parts.sum(axis=1) == pytest.approx(np.ones(tree.size))
    assert parts[tree.leaves(0)[0]] == pytest.approx([0.3, 0.3, 0.2, 0.2])


@pytest.mark.parametrize("policy", ["vesta", "lh3", "tpps-hash"])
def test_hashing_takes_a_hot_directory_apart_and_moves_nothing(policy: str) -> None:
    found = run(small(clients=(ONE_DIRECTORY,)), policy, 1)
    assert rate(found) > 0.85 * SERVERS * CAPACITY  # 400 paths do not hash quite evenly
    assert not found.moves and not found.unsafe


def test_by_subtree_a_hot_directory_has_one_server() -> None:
    assert rate(run(small(clients=(ONE_DIRECTORY,)), "tpps-subtree", 1)) == pytest.approx(CAPACITY, rel=0.01)
    assert rate(run(small(), "tpps-subtree", 1)) > 0.95 * SERVERS * CAPACITY


def test_neighbours_are_on_one_namenode_and_each_has_as_many() -> None:
    tree = plant([Part("vol", 20, (3,), 10.0)])
    found = namenodes(tree, 5)
    assert (np.diff(found) >= 0).all()
    files = np.concatenate([tree.leaves(k) for k in range(20)])
    assert np.bincount(found[files]).tolist() == [12] * 5


def test_what_every_server_writes_none_is_quicker_for() -> None:
    makers = Clients(name="makers", on=(0, 16), apart=True, count=16, does="create")
    assert rate(run(small(clients=(makers,)), "ilt", 1)) == pytest.approx(CAPACITY, rel=0.02)
    entered_twice = rate(run(small(clients=(makers,)), "lh3", 1))
    assert entered_twice <= SERVERS * CAPACITY / 2.0
    assert rate(run(small(clients=(makers,)), "vesta", 1)) > 1.5 * entered_twice


def test_access_times_are_written_everywhere() -> None:
    most = SERVERS * CAPACITY / (1.0 + SERVERS * DESIGN.access_time_updates)
    assert 0.6 * most < rate(run(small(), "ilt", 1)) <= most


def test_open_loops_get_no_more_than_replicated_writes_leave() -> None:
    devices = Clients(name="devices", on=(0, 16), apart=True, count=16, rate=SERVERS * CAPACITY / 16)
    most = SERVERS * CAPACITY / (1.0 + SERVERS * DESIGN.access_time_updates)
    assert rate(run(small(clients=(devices,)), "ilt", 1)) == pytest.approx(most, rel=0.05)
    assert rate(run(small(clients=(devices,)), "tpps-subtree", 1)) == pytest.approx(
        SERVERS * CAPACITY, rel=0.05
    )


def test_the_layer_answers_for_what_is_hot_and_fits() -> None:
    cached = run(small(clients=(ONE_DIRECTORY,)), "parc", 1)
    # A hit is half of a look-up, on any server.
    assert rate(cached, since=40) > 0.8 * SERVERS * CAPACITY / Setting().probe
    # What does not fit is asked for twice.
    assert rate(run(small(), "parc", 1)) < 0.75 * SERVERS * CAPACITY


def test_the_layers_cache_has_the_papers_part_of_all_files() -> None:
    found = setting_of(4, 50_000)
    assert (found.namenodes, found.files, found.cache, found.ghost) == (4, 50_000, 4_000, 1_000)


@pytest.mark.parametrize("policy", ["vesta", "ilt", "parc"])
def test_requests_for_a_dead_server_wait_and_are_answered(policy: str) -> None:
    devices = Clients(name="devices", on=(0, 16), apart=True, count=16, rate=20.0, ends=90.0)
    dies = Event(at=30.0, rank=2, what="dies")
    found = run(small(seconds=120.0, clients=(devices,), events=(dies,)), policy, 1)
    assert not found.loads[35:55, 2].any()
    assert found.answered == pytest.approx(16 * 20.0 * 90.0, rel=1e-3)


def test_entries_of_a_dead_server_go_to_the_others_in_turns() -> None:
    table = LookupTable.round_robin(9, 3)
    after = table.moved(handed_out(table, [0, 2]))
    assert after.owners == (0, 0, 2, 0, 2, 2, 0, 0, 2)
    assert handed_out(after, [0, 2]) == []


@pytest.mark.parametrize("policy", ["ilt", "vesta", "lh3", "tpps-subtree", "tpps-hash", "parc"])
def test_what_a_service_has_no_place_for_is_refused(policy: str) -> None:
    pinned = replace(small().subvolumes[0], pinned=True)
    masked = replace(small().ranks, mask=(0, 1))
    grown = replace(small().ranks, more=1)
    added = Event(at=10.0, rank=SERVERS, what="is added")
    for other, what in (
        (small(subvolumes=(pinned,)), "pins"),
        (small(ranks=masked), "mask"),
        (small(ranks=grown, events=(added,)), "servers that come"),
    ):
        with pytest.raises(SimError, match=what):
            run(other, policy, 1)


def test_line_pins_each_subvolume_once_and_evenly() -> None:
    found = run(small(seconds=120.0), "line-static", 1)
    assert [move.why for move in found.moves] == ["pin"] * 12
    loads = found.loads[100:].mean(axis=0)
    assert loads.min() > 0.9 * loads.max()
    assert found.forwards > 0.0  # clients go on asking the rank that they mounted from


def test_line_leaves_heavy_subvolumes_to_the_balancer_within_the_mask() -> None:
    heavy = Clients(name="heavy", on=(16, 17), count=60)
    light = replace(small().clients[0], threads=1, think=0.02)
    found = run(
        small(
            seconds=240.0,
            subvolumes=(*small().subvolumes, Subvolumes("heavy", 1, (32,), 100.0)),
            clients=(light, heavy),
        ),
        "line-masked",
        1,
    )
    targets = {"light": set[int](), "heavy": set[int]()}
    for move in found.moves:
        targets["heavy" if "heavy" in found.paths[move.directory] else "light"].add(move.target)
    assert targets["light"] and targets["heavy"]
    assert not targets["light"] & targets["heavy"]
    assert min(targets["heavy"]) > max(targets["light"])


@pytest.mark.parametrize(
    ("part", "ranks", "others", "expected"),
    [(0.0, 8, True, 0), (0.5, 8, True, 4), (0.99, 8, True, 7), (1.0, 8, False, 8), (0.01, 8, True, 1)],
)
def test_the_mask_is_as_large_as_the_heavy_part(part: float, ranks: int, others: bool, expected: int) -> None:
    assert masked_ranks(part, ranks, others) == expected
