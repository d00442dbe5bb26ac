# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many requests a second everybody gets through: ranks as queues, clients in closed and open loops.

Mean values only, as in approximate mean value analysis (Bard 1979, Schweitzer 1979): a request waits for
those it finds in its rank, and a closed-loop thread asks again when it was answered and has thought.
"""

from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Bools, Floats, Ints, sums

ROUNDS = 4  # of the fixed point; each step of time begins where the last one ended
SLOWEST = 1e-6  # req/s of a rank that is wholly taken by exports


@dataclass(frozen=True)
class Demand:
    """What clients want in a step. (groups,): threads that may ask, think time in s, open-loop arrivals in
    req/s. (entries,), one a directory that a group uses: the group, its part of the group's requests, the
    rank that answers, another that is asked first, the part for which it is, the work of one request, and
    whether nobody answers now."""

    threads: Floats
    think: Floats
    arrivals: Floats
    group: Ints
    part: Floats
    rank: Ints
    detour: Ints
    detours: Floats
    work: Floats
    blocked: Bools


@dataclass(frozen=True)
class Flow:
    """What comes of it. (entries,) answered: closed-loop requests/s; stuck: threads/s that meet a directory
    that does not answer; arriving: open-loop requests/s. (ranks,) wait: s, of a request; load: work/s of
    closed-loop requests; inside: requests that wait or are served."""

    answered: Floats
    stuck: Floats
    arriving: Floats
    wait: Floats
    load: Floats
    inside: Floats


def flow(
    demand: Demand, wait: Floats, capacity: Floats, backlog: Floats, forward_work: float, dt: float
) -> Flow:
    """Solve one step.

    :param wait: (ranks,) s, as the last step left it
    :param capacity: (ranks,) work/s that exports leave for requests
    :param backlog: (ranks,) open-loop requests that wait
    :param dt: s
    """
    rank, group, ranks = demand.rank, demand.group, capacity.size
    speed = np.maximum(capacity, SLOWEST)
    free = ~demand.blocked
    reach = np.where(free, demand.part, 0.0)
    blocked = sums(group, np.where(free, 0.0, demand.part), demand.threads.size)
    # What is met by a thread that asks: all others, less itself.
    others = 1.0 - 1.0 / max(1.0, float(demand.threads.sum()))
    load = inside = np.zeros(ranks)
    asked = np.zeros(group.size)
    for _ in range(ROUNDS):
        spent = reach * (wait[rank] + demand.detours * wait[demand.detour])
        cycle = demand.think + sums(group, spent, demand.threads.size)
        rate = np.divide(demand.threads, cycle, out=np.zeros_like(cycle), where=cycle > 0.0)
        # When some directories do not answer, a thread asks until it meets one of them.
        most = np.divide(demand.threads, blocked * dt, out=np.full_like(cycle, np.inf), where=blocked > 0.0)
        asked = np.minimum(rate, most)[group] * demand.part
        answered = np.where(free, asked, 0.0)
        passed = answered * demand.detours
        load = sums(rank, answered * demand.work, ranks) + sums(demand.detour, passed * forward_work, ranks)
        inside = load * wait
        wait = (1.0 + others * inside + backlog) / speed
    fit = np.minimum(1.0, np.divide(speed, load, out=np.ones(ranks), where=load > 0.0))
    return Flow(
        answered=answered * fit[rank],
        stuck=np.where(free, 0.0, asked),
        arriving=demand.arrivals[group] * demand.part,
        wait=wait,
        load=load * fit,
        inside=inside,
    )
