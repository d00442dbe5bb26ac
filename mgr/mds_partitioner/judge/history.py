# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ranks' samples of the last epochs: one history a file system, which every judgement reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..model import RankSample

SOON = 5.0  # s: while some rank has not told what it serves, it is looked again after one report's time
EPOCHS = 12  # kept: the forecast is fitted to them, and in them saturated ranks are looked for


@dataclass(frozen=True)
class History:
    """Samples of one set of daemons on one set of ranks. Times are the monotonic clock's, s.

    An epoch has no rank's second report: where ranks are looked at more often than they report, it lasts
    until one of them reports again. It is looked at again for ranks that had not told what they serve: then
    it is of the later reports, and the next one is due as before.
    """

    began: float = 0.0  # when the first of these daemons' samples was taken
    taken: float = float("-inf")  # when the newest epoch was
    looked: float = float("-inf")  # when it was last
    epochs: tuple[tuple[RankSample, ...], ...] = ()  # oldest first; by rank
    heard: frozenset[int] = frozenset()  # ranks whose report is in no epoch before the newest

    @property
    def latest(self) -> tuple[RankSample, ...]:
        """The newest epoch's samples, by rank; () before the first."""
        return self.epochs[-1] if self.epochs else ()

    def due(self, daemons: Sequence[tuple[int, str]], now: float, epoch: float) -> bool:
        """Is it time for another sample? Of other daemons, at once; a little early is better than late.

        :param daemons: rank and name of those that are active now
        :param epoch: s
        """
        untold = not all(sample.rated for sample in self.latest)
        again = untold and now - self.looked >= SOON
        return again or now - self.taken >= 0.9 * epoch or sorted(daemons) != _daemons(self.latest)

    def plus(self, samples: tuple[RankSample, ...], now: float, epoch: float = 0.0) -> "History":
        """With an epoch more. When other daemons hold the ranks, or other ranks are active, it begins anew:
        what one daemon served says nothing of the next.

        :param epoch: s; what comes much earlier is the newest one, looked at again
        """
        ordered = tuple(sorted(samples, key=lambda s: s.rank))
        if not self.epochs or _daemons(ordered) != _daemons(self.latest):
            return History(now, now, now, (ordered,), frozenset(s.rank for s in ordered))
        new = frozenset(s.rank for s, before in zip(ordered, self.latest) if not s.again(before))
        again = now - self.taken < 0.9 * epoch
        if new & self.heard and not again:
            fresh = tuple(s if s.rank in new else replace(s, quickest=0.0) for s in ordered)
            return History(self.began, now, now, (*self.epochs, fresh)[-EPOCHS:], new)
        fresh = tuple(s if s.rank in new else before for s, before in zip(ordered, self.latest))
        taken, epochs = self.taken if again else now, (*self.epochs[:-1], fresh)
        return replace(self, taken=taken, looked=now, epochs=epochs, heard=self.heard | new)

    def series(self) -> Mapping[int, tuple[RankSample, ...]]:
        """One row a rank, oldest first, all of one length."""
        return {row[-1].rank: row for row in zip(*self.epochs)}


def _daemons(samples: tuple[RankSample, ...]) -> list[tuple[int, str]]:
    return [(s.rank, s.name) for s in samples]
