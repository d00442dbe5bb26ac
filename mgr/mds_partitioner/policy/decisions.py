# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the ranks decided lately, as long as a policy of ours balances a file system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..judge.history import History
from ..judge.verdict import Verdict
from ..model import RankSample
from .beats import Beat, Fallback
from .sandbox.decide import PolicyAnswer

REMEMBERED = 10  # decisions


@dataclass(frozen=True)
class Decision:
    """What one rank decided in one beat; ``targets``: (ranks,), popularity to send."""

    rank: int
    time: float  # Unix, s
    targets: tuple[float, ...]
    line: str  # what the policy logged


Totals = tuple[int, int]  # inodes exported and imported


@dataclass
class Watch:
    """What is remembered of one file system while a policy balances it; a new manager begins anew."""

    history: History = field(default_factory=History)
    verdict: Verdict | None = None
    judged_at: float = 0.0  # Unix, s
    beat: Beat | None = None
    decisions: Mapping[int, tuple[Decision, ...]] = field(default_factory=dict)  # replaced: commands read it
    counted_from: dict[tuple[int, str], Totals] = field(default_factory=dict)  # by rank and MDS
    fallbacks: list[Fallback] = field(default_factory=list)
    fell_back: list[Fallback] = field(default_factory=list)  # also those that are told no more
    problem: str = ""
    due: float = 0.0  # monotonic, s
    again: float = 0.0  # when what failed is tried again, likewise
    pushed: float | None = None  # when hints were pushed last, monotonic, s; None: not known yet

    def is_new(self, beat: Beat) -> bool:
        """Was it not decided on yet? Popularity decays after a beat; the rates stay."""
        return self.beat is None or _rates(beat) != _rates(self.beat)

    def decided(self, beat: Beat, answers: Iterable[PolicyAnswer], now: float) -> None:
        """Remember each rank's answer to a beat; ``now``: Unix, s."""
        decisions = dict(self.decisions)
        for rank, answer in enumerate(answers):
            decision = Decision(rank, now, answer.targets, "; ".join(text for _, text in answer.log))
            decisions[rank] = (*decisions.get(rank, ()), decision)[-REMEMBERED:]
        self.decisions, self.beat = decisions, beat

    def count(self) -> None:
        """Totals of an MDS count from its first report on."""
        for sample in (s for s in self.history.latest if s.heard):
            self.counted_from[sample.rank, sample.name] = self._before(sample)

    def moved(self, rank: int) -> Totals:
        """What the rank's MDS moved since this manager began to watch it."""
        sample = next((s for s in self.history.latest if s.rank == rank and s.heard), None)
        if sample is None:
            return 0, 0
        exported, imported = self._before(sample)
        return sample.exported_total - exported, sample.imported_total - imported

    def _before(self, sample: RankSample) -> Totals:
        now = (sample.exported_total, sample.imported_total)
        before = self.counted_from.get((sample.rank, sample.name), now)
        # One that was started again counts from 0.
        return (0, 0) if now[0] < before[0] or now[1] < before[1] else before


def _rates(beat: Beat) -> list[float]:
    return [m["req_rate"] for m in beat.metrics]
