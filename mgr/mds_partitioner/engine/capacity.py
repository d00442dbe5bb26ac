# SPDX-License-Identifier: LGPL-2.1-or-later
"""The most requests a second one rank can serve (the C of Lunule's equation 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats
from .capacity_source import CapacitySource
from .inside import CHANGED
from .saturation import SEEN_TWICE, saturated_ranks

SEEN_AGAIN = 3  # saturated epochs before a lower capacity than the one known is believed
MOST_DROP = 0.5  # of the known capacity, in one window
EASILY = 1.1  # times what a rank was found able to serve, at least, while it rests: it can do more
SUSTAINED = 3  # epochs a rate must last to show that a rank can serve it


@dataclass(frozen=True)
class Capacity:
    """value: req/s, None where nothing has taught it yet."""

    value: float | None
    source: CapacitySource


def learned_capacity(rate: Floats, saturated: Bools) -> tuple[float, int] | None:
    """The highest median of what a rank served in its saturated epochs (req/s), among the ranks that were
    saturated often, and how many such epochs the rank had.

    rate, saturated: (ranks, epochs). Often: twice, and in half as many epochs as the most saturated rank.
    """
    counts = saturated.sum(axis=1)
    often = np.flatnonzero((counts >= SEEN_TWICE) & (2 * counts >= counts.max(initial=0)))
    if not often.size:
        return None
    return max((float(np.median(rate[r, saturated[r]])), int(counts[r])) for r in often)


def sustained(rate: Floats, rests: Bools) -> tuple[float, float]:
    """req/s, 0 with fewer than three epochs: the highest rate that some rank kept up for the last three of
    them, of those that rested in none, and of those that rested in one: what is done so easily fills nobody.

    rate, rests: (ranks, epochs).
    """
    if rate.shape[1] < SUSTAINED:
        return 0.0, 0.0
    least, easy = rate[:, -SUSTAINED:].min(axis=1), rests[:, -SUSTAINED:].any(axis=1)
    return float(least[~easy].max(initial=0.0)), float(least[easy].max(initial=0.0))


def kept_up(rate: Floats) -> float:
    """req/s: the highest rate that some rank kept up for three epochs in a row, or for all that there are.
    rate: (ranks, epochs)."""
    length = min(SUSTAINED, rate.shape[1])
    spans = np.stack([rate[:, i : rate.shape[1] - length + 1 + i] for i in range(length)])
    return float(spans.min(axis=0).max(initial=0.0))


def _taught(
    rate: Floats, saturated: Bools, undisturbed: Bools, hardly: float, earlier: float | None
) -> tuple[float, int] | None:
    """As ``learned_capacity``. Where ranks export all the time and nothing is known yet: what they serve
    meanwhile, and no less than what some rank kept up. ``hardly``: req/s sustained without a rest."""
    alone = learned_capacity(rate, saturated & undisturbed)
    if alone is not None:
        return max(alone[0], hardly), alone[1]  # ranks may be unlike
    anyway = learned_capacity(rate, saturated) if earlier is None else None
    return None if anyway is None else (max(anyway[0], kept_up(rate)), anyway[1])


def choose_capacity(
    rate: Floats,
    saturated: Bools,
    undisturbed: Bools,
    rests: Bools,
    option: float,
    earlier: float | None,
    least: float | None,
) -> Capacity:
    """The option when it is not 0, else what this window teaches, else what was learned earlier.

    A saturated rank's capacity is its rate. With more requests at once it may serve more, as it wakes up
    less often for each (of four synchronous clients half as many as of 64), and more is believed at once.
    Less than what was learned earlier is believed when it is seen again, and then at most half of it is
    taken away in one window: one bad number must not make a cluster look full. A rank that serves more than
    what was learned shows that it can. If it does so easily, what was learned says nothing of this load, and
    neither does the rate: it fills no rank.

    :param rate: req/s, 0 where a rank had not told it, (ranks, epochs)
    :param saturated, undisturbed, rests: likewise; ``rests``: with hardly a request inside
    :param least: req/s, below which nothing is believed; None: half of what was learned earlier
    """
    if option > 0.0:
        return Capacity(option, CapacitySource.OPTION)
    hardly, easily = sustained(rate, rests)
    known = _known(_taught(rate, saturated, undisturbed, hardly, earlier), hardly, earlier, least)
    if known.value is not None and easily > EASILY * known.value:
        return Capacity(None, CapacitySource.UNKNOWN)
    return known


def _known(
    taught: tuple[float, int] | None, hardly: float, earlier: float | None, least: float | None
) -> Capacity:
    """What the window teaches, as far as it is believed, else what was learned earlier."""
    if taught is not None:
        value, epochs = taught
        if earlier is None or value >= earlier:
            return Capacity(value, CapacitySource.LEARNED)
        if epochs >= SEEN_AGAIN:
            lowest = earlier * MOST_DROP if least is None else least
            return Capacity(max(value, lowest), CapacitySource.LEARNED)
    if earlier is None:
        return Capacity(None, CapacitySource.UNKNOWN)
    return Capacity(max(earlier, hardly), CapacitySource.EARLIER)


def rank_capacities(rate: Floats, saturated: Bools, rests: Bools, earlier: Floats) -> Floats:
    """(ranks,): the most each rank can serve, req/s; NaN where it is not known. Ranks need not be alike.

    A rank that is saturated teaches its own: the median of what it served in its saturated epochs, or of the
    last of them, when all of these differ from it: it has become slower, or quicker. Much less than what was
    known is believed when it was seen three times. One that serves more than that shows that it can; and if
    it does so easily, what was known says nothing.

    :param rate: req/s, (ranks, epochs); saturated: likewise
    :param rests: ranks that have hardly a request inside now, (ranks,)
    :param earlier: as this function found it last, (ranks,)
    """
    full = [row[own] for row, own in zip(rate, saturated)]
    taught = np.array([_lately(rates) if rates.size else np.nan for rates in full])
    low = CHANGED * earlier
    seen = np.array([(rates[-SEEN_AGAIN - 1 :] < lowest).sum() for rates, lowest in zip(full, low)])
    believed = saturated_ranks(saturated) & ~((taught < low) & (seen < SEEN_AGAIN))
    now = rate[:, -1]
    easily = np.where(now > EASILY * earlier, np.nan, earlier)
    return np.where(believed, taught, np.where(rests, easily, np.where(now > earlier, now, earlier)))


def _lately(rates: Floats) -> float:
    """req/s of a rank that is full, oldest first: their median since they last changed for good."""
    known = float(np.median(rates))
    slower, quicker = rates < CHANGED * known, CHANGED * rates > known
    for other, often in ((slower, SEEN_AGAIN), (quicker, SEEN_TWICE)):
        since = rates[np.flatnonzero(~other)[-1] + 1 :]
        if since.size >= often:
            return float(np.median(since))
    return known
