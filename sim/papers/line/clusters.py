# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clusters as large as LINE's two (slide "CephFS Clusters in LINE"): 30 and 36 ranks, 3,000 subvolumes."""

import math
from typing import Final

import numpy as np
from scipy.stats import norm

from sim.load.clients import Clients
from sim.model.arrays import Floats
from sim.model.physics import Physics
from sim.papers.line.evaluation import CAPACITY, FILES, Phase, Run
from sim.scenario import Assertions, Ranks, Scenario, Subvolumes

RANKS: Final = (30, 36)
SUBVOLUMES: Final = 3_000
SMALL: Final = 1_000_000  # rentries at most, in
SMALL_PART: Final = 0.985  # of the subvolumes (slide "rentries Distribution")
# Not in the slides, assumed.
MEDIAN: Final = 20_000  # rentries; with the line above this is the spread of a lognormal distribution
USED: Final = 0.1  # of the rentries: the working set
BUSY: Final = 0.5  # of all ranks' capacity, if nobody has to wait
THREADS: Final = 4  # of a subvolume's clients
SECONDS: Final = 1_200.0
SEED: Final = 1
MOVES: Final = 16  # max_moves: a cluster of this size would be told so
# What is laid side by side, by the simulator's names.
POLICIES: Final = {"nothing": "pinned one after the other", "builtin": "the balancer", "plan": "`partition`"}


def drawn(seed: int) -> tuple[Floats, Floats]:
    """(subvolumes,) each: rentries, and requests in parts of all; they have nothing to do with each other."""
    sigma = math.log(SMALL / MEDIAN) / float(norm.ppf(SMALL_PART))
    rng = np.random.default_rng(seed)
    rates = rng.lognormal(0.0, sigma, SUBVOLUMES)
    return rng.lognormal(math.log(MEDIAN), sigma, SUBVOLUMES), np.asarray(rates / rates.sum())


def scenario(ranks: int, seed: int) -> Scenario:
    """Subvolumes one after the other over all ranks."""
    subvolumes, clients = [], []
    for number, (size, part) in enumerate(zip(*(each.tolist() for each in drawn(seed)), strict=True)):
        directories = max(1, round(size / FILES))
        name = f"s{number}-"
        subvolumes.append(Subvolumes(name, 1, (directories,), USED * size / directories, number % ranks))
        think = THREADS / (part * BUSY * CAPACITY * ranks)
        clients.append(Clients(name, (number, number + 1), threads=THREADS, think=think))
    return Scenario(
        about=f"a cluster of {ranks} ranks",
        policy="plan",
        fails_with=("nothing",),
        seconds=SECONDS,
        ranks=Ranks(count=ranks, capacity=CAPACITY),
        subvolumes=tuple(subvolumes),
        clients=tuple(clients),
        must=Assertions(),
        physics=Physics(step=0.5),
        options={"rank_capacity": CAPACITY, "max_moves": MOVES},
        name=f"line-{ranks}",
    )


def play(ranks: int, policy: str) -> Phase:
    """One policy on one cluster, all the time."""
    run = Run(scenario(ranks, SEED), SEED)
    return run.go(policy, run.policy(policy), SECONDS)


def busiest(phase: Phase, since: int, until: int) -> float:
    """The busiest rank's requests over the mean, between two seconds."""
    loads = phase.loads[since:until].mean(axis=0)
    return float(loads.max() / loads.mean())


def fullest_cache(phase: Phase) -> float:
    """The inodes of the rank that has most, over the mean, at the end."""
    return float(phase.cached[-1].max() / phase.cached[-1].mean())


def moved_late(phase: Phase) -> int:
    """Moves in the last third."""
    return sum(move.time > SECONDS * 2 / 3 for move in phase.moves)
