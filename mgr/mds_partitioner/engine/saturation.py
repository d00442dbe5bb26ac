# SPDX-License-Identifier: LGPL-2.1-or-later
"""How full a rank is, from its own rate and latency alone: no other rank is there to compare with when one
serves everything, and a handful of synchronous clients never makes a long queue.

By Little's law rate x latency is the mean number of requests inside the rank. An MDS takes them one by one,
under its lock, so with more than one of them inside all the time it never rests. Measured on MDSs held to 10
to 20 % of a core (docs/results/saturation.md): 4 to 64 synchronous clients make 1.3 to 50, and at 10 % each
period of the quota is used up.

A rank that works in bursts (its journal is written, its clients' capabilities are recalled) has as many
inside, 1 to 7 on the mean, with half of its quota left. But then it has lately served as much with hardly
any inside: what it can do so easily does not fill it.
"""

from __future__ import annotations

import numpy as np

from .arrays import Bools, Floats
from .inside import CROWD, EASY, INSIDE, LEAST_RATE, REAL_LOAD

AS_MUCH = 0.9  # of a rate
LATELY = 6  # epochs
SLOWEST = 0.02  # of it, has a rank that is full: with less it waits for something else, a client perhaps
MOST_FETCHED = 0.2  # fetches a request: above that latency is the metadata pool's, not the rank's
RECENT_EPOCHS = 3
SEEN_TWICE = 2  # saturated epochs: one may be a hiccup of the machine
OFTEN = 0.25  # of an analysis: with less a rank was saturated in passing


def saturated_epochs(
    rate: Floats, latency: Floats, fetches: Floats, work: Floats | None = None, *, alike: bool = True
) -> Bools:
    """(ranks, epochs): under real load and full.

    alike: what one rank shows is to be held against all; else each is looked at by itself, and one that is
    far slower than the others is full as well, when it is crowded.

    rate: req/s; latency: s, of the quickest of the rank's common kinds of requests (one that waits for a
    client's capability or for a lock is slow for another reason), 0 where it is not known; fetches: directory
    fetches/s from the metadata pool; work: of all that, req/s (inside.work), None: as the rate; (ranks,
    epochs) each.
    """
    done = rate if work is None else work
    highest = rate.max(initial=0.0)  # others' listings may be of small directories
    real = done >= REAL_LOAD * highest
    own = (done >= LEAST_RATE) & (fetches <= MOST_FETCHED * rate)
    inside = rate * latency
    crowded = (inside >= CROWD) & (real if alike else done >= SLOWEST * highest)
    full = crowded | (real & (inside >= INSIDE) & (AS_MUCH * rate > _easily_served(rate, inside)))
    return np.asarray(own & full)


def resting(inside: Floats) -> Bools:
    """Hardly a request is inside, as far as that is known. inside: requests, 0 where nothing tells."""
    return np.asarray((inside > 0.0) & (inside <= EASY))


def _easily_served(rate: Floats, inside: Floats) -> Floats:
    """(ranks, epochs): the highest rate of the epochs right before with hardly a request inside, req/s."""
    easy = np.where(resting(inside), rate, 0.0)
    highest = np.zeros_like(rate)
    for back in range(1, min(LATELY, rate.shape[1] - 1) + 1):
        highest[:, back:] = np.maximum(highest[:, back:], easy[:, :-back])
    return highest


def saturated_ranks(epochs: Bools) -> Bools:
    """(ranks,): saturated in two of the last three epochs. epochs: (ranks, epochs)."""
    return np.asarray(epochs[:, -RECENT_EPOCHS:].sum(axis=1) >= SEEN_TWICE)
