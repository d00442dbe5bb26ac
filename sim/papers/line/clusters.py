# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clusters as large as LINE's two (slide "CephFS Clusters in LINE"): 30 and 36 ranks, 3,000 subvolumes."""

import math
from itertools import product
from typing import Final

import numpy as np
from scipy.stats import norm

from sim.course import Recording, run
from sim.load.clients import Clients
from sim.measures import fullest
from sim.model.arrays import Floats
from sim.model.physics import Physics
from sim.papers.line.evaluation import CAPACITY, FILES
from sim.scenario import Assertions, Ranks, Scenario, Subvolumes

RANKS: Final = (30, 36)
SUBVOLUMES: Final = 3_000
SMALL: Final = 1_000_000  # rentries at most, in
SMALL_PART: Final = 0.985  # of the subvolumes (slide "rentries Distribution")
# Not in the slides, assumed.
MEDIAN: Final = 20_000  # rentries; with the line above this is the spread of a lognormal distribution
SIZES: Final = 30  # classes
RATES: Final = 10  # classes: every size has subvolumes of every rate
BUSY: Final = 0.5  # of all ranks' capacity
SECONDS: Final = 900.0
# What is laid side by side, by the simulator's names.
POLICIES: Final = {"nothing": "pinned one after the other", "builtin": "the balancer", "plan": "`partition`"}


def quantiles(classes: int) -> Floats:
    """(classes,): the middle of each of so many equal parts of a lognormal distribution of median 1."""
    sigma = math.log(SMALL / MEDIAN) / norm.ppf(SMALL_PART)
    return np.asarray(np.exp(sigma * norm.ppf((np.arange(classes) + 0.5) / classes)))


def scenario(ranks: int) -> Scenario:
    """Subvolumes one after the other over all ranks; how large one is says nothing about how busy it is."""
    each = SUBVOLUMES // (SIZES * RATES)
    sizes, rates = MEDIAN * quantiles(SIZES), quantiles(RATES)
    scale = BUSY * CAPACITY * ranks / (rates.sum() * each * SIZES)
    subvolumes, clients = [], []
    for number, (size, rate) in enumerate(product(range(SIZES), range(RATES))):
        directories = max(1, round(sizes[size] / FILES))
        name = f"s{size}r{rate}-"
        subvolumes.append(Subvolumes(name, each, (directories,), float(sizes[size]) / directories, "spread"))
        on = (number * each, (number + 1) * each)
        clients.append(Clients(name, on, apart=True, count=each, rate=float(rates[rate] * scale)))
    return Scenario(
        about=f"a cluster of {ranks} ranks",
        policy="plan",
        fails_with="nothing",
        seconds=SECONDS,
        ranks=Ranks(count=ranks, capacity=CAPACITY),
        subvolumes=tuple(subvolumes),
        clients=tuple(clients),
        must=Assertions(),
        physics=Physics(step=0.5),
        options={"rank_capacity": CAPACITY},
        name=f"line-{ranks}",
    )


def play(ranks: int, policy: str) -> Recording:
    return run(scenario(ranks), policy, 1)


def fullest_before_and_after(recording: Recording) -> tuple[float, float]:
    """The busiest rank's load over the mean: in the first minute, in the last two."""
    found = fullest(recording)
    return float(found[1:6].mean()), float(found[-12:].mean())


def moved_late(recording: Recording) -> int:
    """Moves in the last third."""
    return sum(move.time > SECONDS * 2 / 3 for move in recording.moves)
