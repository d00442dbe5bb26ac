# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whom a full rank serves less than is asked for.

An MDS takes what its connections send by turns, one message of each (Ceph's DispatchQueue, in each release).
So whoever asks a full rank for little is served all of it, and what is left is for those who always have a
request waiting: these all have the same turns, and nobody has more.
"""

from collections.abc import Mapping

SessionKey = tuple[int, int]  # rank, client
WAITS = 0.75  # requests inside, on the mean (Little's law): one that nearly always has one there
AS_OFTEN = 0.7  # of the turns of whoever has most, counted over a few seconds: not all requests are alike


def held_back(served: Mapping[SessionKey, float], latency: Mapping[int, float]) -> frozenset[SessionKey]:
    """Sessions that would ask for more than they are served.

    :param served: req/s, of all sessions of the ranks that are full
    :param latency: of these ranks, s
    """
    most: dict[int, float] = {}
    for (rank, _), rate in served.items():
        most[rank] = max(most.get(rank, 0.0), rate)
    return frozenset(
        (rank, client)
        for (rank, client), rate in served.items()
        if rate >= AS_OFTEN * most[rank] and rate * latency[rank] >= WAITS
    )
