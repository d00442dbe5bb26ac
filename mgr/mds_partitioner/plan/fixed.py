# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a plan must leave where it is, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ..ceph.filesystem import NO_MASK
from ..engine.names import HEAVY
from ..engine.reasons import EPHEMERAL_PIN, MASKED_BY_OPERATOR, PASSING, PINNED_BY_OPERATOR, RESTING
from ..judge.judgement import DirectoryJudgement
from ..judge.verdict import Verdict
from ..model import NO_PIN, Directory, Subtree
from ..observe.children import Placed
from ..observe.subtrees import ancestors
from .circumstances import Circumstances


@dataclass(frozen=True)
class Fixed:
    """A reason's code and one sentence more."""

    reason: str
    why: str = ""


class Settled(Protocol):
    """What a directory's own settings and the MDSs say of its place."""

    @property
    def directory(self) -> Directory: ...
    @property
    def pin(self) -> int: ...
    @property
    def ephemeral(self) -> bool: ...


def fixed(row: DirectoryJudgement, c: Circumstances, rests_until: float, now: float) -> Fixed | None:
    """Why a directory must stay where it is; None when it may move. See ``rests_until``."""
    found = operators(row.seen, c) or _held_below(row, c)
    if found is None and row.seen.passing and not c.force:
        return Fixed(PASSING)
    if found is None and now < rests_until and not c.force:
        return Fixed(
            RESTING,
            f"moved lately, it rests for {rests_until - now:.0f} s more: wait, use --force, or undo the plan "
            "that moved it ('partition rollback')",
        )
    return found


def operators(seen: Settled, c: Circumstances) -> Fixed | None:
    """The setting of an operator that keeps a directory where it is; None when there is none."""
    pin, ino = seen.pin, seen.directory.ino
    own = c.above.get(seen.directory.path)
    distributed = seen.ephemeral or (own is not None and own.distributed)
    if (distributed and not c.owns_distributed(ino)) or (own is not None and own.random):
        return Fixed(EPHEMERAL_PIN)
    if pin != NO_PIN and not c.owns_pin(ino, pin) and not c.force:
        return Fixed(PINNED_BY_OPERATOR)
    if c.above and not c.force and (above := inherited(seen.directory.path, c.above, partial(_ours, c))):
        stays = "" if pin == NO_PIN else f"; a pin of this module keeps it on rank {pin}"
        return replace(above, why=above.why + stays)
    if c.mask_of(ino) != NO_MASK and not c.owns_mask(ino) and not c.force:
        return Fixed(MASKED_BY_OPERATOR)
    if ino in c.confined and not c.force:  # a pin would win
        return Fixed(MASKED_BY_OPERATOR, c.confined[ino])
    return None


def _held_below(row: DirectoryJudgement, c: Circumstances) -> Fixed | None:
    """An operator's setting below what gets one rank: what that holds does not come along. None where the
    rank that has it serves nothing of this."""
    if row.klass == HEAVY:
        return None
    ranks, below = row.seen.load_ranks, c.below.get(row.seen.directory.path, ())
    at = next((at for at in below if at.rank in ranks and not releasable(at, c)), None)
    if at is None:
        return None
    if at.ephemeral:
        return Fixed(EPHEMERAL_PIN, f"{at.path!r} below it is held by an ephemeral pin")
    return Fixed(PINNED_BY_OPERATOR, f"{at.path!r} below it is pinned to rank {at.pin}")


def releasable(at: Subtree, c: Circumstances) -> bool:
    """May a plan take the pin off?"""
    if at.ephemeral:
        return c.owns_distributed(at.ino)
    return c.force or c.owns_pin(at.ino, at.pin)


def inherited(directory: str, above: Mapping[str, Placed], ours: Callable[[Placed], bool]) -> Fixed | None:
    """The nearest setting above a directory that places it, if an operator made it. ``above``: by path"""
    at = next((above[path] for path in ancestors(directory) if path != directory and path in above), None)
    if at is None or ours(at):
        return None
    if at.pin != NO_PIN:
        return Fixed(PINNED_BY_OPERATOR, f"{at.path!r} is pinned to rank {at.pin}")
    return Fixed(EPHEMERAL_PIN, f"{at.path!r} distributes what is in it")


def _ours(c: Circumstances, at: Placed) -> bool:
    pinned = at.pin != NO_PIN
    return c.owns_pin(at.ino, at.pin) if pinned else at.distributed and c.owns_distributed(at.ino)


def rests_until(
    row: DirectoryJudgement, verdict: Verdict, c: Circumstances, since: float, rest: float, now: float
) -> float:
    """When a directory that was moved may be moved again, seconds since the Unix epoch.

    What is in place and even rests. A verdict on the time after the move that finds the ranks uneven, at
    whatever urgency, says that the move did not help: then nothing rests. Nor does what was moved later than
    now: the clock was put back, and nobody knows when that was.

    :param since: when the time that was judged began, seconds since the Unix epoch
    :param rest: s
    :param now: as since
    """
    moved = c.moved_at.get(row.seen.directory.ino)
    if moved is None or moved > now or (verdict.most > verdict.threshold and since >= moved):
        return 0.0
    return moved + rest
