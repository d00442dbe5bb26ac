# SPDX-License-Identifier: LGPL-2.1-or-later
"""The capacity that saturated ranks taught, as it is remembered."""

from __future__ import annotations

from dataclasses import dataclass

WORTH_SAVING = 0.05  # relative change: the mon's store is not written every epoch


@dataclass(frozen=True)
class Learned:
    """``value`` in req/s a rank; ``since``: when it last fell, or was first known (monotonic, s)."""

    value: float
    since: float

    def least(self, now: float, window: float) -> float | None:
        """req/s that a verdict may find at least: less is taken over once a window. None: any that is not
        less than the engine allows. ``now``: monotonic, s"""
        return self.value if now - self.since < window else None


def learn(before: Learned | None, taught: float, now: float, window: float) -> Learned:
    """What is known after a verdict.

    More is believed at once. Less is taken over once a window of ``window`` seconds: a verdict takes at most
    half away (engine/capacity.py), so a wrong signal must last for many windows to spoil what is known.
    """
    if before is None:
        return Learned(taught, now)
    if taught >= before.value:
        return Learned(taught, before.since)
    return Learned(taught, now) if before.least(now, window) is None else before


def worth_saving(value: float, saved: float | None) -> bool:
    """Has it changed enough since it was written?"""
    return saved is None or abs(value - saved) > WORTH_SAVING * saved
