# SPDX-License-Identifier: LGPL-2.1-or-later
"""LINE's evaluation: caches with a limit, pins by workload, the balancer within a mask."""

import numpy as np
import pytest

from sim.papers.line import evaluation
from sim.papers.line.cache import cold_after
from sim.papers.line.evaluation import MASKED, PINNED, Run, pin, scenario
from sim.policies.builtin import match


def test_a_rank_drops_what_is_above_its_limit_and_nothing_else() -> None:
    auth = np.array([0, 0, 1, 2, 3])
    inodes = np.array([600.0, 400.0, 500.0, 1800.0, 100.0])
    cold = np.array([0.0, 100.0, 50.0, 0.0, 40.0])
    found = cold_after(auth, inodes, cold, 450.0, 4)
    # Rank 0 had 600 + 300 cached and keeps half of each, rank 1 had just its limit, rank 2 keeps a quarter,
    # rank 3 has room.
    assert found == pytest.approx([300.0, 250.0, 50.0, 1350.0, 40.0])


def test_the_files_are_lines() -> None:
    tree = Run(scenario(10.0), 1).cluster.tree
    files = [tree.inodes[tree.leaves(k)].sum() for k in range(42)]
    assert files == [50_000] * 20 + [500_000] * 20 + [5_000_000] * 2
    # 2 x 2 + 18 x 4 threads, twice; 16 x 2 and 16 x 4 in the heavy clients.
    assert evaluation.threads() == 2 * 76 + 96


def test_pins_put_what_is_not_heavy_on_the_chosen_ranks_evenly() -> None:
    run = Run(scenario(420.0), 1)
    run.go("loaded", None, 20.0)
    pin(run.cluster, PINNED)
    run.go("pinned", None, 400.0)
    tree, auth = run.cluster.tree, run.cluster.names.auth
    ranks = [int(auth[leaf]) for k in range(40) for leaf in tree.leaves(k)]
    assert set(ranks) == set(PINNED)
    moderate = [int(auth[tree.roots[k]]) for k in range(20, 40)]
    assert all(3 <= moderate.count(rank) <= 7 for rank in PINNED)
    assert all(auth[leaf] == 0 for k in (40, 41) for leaf in tree.leaves(k))


def test_the_balancer_keeps_to_its_mask() -> None:
    run = Run(scenario(200.0), 1)
    run.cluster.masked[list(PINNED)] = True
    found = run.go("masked", run.policy("builtin"), 200.0)
    targets = {move.target for move in found.moves}
    assert targets and targets <= set(MASKED)
    assert not run.cluster.unsafe


def test_ranks_outside_the_mask_export_all_and_import_nothing() -> None:
    load, target = np.array([30.0, 0.0, 100.0, 10.0]), np.array([0.0, 0.0, 70.0, 70.0])
    found = match(load, target, [1, 0, 2], {}, odd=True)
    assert found.by_rank == {2: {3: 30.0}, 0: {3: 30.0}}
