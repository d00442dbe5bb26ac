# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ranks' samples of the last epochs: one history a file system, which every judgement reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..model import RankSample

EPOCHS = 12  # kept: the forecast is fitted to them, and in them saturated ranks are looked for


@dataclass(frozen=True)
class History:
    """Samples of one set of daemons on one set of ranks. Times are the monotonic clock's, s."""

    began: float = 0.0  # when the first of these daemons' samples was taken
    taken: float = float("-inf")  # when the newest was
    epochs: tuple[tuple[RankSample, ...], ...] = ()  # oldest first; by rank

    @property
    def latest(self) -> tuple[RankSample, ...]:
        """The newest epoch's samples, by rank; () before the first."""
        return self.epochs[-1] if self.epochs else ()

    def due(self, daemons: Sequence[tuple[int, str]], now: float, epoch: float) -> bool:
        """Is it time for another sample? Of other daemons, at once; a little early is better than late.

        :param daemons: rank and name of those that are active now
        :param epoch: s
        """
        return now - self.taken >= 0.9 * epoch or sorted(daemons) != _daemons(self.latest)

    def plus(self, samples: tuple[RankSample, ...], now: float) -> "History":
        """With an epoch more. When other daemons hold the ranks, or other ranks are active, it begins anew:
        what one daemon served says nothing of the next."""
        ordered = tuple(sorted(samples, key=lambda s: s.rank))
        if not self.epochs or _daemons(ordered) != _daemons(self.latest):
            return History(now, now, (ordered,))
        fresh = tuple(map(_seen_once, ordered, self.latest))
        return History(self.began, now, (*self.epochs, fresh)[-EPOCHS:])

    def series(self) -> Mapping[int, tuple[RankSample, ...]]:
        """One row a rank, oldest first, all of one length."""
        return {row[-1].rank: row for row in zip(*self.epochs)}


def _seen_once(sample: RankSample, before: RankSample) -> RankSample:
    """A sample of the very report that the one before is of shows no second epoch of a full rank."""
    same = sample.reported > 0.0 and sample.reported == before.reported
    return replace(sample, quickest=0.0) if same else sample


def _daemons(samples: tuple[RankSample, ...]) -> list[tuple[int, str]]:
    return [(s.rank, s.name) for s in samples]
