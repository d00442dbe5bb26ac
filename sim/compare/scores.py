# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a policy made of a scenario, beside the oracle, and of all scenarios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mds_partitioner.policy.sandbox.refusals import PolicyError, SandboxError
from sim.course import SAMPLE, Recording, run
from sim.errors import SimError
from sim.measures import answered, factors
from sim.policies.oracle import Oracle
from sim.scenario import Scenario


@dataclass(frozen=True)
class Seen:
    """One run. answered: requests; later: those of the second half; mean, p99: imbalance factor over epochs;
    forwards: for a request answered; unsafe: orders to ranks that are down or masked out."""

    answered: float
    later: float
    mean: float
    p99: float
    moves: float
    inodes: float
    forwards: float
    unsafe: int


@dataclass(frozen=True)
class Cannot:
    """A policy that a scenario has no place for, and why."""

    why: str


def seen(scenario: Scenario, policy: str, seed: int) -> Seen | Cannot:
    """Run it."""
    try:
        return measured(run(scenario, policy, seed))
    except (SimError, PolicyError, SandboxError) as e:
        return Cannot(str(e))


def measured(recording: Recording) -> Seen:
    """What is told of a run."""
    values = factors(recording)
    moves = [move for move in recording.moves if not move.forced]
    return Seen(
        answered=recording.answered,
        later=answered(recording, recording.loads.shape[0] * SAMPLE / 2),
        mean=float(values.mean()),
        p99=float(np.quantile(values, 0.99)),
        moves=float(len(moves)),
        inodes=recording.moved,
        forwards=recording.forwards / max(recording.answered, 1.0),
        unsafe=len(recording.unsafe),
    )


@dataclass(frozen=True)
class Score:
    """A policy on a scenario, the mean over seeds, or over scenarios.

    :ivar part: throughput in parts of the oracle's; later: the same of the second half
    :ivar cost: inodes in times of the oracle's; None: it moved none
    """

    part: float
    later: float
    mean: float
    p99: float
    moves: float
    inodes: float
    cost: float | None
    forwards: float
    unsafe: int


Scores = Mapping[str, Mapping[str, Score | Cannot]]  # by scenario and policy


def score(runs: Sequence[Seen | Cannot], oracle: Sequence[Seen | Cannot]) -> Score | Cannot:
    """Of a scenario's seeds, and of the oracle's runs from the same."""
    refused = [one for one in (*runs, *oracle) if isinstance(one, Cannot)]
    if refused:
        return refused[0]
    own = [one for one in runs if isinstance(one, Seen)]
    best = [one for one in oracle if isinstance(one, Seen)]
    inodes, needed = (float(np.mean([one.inodes for one in ones])) for ones in (own, best))
    return Score(
        part=geometric([a.answered / max(b.answered, 1.0) for a, b in zip(own, best, strict=True)]),
        later=geometric([a.later / max(b.later, 1.0) for a, b in zip(own, best, strict=True)]),
        mean=float(np.mean([one.mean for one in own])),
        p99=float(np.mean([one.p99 for one in own])),
        moves=float(np.mean([one.moves for one in own])),
        inodes=inodes,
        cost=inodes / needed if needed else None,
        forwards=float(np.mean([one.forwards for one in own])),
        unsafe=sum(one.unsafe for one in own),
    )


def summary(scores: Scores, policy: str) -> Score | Cannot:
    """Of all scenarios that the policy can run in: throughput's geometric mean, moves' and inodes' sum, the
    mean of all else."""
    own = [one for one in (found[policy] for found in scores.values()) if isinstance(one, Score)]
    if not own:
        return Cannot("in none of the scenarios")
    costs = [one.cost for one in own if one.cost is not None]
    return Score(
        part=geometric([one.part for one in own]),
        later=geometric([one.later for one in own]),
        mean=float(np.mean([one.mean for one in own])),
        p99=float(np.mean([one.p99 for one in own])),
        moves=sum(one.moves for one in own),
        inodes=sum(one.inodes for one in own),
        cost=float(np.mean(costs)) if costs else None,
        forwards=float(np.mean([one.forwards for one in own])),
        unsafe=sum(one.unsafe for one in own),
    )


def geometric(values: Sequence[float]) -> float:
    """Geometric mean; 0 when a value is."""
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(values).mean()))


def scored(
    scenarios: Sequence[Scenario],
    policies: Sequence[str],
    seeds: Sequence[int],
    runs: Mapping[tuple[str, tuple[str, int]], Seen | Cannot],
) -> dict[str, dict[str, Score | Cannot]]:
    """From all runs, by scenario, policy and seed."""

    def of(scenario: Scenario, policy: str) -> list[Seen | Cannot]:
        return [runs[scenario.name, (policy, seed)] for seed in seeds]

    return {
        scenario.name: {policy: score(of(scenario, policy), of(scenario, Oracle.name)) for policy in policies}
        for scenario in scenarios
    }
