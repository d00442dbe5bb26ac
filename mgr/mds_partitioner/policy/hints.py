# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a Mantle policy is told from outside, as Mantle forgets everything between beats."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..ceph.tick import USUAL_TICK
from ..model import FsState
from ..options import Settings
from ..plan.ranks import balanced_ranks, mask_of

PREFIX = "mds_partitioner."  # of every object that the module writes into a metadata pool
INTERVAL = 10  # s, where nobody has set mds_bal_interval


@dataclass(frozen=True)
class Growth:
    """``seen``: a rank's load when it was forecast; ``by``: what it grows by in a beat; req/s."""

    seen: float
    by: float


@dataclass(frozen=True)
class Hints:
    """The values of mantle/lunule.lua's ``hints``; units as there."""

    capacity: float | None  # None: unknown
    smoothness: float
    threshold: float
    role_threshold: float
    limit: float | None = None
    mask: tuple[int, ...] | None = None  # ranks, there or not yet; None: every rank
    resting: tuple[int, ...] = ()
    growth: Mapping[int, Growth] = field(default_factory=dict)
    expires: int = 0  # Unix time in s, of the growth
    selection: str = "mindex"  # for MDSs with our hook
    interval: int = INTERVAL  # mds_bal_interval, s
    tick: float = USUAL_TICK  # mds_tick_interval, s

    @property
    def beat(self) -> float:
        """s between two beats: rank 0 begins each on a tick (MDBalancer::tick). 0: there are none."""
        return math.ceil(self.interval / self.tick) * self.tick if self.tick > 0.0 else self.interval


def why_nobody(fs: FsState) -> str | None:
    """Why the balancer may use no rank, and what to do, as one sentence; None: it may use some."""
    if mask_of(fs) != ():
        return None
    return (
        f"bal_rank_mask {fs.bal_rank_mask} leaves the balancer no rank of '{fs.name}': "
        f"'ceph fs set {fs.name} bal_rank_mask all' gives it every rank"
    )


def growth(
    loads: Sequence[float], forecast: Sequence[float], dead_band: float, beats: float
) -> dict[int, Growth]:
    """Forecast growths worth telling: above ``dead_band`` times the mean load. (ranks,) each, req/s.

    :param forecast: of the next epoch
    :param beats: how many beats, in which policies decide, an epoch has; of less than one it is told all
    """
    least = dead_band * sum(loads) / len(loads) if loads else 0.0
    grown = ((load, (after - load) / max(1.0, beats)) for load, after in zip(loads, forecast))
    return {
        rank: Growth(round(load, 1), round(by, 1)) for rank, (load, by) in enumerate(grown) if abs(by) > least
    }


def differ(old: Hints, new: Hints, dead_band: float) -> bool:
    """Do they differ by more than a dead band? Any other setting, mask or resting rank counts."""
    fixed = (
        *("smoothness", "threshold", "role_threshold", "limit"),
        *("mask", "resting", "selection", "interval", "tick"),
    )
    if any(getattr(old, name) != getattr(new, name) for name in fixed):
        return True
    if new.capacity is None or old.capacity is None:
        if new.capacity != old.capacity:
            return True
    elif abs(new.capacity - old.capacity) > dead_band * old.capacity:
        return True
    if set(old.growth) != set(new.growth):
        return True
    return any(_grew(old.growth[rank], g, dead_band) for rank, g in new.growth.items())


def _grew(old: Growth, new: Growth, dead_band: float) -> bool:
    """Is a growth another one, or the load so far from where it was seen that policies take it for over?"""
    return abs(new.by - old.by) > dead_band * abs(new.seen) or abs(new.seen - old.seen) > abs(old.by)


