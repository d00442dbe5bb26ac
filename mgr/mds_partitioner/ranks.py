# SPDX-License-Identifier: LGPL-2.1-or-later
"""The one place that samples the ranks and has them judged, once an epoch, for all who ask."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .ceph.host import Host
from .errors import PartitionerError, Unavailable, Unheard
from .judge.history import EPOCHS, History
from .judge.learned import Learned, learn, worth_saving
from .judge.verdict import Engine, Verdict, rank_arguments, read_verdict
from .model import FsState, RankSample
from .observe.ranks import observe_ranks, silent
from .options import Settings
from .plan.ranks import mask_of
from .store import by_fs

KEY = "capacity/"


@dataclass(frozen=True)
class _Judged:
    """The newest verdict and what it was made from."""

    history: History
    asked: dict[str, Any]  # but for the capacity learned earlier, which the verdict itself changes
    knew: bool  # there was such a one
    verdict: Verdict
    full: tuple[int, ...]  # ranks, in the last epoch alone


class Ranks:
    """Histories, verdicts and learned capacities of all file systems. Values are replaced, never changed:
    readers need no lock, and nobody waits for the engine under one."""

    def __init__(
        self,
        host: Host,
        engine: Engine,
        settings: Callable[[], Settings],
        log: logging.Logger,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """``wall``: Unix, s, the clock by which the manager stamps what MDSs report."""
        self._host, self._engine, self._settings, self._log = host, engine, settings, log
        self._wall = wall
        self._histories: dict[int, History] = {}
        self._judged: dict[int, _Judged] = {}
        self._learned: dict[int, Learned] = {}
        self._saved: dict[int, float] | None = None  # what the store has; None: not read yet

    def begin(self, now: float) -> None:
        """Read the capacities that were learned earlier. :raises PartitionerError: the mon does not answer"""
        items, saved = self._host.store.items(KEY), dict[int, float]()
        for fscid, _, key in by_fs(items, KEY):
            if self._host.fs_unless_removed(fscid) is None:
                self._host.store.delete(key)
                continue
            try:
                saved[fscid] = _capacity(items[key])
            except ValueError as e:  # the next one that is learned replaces it
                self._log.error("the capacity of file system %d cannot be read: %s", fscid, e)
        for fscid, value in saved.items():
            known = self._learned.get(fscid)
            if known is None or known.value < value:
                self._learned[fscid] = Learned(value, now)
        self._saved = saved

    def history(self, fs: FsState, now: float) -> History:
        """The ranks' last epochs, with a new sample when the newest is an epoch old; that one is looked at
        again for ranks that had not told what they serve.

        :param now: the monotonic clock, s
        :raises PartitionerError: the manager cannot be asked
        """
        epoch = self._settings().epoch
        known = self._histories.get(fs.fscid, History())
        if known.due([(m.rank, m.name) for m in fs.active()], now, epoch):
            known = known.plus(observe_ranks(self._host, fs, epoch, self._wall()), now, epoch)
            self._histories[fs.fscid] = known
        return known

    def judge(self, fs: FsState, now: float) -> Verdict:
        """The verdict on the newest epoch; the same one for everybody until the next. Learns from it.

        :param now: the monotonic clock, s
        :raises PartitionerError: the manager cannot be asked, or the engine failed
        :raises Unheard: it is not known what any rank serves
        """
        settings = self._settings()
        history = self.history(fs, now)
        if not history.latest:
            raise rankless(fs)
        asked = rank_arguments(history.series(), settings, None, _among(fs, history.latest))
        judged = self._judged.get(fs.fscid)
        if judged is not None and judged.history is history and judged.asked == asked:
            # What was learned before a fail-over may be read later than the first epoch is judged.
            blind = judged.verdict.capacity.value is None and not judged.knew
            if not blind or self.learned(fs.fscid) is None:
                return judged.verdict
        known, span = self._learned.get(fs.fscid), EPOCHS * settings.epoch
        least, earlier = None if known is None else known.least(now, span), self.learned(fs.fscid)
        arguments = asked | {"learned_capacity": earlier, "least_capacity": least}
        answer = self._engine("judge", arguments)
        verdict = read_verdict(answer, arguments)
        full = tuple(answer["full_now"])
        self._judged[fs.fscid] = _Judged(history, asked, earlier is not None, verdict, full)
        if verdict.taught is not None:  # and what was read meanwhile counts
            self._learned[fs.fscid] = learn(self._learned.get(fs.fscid), verdict.taught, now, span)
        self._save(fs.fscid)
        return verdict

    def full(self, fscid: int) -> tuple[int, ...]:
        """Ranks that were full in the epoch that was judged last, be it the first one."""
        judged = self._judged.get(fscid)
        return () if judged is None else judged.full

    def silent(self, fs: FsState) -> dict[int, float]:
        """Active ranks that have said nothing for longer than so many seconds. They are not judged: one that
        may be dead is not idle.

        :raises PartitionerError: the manager cannot be asked
        """
        return silent(self._host, fs, self._wall())

    def learned(self, fscid: int) -> float | None:
        """The capacity that saturated ranks taught, req/s; None: none yet."""
        known = self._learned.get(fscid)
        return None if known is None else known.value

    def forget_all_but(self, fscids: frozenset[int]) -> None:
        """File systems that are gone need no memory."""
        for kept in (self._histories, self._judged, self._learned):
            for fscid in set(kept) - fscids:
                kept.pop(fscid, None)

    def _save(self, fscid: int) -> None:
        known = self.learned(fscid)
        if known is None or self._saved is None or not worth_saving(known, self._saved.get(fscid)):
            return
        try:
            self._host.store.put(f"{KEY}{fscid}", str(known))
            self._saved[fscid] = known
        except PartitionerError as e:  # it is known all the same, and written with the next verdict
            self._log.warning("the capacity of file system %d was not saved: %s", fscid, e)


def rankless(fs: FsState) -> Unavailable:
    """Why nobody can be judged where no rank is active."""
    return Unavailable(f"'{fs.name}' has no active rank: see 'ceph fs status {fs.name}'")


def _capacity(text: str) -> float:
    """req/s. :raises ValueError: it is none"""
    value = float(text)
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{text!r} is not a number above 0")
    return value


def _among(fs: FsState, samples: Sequence[RankSample]) -> tuple[int, ...] | None:
    """The ranks that are judged, None: all. What one serves that has not told it is not nothing."""
    mask, known = mask_of(fs), tuple(sample.rank for sample in samples if sample.rated)
    if len(known) == len(samples):
        return mask
    if mask:
        known = tuple(rank for rank in known if rank in mask)
    if not known:
        raise Unheard(f"no rank of '{fs.name}' has told this manager twice what it serves: try again in 10 s")
    return known
