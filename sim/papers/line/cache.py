# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ranks whose caches have a limit: what does not fit is dropped, and fetched again when it is used."""

from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Floats, Ints, sums
from sim.model.namespace import Namespace


@dataclass(frozen=True)
class State:
    """(ranks,) each: inodes cached now, and inodes fetched since the last look."""

    cached: Floats
    fetched: Floats


class Cache:
    """Remembers what was cold, to tell what was fetched."""

    def __init__(self, limit: float) -> None:
        """:param limit: inodes that a rank can hold"""
        self._limit = limit
        self._cold: Floats | None = None

    def pressed(self, names: Namespace, ranks: int) -> State:
        """Drop what is too much, in the namespace."""
        before = names.cold if self._cold is None else self._cold
        fetched = sums(names.auth, np.maximum(0.0, before - names.cold), ranks)
        names.cool(cold_after(names.auth, names.inodes, names.cold, self._limit, ranks))
        self._cold = names.cold.copy()
        return State(sums(names.auth, names.inodes - names.cold, ranks), fetched)


def cold_after(auth: Ints, inodes: Floats, cold: Floats, limit: float, ranks: int) -> Floats:
    """(directories,): inodes of each that are not cached when every rank has dropped what is too much.

    A rank drops the same part of what it has cached of each directory: clients that choose files at random
    leave no other order.
    """
    cached = inodes - cold
    held = sums(auth, cached, ranks)
    keep = np.minimum(1.0, np.divide(limit, held, out=np.ones(ranks), where=held > 0.0))
    return np.asarray(inodes - cached * keep[auth])
