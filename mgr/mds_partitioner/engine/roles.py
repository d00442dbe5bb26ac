# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who exports how much to whom (Lunule, section 3.2, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class Roles:
    """matrix: (ranks, ranks), req/s to move from row to column; exporters, importers: row numbers,
    ascending."""

    matrix: Floats
    exporters: Ints
    importers: Ints


def demands(
    current: Floats,
    predicted: Floats,
    threshold: float,
    limit: float,
    harmful: bool = False,
    hot: Bools | None = None,
    above: float = 0.0,
) -> tuple[Floats, Floats]:
    """Lines 1 to 12: export and import demand of each rank, (ranks,) each, req/s.

    threshold: the paper's L, on (|load - mean| / mean) squared. limit: its Cap, the most one rank may send or
    take in one epoch, req/s (infinite: no limit). A rank below the mean imports only the part of its gap
    that its own forecast growth does not fill, and never more than its gap. One that is saturated is
    predicted to grow without end, and imports nothing.

    By L alone there may be an exporter and nobody to take from it: beside one hot rank all others are a
    little below the mean. So L only says who comes first. Where those beyond it on one side are too few for
    the other side, the farthest of the others on theirs fill up; where nobody is beyond it and the imbalance
    is ``harmful`` (IF above its threshold), all may give.

    hot: (ranks,), those of a large cluster that have to give by themselves
    (:func:`~.imbalance.hot_ranks`); None: none. Unless the imbalance is harmful, only these give. Beside
    them, a rank within L takes until it is ``above`` the mean, in parts of it: up to the mean, each of many
    ranks may have room for less than any subtree is worth.
    """
    mean = float(current.mean())
    if mean == 0.0:
        return np.zeros_like(current), np.zeros_like(current)
    gap = np.abs(current - mean)
    uneven = (gap / mean) ** 2 > threshold
    some_hot = hot is not None and bool(hot.any())
    free = np.where(uneven | (not some_hot), mean, (1.0 + above) * mean) - current
    left = np.minimum(free, free - (predicted - current))
    may = hot if hot is not None and some_hot and not harmful else np.ones_like(uneven)
    exports = np.where(may & (current > mean), np.minimum(limit, gap), 0.0)
    imports = np.where((current < mean) & (left > 0.0), np.minimum(limit, left), 0.0)
    sends, takes = np.where(uneven, exports, 0.0), np.where(uneven, imports, 0.0)
    if not sends.any() and takes.any():
        return filled(sends, exports, float(takes.sum()), np.argsort(-current, kind="stable")), takes
    if not sends.any() and (harmful or some_hot):
        sends = exports
    return sends, filled(takes, imports, float(sends.sum()), np.argsort(current, kind="stable"))


def filled(chosen: Floats, all_of_them: Floats, need: float, order: Ints) -> Floats:
    """The chosen demands, and in ``order`` as much of the others as they are short of ``need``; req/s."""
    demand, short = chosen.copy(), need - float(chosen.sum())
    for rank in order:
        if chosen[rank] == 0.0 and short > 0.0:
            demand[rank] = min(float(all_of_them[rank]), short)
            short -= demand[rank]
    return demand


def pair(exports: Floats, imports: Floats) -> Floats:
    """Lines 13 to 18: pair exporters with importers in rank order; returns (ranks, ranks), req/s."""
    matrix = np.zeros((exports.size, exports.size))
    to_send, to_take = exports.copy(), imports.copy()
    takers = [int(j) for j in np.flatnonzero(imports)]
    at = 0
    for i in np.flatnonzero(exports):
        while to_send[i] > 0.0 and at < len(takers):
            j = takers[at]
            amount = min(to_send[i], to_take[j])
            matrix[i, j] = amount
            to_send[i] -= amount
            to_take[j] -= amount
            if to_take[j] <= 0.0:
                at += 1
    return matrix


def roles(
    current: Floats,
    predicted: Floats,
    threshold: float,
    limit: float,
    allowed: Bools,
    harmful: bool = False,
    hot: Bools | None = None,
    above: float = 0.0,
) -> Roles:
    """Algorithm 1 among the ranks of a mask; the others take no part.

    current, predicted: (ranks,), req/s; allowed: (ranks,), the mask; the others as in :func:`demands`, where
    hot is of all ranks.
    """
    exports, imports = np.zeros_like(current), np.zeros_like(current)
    if allowed.any():
        exports[allowed], imports[allowed] = demands(
            current[allowed],
            predicted[allowed],
            threshold,
            limit,
            harmful,
            None if hot is None else hot[allowed],
            above,
        )
    return Roles(pair(exports, imports), np.flatnonzero(exports > 0.0), np.flatnonzero(imports > 0.0))
