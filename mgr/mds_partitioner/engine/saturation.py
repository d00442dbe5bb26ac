# SPDX-License-Identifier: LGPL-2.1-or-later
"""How full a rank is, from its own rate and latency alone: no other rank is there to compare with when one
serves everything, and a handful of synchronous clients never makes a long queue.

By Little's law rate x latency is the mean number k of requests inside the rank. A server that takes them
one by one, as an MDS does under its lock, with service times that hardly vary (M/D/1, Pollaczek and
Khinchine) has k = r + r^2 / (2 (1 - r)) at a utilisation r; solved for r that is ``utilisation``. Measured on
real MDSs held to 10 and 20 % of a core (docs/results/saturation-recorded.md): 4 to 64 synchronous clients
make k 1.3 to 54, and rate / r is what the rank serves at most; half of that, at random times, makes k 0.2 to
0.7, and 2.5 once, when the machine was busy otherwise.
"""

import numpy as np

from .arrays import Bools, Floats

FULL = 0.61  # utilisation: k of 1.1
LEAST_RATE = 20.0  # req/s: a mean over fewer says little, and no MDS that works is full of so few
REAL_LOAD = 0.1  # of the highest rate of the window
MOST_FETCHED = 0.2  # fetches a request: above that latency is the metadata pool's, not the rank's
RECENT_EPOCHS = 3
SEEN_TWICE = 2  # saturated epochs: one may be a hiccup of the machine


def utilisation(inside: Floats) -> Floats:
    """Between 0 and 1. inside: mean number of requests in the rank, any shape."""
    return np.asarray(inside + 1.0 - np.sqrt(inside * inside + 1.0))


def saturated_epochs(rate: Floats, latency: Floats, fetches: Floats) -> Bools:
    """(ranks, epochs): under real load and full.

    rate: req/s; latency: s, of the quickest of the rank's common kinds of requests (one that waits for a
    client's capability or for a lock is slow for another reason); fetches: directory fetches/s from the
    metadata pool; (ranks, epochs) each.
    """
    busy = (rate >= LEAST_RATE) & (rate >= REAL_LOAD * rate.max(initial=0.0))
    own = fetches <= MOST_FETCHED * rate
    return np.asarray(busy & own & (utilisation(rate * latency) >= FULL))


def saturated_ranks(epochs: Bools) -> Bools:
    """(ranks,): saturated in two of the last three epochs. epochs: (ranks, epochs)."""
    return np.asarray(epochs[:, -RECENT_EPOCHS:].sum(axis=1) >= SEEN_TWICE)
