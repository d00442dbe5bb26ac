# SPDX-License-Identifier: LGPL-2.1-or-later
"""LINE's scheme (slide "Combine Two Approaches"): light and moderate subvolumes pinned, heavy ones balanced
within ``bal_rank_mask``."""

import numpy as np

from mds_partitioner.engine.classes import fair_share, is_heavy
from sim.model.arrays import Bools
from sim.model.cluster import Cluster
from sim.papers.line.static_policy import ANALYSIS, pins, points, usable
from sim.policies.base import NOTHING, Context, Orders
from sim.policies.builtin import BuiltIn


class LineMasked(BuiltIn):
    """Pins what is not heavy to the ranks outside the mask, once; from then on Ceph's balancer, 20.2's, has
    the heavy ones within the mask. The slides have four of eight ranks in it; here they are as many as the
    heavy subvolumes' part of the points makes, and the last ones, as there. Which subvolumes are heavy an
    operator says in the slides, the engine's classes here. Without a heavy one everything is pinned.

    What the model cannot tell: as for ``line-static``.
    """

    name = "line-masked"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._planned = False
        self._mask: list[int] = []  # ranks for heavy subvolumes

    def decide(self, cluster: Cluster) -> Orders:
        if self._planned:
            return super().decide(cluster) if self._mask else NOTHING
        if cluster.now < ANALYSIS or cluster.degraded:
            return NOTHING
        self._planned = True
        work, ranks = points(cluster), usable(cluster)
        heavy = is_heavy(work, fair_share(work.points, len(ranks)))
        part = float(work.points[heavy].sum() / work.points.sum())
        first = len(ranks) - masked_ranks(part, len(ranks), not heavy.all())
        self._mask = ranks[first:]
        said = f"{int(heavy.sum())} heavy subvolumes on {self._mask}, the others on {ranks[:first]}"
        return Orders(pins=tuple(pins(cluster, np.flatnonzero(~heavy), ranks[:first])), said=(said,))

    def outside(self, cluster: Cluster) -> Bools:
        return np.asarray(~np.isin(np.arange(cluster.ranks), self._mask))


def masked_ranks(part: float, ranks: int, others: bool) -> int:
    """How many of the ranks are the heavy subvolumes'.

    :param part: of all points that is theirs
    :param others: are there subvolumes that are not heavy? They need a rank
    """
    if not part:
        return 0
    return min(max(1, round(part * ranks)), ranks - others) if ranks > 1 else 0
