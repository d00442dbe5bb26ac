# SPDX-License-Identifier: LGPL-2.1-or-later
"""A subvolume's workload (LINE, "Example of Operation Flow")."""

from dataclasses import dataclass

import numpy as np

from .arrays import Floats


@dataclass(frozen=True)
class Workload:
    """points: (subvolumes,), workload points, 500 in all when no sum is 0; the rest: each one's share, 0 to
    1; reqs: of what is seen, or of what is asked for (``asked``)."""

    points: Floats
    wss: Floats
    reqs: Floats
    rentries: Floats

    @property
    def by_requests(self) -> Floats:
        """(subvolumes,): the points, were requests all that counts; their sum is that of the points."""
        return np.asarray(self.reqs * self.points.sum())


def share(values: Floats) -> Floats:
    """Each value over their sum; zeros when the sum is 0."""
    peak = float(values.max(initial=0.0))
    if peak == 0.0:
        return np.zeros_like(values)
    scaled = values / peak
    return np.asarray(scaled / scaled.sum())


def workload(wss: Floats, reqs: Floats, rentries: Floats) -> Workload:
    """(2 wss/sum(wss) + 2 reqs/sum(reqs) + rentries/sum(rentries)) * 100.

    wss: inodes; reqs: req/s or requests; rentries: files and directories; (subvolumes,) each.
    """
    shares = share(wss), share(reqs), share(rentries)
    points = (2.0 * shares[0] + 2.0 * shares[1] + shares[2]) * 100.0
    return Workload(points, *shares)
