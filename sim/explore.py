# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scenarios that nobody wrote: drawn from a seed, with a policy beside doing nothing and Ceph's balancer.

The library asks what somebody thought of. Here clusters, trees, loads, and what befalls ranks are drawn. A
policy must not be worse than both rivals, must order nothing unsafe, and must come to rest.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sim.course import Recording, run
from sim.draw import draw
from sim.load.clients import Clients, Does, Surge, Swing
from sim.markdown import table
from sim.parallel import Job, each
from sim.scenario import Assertions, Event, Ranks, Scenario, Subvolumes

RIVALS = ("nothing", "builtin")
WORSE = 0.9  # of the better rival's requests in the second half: with less a policy has done harm
SECONDS = 600.0
OFTEN = 4  # times that one directory may move
Uses = Literal["uniform", "zipf", "hot", "scan", "churn"]
DOES: tuple[Does, ...] = ("read", "read", "create", "update")
USES: tuple[Uses, ...] = ("uniform", "uniform", "zipf", "zipf", "hot", "scan", "churn")


@dataclass(frozen=True)
class Found:
    """What became of one scenario.

    :ivar parts: requests that clients got through with the policy, in parts of those with each rival, in the
        whole run
    :ivar later: the same in its second half
    :ivar problem: what must not be; "" for nothing
    """

    scenario: Scenario
    own: Recording
    parts: dict[str, float]
    later: dict[str, float]
    problem: str


def drawn(seed: int) -> Scenario:
    """A scenario. The same seed gives the same one."""
    rng = random.Random(seed)
    ranks = rng.choice([2, 3, 4, 5, 8, 12])
    alike = rng.random() < 0.7
    capacity = tuple(1100.0 if alike else rng.choice([550.0, 1100.0, 2200.0]) for _ in range(ranks))
    kinds = tuple(_subvolumes(rng, number, ranks) for number in range(rng.choice([1, 1, 2, 3])))
    clients, first = list[Clients](), 0
    for kind in kinds:
        clients.append(_clients(rng, kind, first, ranks))
        first += kind.count
    return Scenario(
        about=f"Drawn from {seed}.",
        policy="scheduler",
        fails_with=("nothing",),
        seconds=SECONDS,
        ranks=Ranks(count=ranks, capacity=capacity, to_auth=True),
        subvolumes=kinds,
        clients=tuple(clients),
        must=Assertions(),
        seeds=(seed,),
        events=tuple(_events(rng, ranks)),
        name=f"drawn-{seed}",
    )


def _subvolumes(rng: random.Random, number: int, ranks: int) -> Subvolumes:
    return Subvolumes(
        name=f"kind{number}",
        count=rng.choice([1, 2, 6, 20, 60]),
        directories=rng.choice([(1,), (8,), (40,), (4, 6)]),
        inodes=rng.choice([20.0, 200.0, 1000.0]),
        rank=rng.choice([0, 0, "spread", rng.randrange(ranks)]),
    )


def _clients(rng: random.Random, kind: Subvolumes, first: int, ranks: int) -> Clients:
    directories = kind.count * math.prod(kind.directories)
    think = rng.choice([0.0, 0.01, 0.05, 0.2])
    uses = rng.choice(USES)
    begins = rng.choice([0.0, 0.0, 60.0, 150.0])
    changes = rng.random()
    return Clients(
        name=f"of {kind.name}",
        on=(first, first + kind.count),
        apart=rng.random() < 0.5 and uses != "hot",
        count=max(1, round(rng.choice([1, 2, 4, 8]) * ranks)),
        threads=rng.choice([1, 2, 4]),
        think=think,
        uses=uses,
        zipf=rng.choice([0.7, 1.0, 1.3]),
        hot=max(1, min(directories, rng.choice([1, ranks, 3 * ranks]))),
        jumps=rng.choice([45.0, 120.0, float("inf")]),
        files=rng.choice([50, 400]),
        does=rng.choice(DOES),
        begins=begins,
        swing=Swing(rng.choice([100.0, 300.0]), 0.1, rng.random()) if changes < 0.15 else None,
        surges=(Surge(200.0, 260.0, rng.choice([0.0, 3.0])),) if changes > 0.8 else (),
    )


def _events(rng: random.Random, ranks: int) -> Iterator[Event]:
    if rng.random() < 0.2:
        yield Event(rng.uniform(50.0, 250.0), rng.randrange(ranks), "slows", rng.choice([0.3, 0.6]))
    if ranks > 2 and rng.random() < 0.15:
        yield Event(rng.uniform(50.0, 250.0), rng.randrange(1, ranks), "dies")


def explore(seeds: Sequence[int], policy: str, out: Path, workers: int) -> tuple[str, int]:
    """A table of those that are worst, and how many must not be.

    :param workers: runs at once; 0: one a core
    """
    scenarios = [replace(drawn(seed), policy=policy) for seed in seeds]
    jobs: list[tuple[Scenario, Job]] = [(s, (p, s.seeds[0])) for s in scenarios for p in (policy, *RIVALS)]
    recordings = each(jobs, run, workers)
    found = [
        _found(s, {p: recordings[s.name, (p, s.seeds[0])] for p in (policy, *RIVALS)}) for s in scenarios
    ]
    bad = [one for one in found if one.problem]
    for one in bad:
        out.mkdir(parents=True, exist_ok=True)
        draw(one.own, out / f"{one.scenario.name}-{policy}.png")
    worst = sorted(found, key=lambda f: (not f.problem, min(f.later.values())))
    titles = (
        "scenario",
        *(f"/ {rival}{when}" for when in ("", " later") for rival in RIVALS),
        "moves",
        "problem",
    )
    return f"{table(titles, map(_row, worst))}\n\n{len(found)} scenarios, {len(bad)} must not be", len(bad)


def _found(scenario: Scenario, runs: dict[str, Recording]) -> Found:
    own = runs[scenario.policy]
    parts = {rival: own.answered / max(1.0, runs[rival].answered) for rival in RIVALS}
    later = {rival: _later(own) / max(1.0, _later(runs[rival])) for rival in RIVALS}
    often = Counter(move.directory for move in own.moves if not move.forced)
    problem = ""
    if own.unsafe:
        problem = "something was ordered to a rank that is down, or not there"
    elif min(later.values()) < WORSE:
        problem = f"clients got through {min(later.values()):.2f} of what they do with a rival"
    elif often and max(often.values()) > OFTEN:
        problem = f"one directory moved {max(often.values())} times"
    return Found(scenario, own, parts, later, problem)


def _later(recording: Recording) -> float:
    """Requests of the second half."""
    return float(recording.loads[len(recording.loads) // 2 :].sum())


def _row(found: Found) -> tuple[str, ...]:
    parts = (f"{each[rival]:.2f}" for each in (found.parts, found.later) for rival in RIVALS)
    return found.scenario.name, *parts, str(len(found.own.moves)), found.problem