def push_due(old: Hints, new: Hints, settings: Settings, since: float) -> bool:
    """Are the new hints to be told now? ``since``: s from the last push.

    Each push is a new FSMap, so pushes keep a distance. A capacity where there was none is told at once:
    without it the MDSs hardly know whether anything has to move. So is another mask: load that goes where the
    mask no longer allows it does not come back.
    """
    if not differ(old, new, settings.hint_dead_band):
        return False
    first_capacity = old.capacity is None and new.capacity is not None
    if first_capacity or old.mask != new.mask:
        return True
    return since >= settings.hint_interval


def make_hints(
    fs: FsState,
    settings: Settings,
    capacity: float | None,
    resting: Sequence[int],
    interval: int = INTERVAL,
    tick: float = USUAL_TICK,
) -> Hints:
    """Hints without a forecast."""
    return Hints(
        capacity=None if capacity is None else round(capacity, 1),
        smoothness=settings.smoothness,
        threshold=settings.imbalance_threshold,
        role_threshold=settings.role_threshold,
        limit=settings.epoch_capacity or None,
        mask=balanced_ranks(fs.bal_rank_mask),
        resting=tuple(resting),
        selection=settings.selection,
        interval=interval,
        tick=tick,
    )


def told_later(hints: Hints, ranks: Sequence[int]) -> tuple[Hints, ...]:
    """What a policy may be told by and by: a capacity or none, a mask, forecasts, and ranks that rest. It is
    tried with these before an MDS has to. ranks: that there are"""
    grow = {rank: Growth(100.0, 50.0) for rank in ranks}
    mask, later = tuple(ranks), 1 << 40  # Unix, s
    return (
        replace(hints, capacity=None, mask=None, growth={}, resting=()),
        replace(hints, capacity=1000.0, mask=mask, growth=grow, expires=later, resting=mask[-1:]),
    )


def _list(ranks: Sequence[int]) -> str:
    return "{" + ", ".join(str(rank) for rank in ranks) + "}"


def lua(hints: Hints) -> str:
    """What defines ``hints``, in Lua, on one line with no end: errors then name a policy's own lines."""
    fields = {
        "capacity": None if hints.capacity is None else repr(hints.capacity),
        "smoothness": repr(hints.smoothness),
        "threshold": repr(hints.threshold),
        "role_threshold": repr(hints.role_threshold),
        "limit": None if hints.limit is None else repr(hints.limit),
        "mask": None if hints.mask is None else _list(hints.mask),
        "resting": _list(hints.resting) if hints.resting else None,
        "growth": ("{" + ", ".join(_growth(*item) for item in sorted(hints.growth.items())) + "}")
        if hints.growth
        else None,
        "expires": str(hints.expires) if hints.growth else None,
        "interval": None if hints.beat == INTERVAL else f"{hints.beat:g}",
        "selection": None if hints.selection == "mindex" else f'"{hints.selection}"',
    }
    pairs = ", ".join(f"{name} = {value}" for name, value in fields.items() if value is not None)
    return f"--[[ written by mds_partitioner ]] hints = {{{pairs}}} "


def _growth(rank: int, growth: Growth) -> str:
    return f"[{rank}] = {{seen = {growth.seen!r}, by = {growth.by!r}}}"


def without_engine(hints: Hints, fs: FsState, now: float) -> Hints:
    """These when the engine does not answer: with the mask of now, and without a forecast that is over.

    :param now: Unix, s
    """
    hints = replace(hints, mask=balanced_ranks(fs.bal_rank_mask))
    over = bool(hints.growth) and hints.expires <= now
    return replace(hints, growth={}, expires=0) if over else hints


def policy_object(policy: str, hints: Hints, source: str) -> tuple[str, str]:
    """Name and text of the RADOS object: the name follows the content, as MDSs read a policy again only when
    its name changes. With our hook they go on remembering while what is before the last dot is the same: that
    is of the policy without its hints."""
    text = lua(hints) + source
    own, all_of_it = (hashlib.sha256(of.encode()).hexdigest() for of in (source, text))
    return f"{PREFIX}{policy}.{own[:8]}.{all_of_it[:16]}", text
