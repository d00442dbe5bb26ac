# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many requests a second everybody gets through: ranks as queues, clients in closed and open loops.

Mean values only, as in approximate mean value analysis (Bard 1979, Schweitzer 1979): a request waits for
those it finds in its rank, never its own thread's, and a closed-loop thread asks again when it was answered
and has thought.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sim.model.arrays import Floats, Ints, sums

ROUNDS = 4  # of the fixed point; each step of time begins where the last one ended
SLOWEST = 1e-6  # req/s of a rank that is wholly taken by exports


class Ways(Protocol):
    """Where the groups' requests go. (groups,) blocked: the part that nobody answers now. (visits,) group,
    rank: which group asks which rank."""

    @property
    def blocked(self) -> Floats: ...

    @property
    def group(self) -> Ints: ...

    @property
    def rank(self) -> Ints: ...

    def waits(self, near: Floats, wait: Floats) -> Floats:
        """(groups,): s that a request takes in the mean. near: (visits,) s at each; wait: (ranks,) s at a
        rank that only passes it on."""

    def loads(self, asked: Floats, forward_work: float) -> tuple[Floats, Floats]:
        """Work/s: (visits,) and, of passing on, (ranks,). asked: (groups,) requests/s."""


@dataclass(frozen=True)
class Flow:
    """What comes of a step. (groups,) asked: closed-loop requests/s. (ranks,) fit: the part of what is asked
    of a rank that it has time for, below 1 only while the fixed point is not reached; wait: s, of somebody
    new; load: work/s of closed-loop requests; inside: of these, how many wait or are served."""

    asked: Floats
    fit: Floats
    wait: Floats
    load: Floats
    inside: Floats


def flow(
    ways: Ways,
    threads: Floats,
    think: Floats,
    wait: Floats,
    capacity: Floats,
    backlog: Floats,
    forward_work: float,
    dt: float,
) -> Flow:
    """Solve one step.

    :param threads: (groups,) that may ask
    :param think: (groups,) s
    :param wait: (ranks,) s, as the last step left it
    :param capacity: (ranks,) work/s that exports leave for requests
    :param backlog: (ranks,) requests that wait and whose clients do not
    :param forward_work: of passing a request on
    :param dt: s
    """
    # When some directories do not answer, a thread asks until it meets one of them.
    most = np.full(threads.size, np.inf)
    np.divide(threads, ways.blocked * dt, out=most, where=ways.blocked > 0.0)
    asked, load, inside = np.zeros(threads.size), np.zeros(capacity.size), np.zeros(capacity.size)
    mine = np.zeros(ways.rank.size)  # s of a wait that are for the thread's own request, which it never meets
    several = np.maximum(1.0, threads)[ways.group]
    speed = np.maximum(capacity, SLOWEST)
    for _ in range(ROUNDS):
        near = wait[ways.rank] - mine
        cycle = think + ways.waits(near, wait)
        rate = np.divide(threads, cycle, out=np.zeros_like(cycle), where=cycle > 0.0)
        asked = np.minimum(rate, most)
        here, there = ways.loads(asked, forward_work)
        load = sums(ways.rank, here, capacity.size) + there
        waiting = here * near
        inside = sums(ways.rank, waiting, capacity.size) + there * wait
        mine = waiting / several / speed[ways.rank]
        wait = (1.0 + inside + backlog) / speed
    fit = np.minimum(1.0, np.divide(speed, load, out=np.ones(load.size), where=load > 0.0))
    return Flow(asked, fit, wait, load * fit, inside)
