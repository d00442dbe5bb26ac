# SPDX-License-Identifier: LGPL-2.1-or-later
"""Epochs in a row in which something was so. Where epochs are long, alerts ask for two of these: what is told
of one stays as it is for as long as they wait."""

from __future__ import annotations

from .state import FsSample, RankState, Streaks

NEARLY_ALL = 0.9  # of the capacity: a rank that serves more is full
MUCH = 0.85  # of the capacity: where the ranks serve more, on the mean, moving cannot cure it


def continued(before: Streaks, sample: FsSample) -> Streaks:
    """With an epoch more."""
    capacity = None if sample.verdict is None else sample.verdict.capacity.value
    full = (rank.daemon for rank in sample.ranks if _full(rank, capacity))
    return Streaks(
        unjudged=before.unjudged + 1 if sample.unjudged else 0,
        overloaded=before.overloaded + 1 if _overloaded(sample, capacity) else 0,
        full={daemon: before.full.get(daemon, 0) + 1 for daemon in full},
    )


def _full(rank: RankState, capacity: float | None) -> bool:
    above = rank.load is not None and capacity is not None and rank.load > NEARLY_ALL * capacity
    return above or bool(rank.saturated)


def _overloaded(sample: FsSample, capacity: float | None) -> bool:
    """Ranks that do not tell their load, silent ones, count neither as full nor as idle."""
    known = [rank for rank in sample.ranks if rank.load is not None]
    above = capacity is not None and sample.load > MUCH * capacity * len(known)
    return bool(known) and (above or all(rank.saturated for rank in known))
