# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler is told late, it knows late."""

from dataclasses import replace

import numpy as np
import pytest

from mds_partitioner.schedule.core.view import Piece
from mds_partitioner.schedule.watch import CALM
from sim.course import build, run
from sim.model.cluster import Cluster
from sim.policies.answers import Answers
from sim.policies.base import DEFAULTS, Context
from sim.policies.scheduler import Schedule
from sim.scenario import Ranks, Subvolumes
from tests.unit.sim.test_model import CAPACITY, EVERYONE, after, scenario

HEAVY = scenario(
    subvolumes=(Subvolumes("vol", 1, directories=(12,), inodes=100.0),),
    clients=(replace(EVERYONE, on=(0, 1), apart=False),),
    seconds=60.0,
)


def test_without_delay_what_is_now_is_known() -> None:
    cluster, answers = after(build(scenario(), 1), 10.0), Answers(0.0)
    root = int(cluster.tree.roots[0])
    cluster.names.freeze(root, cluster.names.members(root))
    told = answers.popularity(cluster)
    assert told is not None and told.at == cluster.now
    assert told.popularity.tolist() == cluster.counters.popularity.tolist()
    assert answers.read(cluster, root)


def test_popularity_is_as_old_as_answers_are_late() -> None:
    cluster, answers = build(scenario(), 1), Answers(7.0)
    asked, told = [], []
    for _ in range(5):
        after(cluster, 5.0)
        asked.append(cluster.counters.popularity.tolist())
        told.append(answers.popularity(cluster))
    assert told[:2] == [None, None]
    assert [one.at for one in told[2:] if one is not None] == [5.0, 10.0, 15.0]
    assert [one.popularity.tolist() for one in told[2:] if one is not None] == asked[:3]


def test_nothing_is_told_of_what_is_frozen() -> None:
    cluster, answers = after(build(scenario(), 1), 5.0), Answers(2.0)
    root = int(cluster.tree.roots[0])
    answers.popularity(cluster)
    before = cluster.counters.popularity.copy()
    assert not answers.read(cluster, root)
    cluster.names.freeze(root, cluster.names.members(root))
    after(cluster, 3.0)
    answers.popularity(cluster)
    assert not answers.read(cluster, root)
    cluster.names.thaw(root, cluster.names.members(root))
    after(cluster, 3.0)
    told = answers.popularity(cluster)
    assert told is not None and told.at == 8.0
    assert told.popularity[root + 1] == before[root + 1]
    leaf = int(cluster.tree.roots[1]) + 1
    assert told.popularity[leaf] != before[leaf]
    assert answers.read(cluster, root)


def looks(late: float, cluster: Cluster) -> list[dict[str, Piece]]:
    """What the scheduler is shown, second by second."""
    policy, found = Schedule(Context((), 1, None, DEFAULTS, {"late": late})), []
    cluster.to_auth = True
    for _ in range(90):
        for pin in policy.decide(cluster).pins:
            cluster.pin(pin.directory, pin.rank, pin.why)
        found.append({piece.path: piece for piece in policy.seen.pieces})
        after(cluster, 1.0)
    return found


def test_parts_of_what_is_split_are_known_late() -> None:
    root = "/volumes/_nogroup/vol0"
    for late in (0.0, 10.0):
        shown = looks(late, after(build(HEAVY, 1), 30.0))
        assert {len(pieces) for pieces in shown if pieces} == {1, 13}
        waits = [pieces[root] for pieces in shown if root in pieces and pieces[root].unknown]
        assert len(waits) == pytest.approx(late, abs=1.0)
        assert sum(piece.requests for piece in shown[-1].values()) > 1.8 * CAPACITY


def test_what_has_moved_has_no_load_until_its_new_rank_tells_of_it() -> None:
    cluster = build(scenario(ranks=Ranks(2, CAPACITY)), 1)
    policy = Schedule(Context((), 1, None, DEFAULTS, {"late": 5.0}))
    after(cluster, 30.0)
    policy.decide(cluster)
    after(cluster, 5.0)
    root = int(cluster.tree.roots[0])
    cluster.place(root, 1, "")
    policy.decide(cluster)
    assert [piece.requests for piece in policy.seen.pieces if piece.rank == 1] == [0.0]
    for _ in range(int(CALM / 5.0) + 2):  # ranks are asked as seldom where something is under way
        after(cluster, 5.0)
        policy.decide(cluster)
    assert next(piece.requests for piece in policy.seen.pieces if piece.ino == cluster.names.ino(root)) > 0.0


def test_a_delay_changes_when_it_moves_and_not_what_comes_of_it() -> None:
    at_once = run(scenario(seconds=120.0), "scheduler", 1)
    late = run(scenario(seconds=120.0, policies={"scheduler": {"late": 10.0}}), "scheduler", 1)
    assert min(move.time for move in late.moves) > min(move.time for move in at_once.moves)
    for recording in (at_once, late):
        assert np.ptp(recording.loads[-1]) < 0.1 * CAPACITY


def test_ranks_that_something_moves_between_are_asked_as_seldom_as_in_the_module() -> None:
    """None of its orders is carried out here."""
    cluster, policy = build(scenario(), 1), Schedule(Context((), 1, None, DEFAULTS, {}))
    found = []
    for _ in range(15):
        after(cluster, 5.0)
        policy.decide(cluster)
        told = policy.seen.told
        found.append(told is None or any(p.rank == 0 and p.ino in told for p in policy.seen.pieces))
    first = found.index(False)
    assert all(found[:first])
    assert found[first:].index(True) >= CALM / 5.0 - 2
