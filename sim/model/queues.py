# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many requests a second everybody gets through: ranks as queues, clients in closed and open loops.

Mean values only, as in approximate mean value analysis (Bard 1979, Schweitzer 1979): a request waits for
those it finds in its rank, and a closed-loop thread asks again when it was answered and has thought.
"""

from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Floats
from sim.model.lanes import Lanes

ROUNDS = 4  # of the fixed point; each step of time begins where the last one ended
SLOWEST = 1e-6  # req/s of a rank that is wholly taken by exports


@dataclass(frozen=True)
class Flow:
    """What comes of a step. (groups,) asked: closed-loop requests/s. (ranks,) fit: the part of what is asked
    of a rank that it has time for, below 1 only while the fixed point is not reached; wait: s, of a request;
    load: work/s of closed-loop requests; inside: of these, how many wait or are served."""

    asked: Floats
    fit: Floats
    wait: Floats
    load: Floats
    inside: Floats


def flow(
    lanes: Lanes,
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
    :param dt: s
    """
    speed = np.maximum(capacity, SLOWEST)
    # What is met by a thread that asks: all others, less itself.
    others = 1.0 - 1.0 / max(1.0, float(threads.sum()))
    # When some directories do not answer, a thread asks until it meets one of them.
    most = np.full(threads.size, np.inf)
    np.divide(threads, lanes.blocked * dt, out=most, where=lanes.blocked > 0.0)
    load = inside = np.zeros(capacity.size)
    asked = np.zeros(threads.size)
    for _ in range(ROUNDS):
        cycle = think + lanes.waits(wait)
        rate = np.divide(threads, cycle, out=np.zeros_like(cycle), where=cycle > 0.0)
        asked = np.minimum(rate, most)
        load = lanes.loads(asked, forward_work)
        inside = load * wait
        wait = (1.0 + others * inside + backlog) / speed
    fit = np.minimum(1.0, np.divide(speed, load, out=np.ones(load.size), where=load > 0.0))
    return Flow(asked, fit, wait, load * fit, inside)
