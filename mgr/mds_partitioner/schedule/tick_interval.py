# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often MDSs look at their pins."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..ceph import tick
from ..ceph.host import Host
from ..ceph.tick import QUICK, Ticks
from ..clock import Now
from ..errors import PartitionerError, Unavailable
from ..model import FsState
from ..store import by_fs
from . import tick_option

TOLD = "tick/"  # and the file system's id: a key, of names of MDSs that may have been told
LATE = 900.0  # s, in which what was not answered, or a manager that was replaced had sent, comes, if ever
SILENT = 5.0  # s, for which one that did not answer is not told: it follows its pins all the same
AGAIN = 30.0  # s, after which those are asked once more of which it is not known that they tick as before


@dataclass
class _Told:
    """Of a file system, what this manager knows. Times are the steady clock's, s.

    :ivar names: of MDSs that may tick more often because of us; the mon has no others
    :ivar quick: of those that need not be told again while something moves
    :ivar late: until when something may come late
    :ivar again: from when on they are asked again, when nothing moves
    :ivar silent: until when those that did not answer are not told, so that nothing waits for them each time
    """

    names: frozenset[str]
    quick: frozenset[str] = frozenset()
    late: float = -math.inf
    again: float = -math.inf
    silent: Mapping[str, float] = field(default_factory=dict)


class TickInterval:
    """Short while something moves, and then as it was: on a tick MDSs also flush journals and recall
    capabilities (MDSRank.cc), and clients that make and delete files all the time made a fifth to a
    quarter more requests with ticks of a second.

    Whom it is told is kept before, for the next manager. An MDS that leaves its file system, or its rank,
    begins anew (MDSDaemon.cc, handle_mds_map), and has forgotten it. One that does not answer in time is no
    failure: it follows its pins all the same, and is told again.
    """

    def __init__(self, host: Host, now: Callable[[], Now]) -> None:
        self._host, self._now = host, now
        self._told: dict[int, _Told] = {}  # by fscid; not there: the last manager may have told some

    def short(self, fscid: int) -> bool:
        """May MDSs of it tick more often because of us?"""
        return fscid not in self._told or bool(self._told[fscid].names)

    def shorten(self, fs: FsState) -> None:
        """Something begins to move. What an operator has made as short, or has told an MDS, stays.

        :raises PartitionerError: the mon does not keep whom it is to be told, or an MDS refused it
        """
        told, now = self._of(fs.fscid), self._now().steady
        told.again = -math.inf
        silent = {name for name, until in told.silent.items() if now < until}
        found = tick.ticks(self._host, fs, {m.name for m in fs.active()} - told.quick - silent)
        known = {name: of for name, of in found.items() if isinstance(of, Ticks)}
        slow = {name for name, of in known.items() if of.told is None and of.usual > float(QUICK)}
        answers: dict[str, Any] = {}
        if slow:
            told.names |= slow  # a write that gets no answer may come all the same
            self._keep(fs.fscid, told.names)
            answers = tick.shorten(self._host, fs, slow)
        told.quick |= known.keys() - _failed(answers).keys()
        until = self._now().steady
        if _unheard(answers):
            told.late = until + LATE
        told.silent = {**told.silent, **dict.fromkeys(_unheard(found | answers), until + SILENT)}
        _raise_refusal(found | answers)

    def restore(self, fscid: int) -> None:
        """Nothing moves. What an operator has told an MDS meanwhile stays. Errors as ``shorten``, or the mon
        does not say whether the file system is there."""
        told, now = self._of(fscid), self._now().steady
        if not told.names or now < told.again:
            return
        told.quick, told.silent = frozenset(), {}
        fs = self._host.fs_unless_removed(fscid)
        if fs is None:
            self._keep(fscid, ())
            told.names = frozenset()
            return
        there = told.names & {m.name for m in fs.mds}
        found = tick.ticks(self._host, fs, there)
        ours = {name for name, of in found.items() if isinstance(of, Ticks) and of.ours}
        answers = tick.restore(self._host, fs, ours)
        left = there if now < told.late else frozenset(_failed(found | answers))
        if left != told.names:
            self._keep(fscid, left)
        told.names, told.again = left, now + AGAIN
        _raise_refusal(found | answers)

    def restore_unwatched(self, watched: Collection[int]) -> bool:
        """Of file systems that were removed while no manager looked, or whose record cannot be read. Is
        nothing left? Errors as ``restore``.
        """
        kept = (fscid for fscid, _, _ in by_fs(self._host.store.items(TOLD), TOLD))
        unwatched = {*kept, *tick_option.claimed(self._host)}.difference(watched)
        for fscid in sorted(unwatched):
            self.restore(fscid)
        return not any(map(self.short, unwatched))

    def _of(self, fscid: int) -> _Told:
        """:raises PartitionerError: what the last manager has left is not known, or not put back"""
        if fscid not in self._told:
            tick_option.put_back(self._host, fscid)
            names = _names(self._host.store.items(_key(fscid)).get(_key(fscid), "[]"))
            late = self._now().steady + LATE if names else -math.inf
            self._told[fscid] = _Told(names, late=late)
        return self._told[fscid]

    def _keep(self, fscid: int, names: Collection[str]) -> None:
        if names:
            self._host.store.put(_key(fscid), json.dumps(sorted(names)))
        else:
            self._host.store.delete(_key(fscid))


def _key(fscid: int) -> str:
    return f"{TOLD}{fscid}"


def _names(kept: str) -> frozenset[str]:
    """None of what cannot be read: nobody could be told."""
    with suppress(ValueError, TypeError, RecursionError):
        return frozenset(map(str, json.loads(kept)))
    return frozenset()


def _failed(answers: Mapping[str, Any]) -> dict[str, PartitionerError]:
    return {name: answer for name, answer in answers.items() if isinstance(answer, PartitionerError)}


def _unheard(answers: Mapping[str, Any]) -> list[str]:
    return [name for name, error in _failed(answers).items() if isinstance(error, Unavailable)]


def _raise_refusal(answers: Mapping[str, Any]) -> None:
    for error in _failed(answers).values():
        if not isinstance(error, Unavailable):
            raise error
