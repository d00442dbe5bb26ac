# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the schedulers must remember: in memory at once, in the mon as soon as that takes it."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from .. import clock
from ..ceph.host import Host
from ..clock import Now
from ..errors import Busy, JournalError, NotFound, PartitionerError, Unavailable, unexpected
from ..judge.archive import Archive
from ..judge.fullness import Fullness, Taught
from ..model import FsState
from .catalogue import Catalogue
from .core.state import State
from .record import (
    ACT,
    HOUR,
    MODES,
    OFF,
    UNDOING,
    Kept,
    Shifting,
    Turn,
    is_off,
    made,
    not_after,
    on_clock,
    scattered,
    wholes,
)
from .watch import Watch


class Ledger:
    """Of all file systems; commands and loops both change it. In memory under a lock that is never held while
    Ceph is waited for; in the mon one after the other, the newest each time."""

    def __init__(self, host: Host, log: logging.Logger, now: Callable[[], Now] = clock.from_epoch) -> None:
        self._host, self._log, self._now = host, log, now
        self._archive = Archive(host.store, "scheduler/", Kept, often=Turn, incarnation=host.incarnation())
        self._shifts: defaultdict[int, Shifting] = defaultdict(Shifting)  # to the wall clock, by fscid
        self._watches: dict[int, Watch] | None = None
        self.unreadable: dict[int, str] = {}
        """Why a record cannot be read, by fscid; until it is started anew."""
        self._early: dict[int, tuple[FsState, dict[str, Any]]] = {}  # orders that came before that was read
        self._off: set[int] = set()  # of these, who is to be off
        self._lock = threading.Lock()  # of what is kept, in memory
        # Of what is kept, in the mon, a file system each: none waits for another one's write.
        self._saving: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)

    def begin(self) -> None:
        """Read what the last manager kept."""
        now = self._now()
        watches: dict[int, Watch] = {}
        for fscid, kept in self._archive.load().items():
            fs = self._host.fs_unless_removed(fscid)
            if fs is None and self._is_over(kept):
                self._forget_removed(fscid)
            elif isinstance(kept, ValueError):
                self._unreadable(fscid, str(kept))
            else:
                try:
                    watches[fscid] = self._restored(kept, fs, now)
                except Exception as e:  # whatever makes no sense in it must not stop the others
                    self._unreadable(fscid, unexpected(e))
        with self._lock:
            for fs, early in self._early.values():
                found = self._found(fs, watches)
                if found is not None:
                    self._hold_early(fs.fscid, early, found[1])
            self._watches = watches

    def _is_over(self, kept: Kept | ValueError) -> bool:
        """Of a file system that was removed: does nobody need it, whatever 'fs new --recover' brings back?"""
        if isinstance(kept, ValueError):
            return True
        return kept.metadata_pool is None or kept.metadata_pool not in self._host.pools()

    def _unreadable(self, fscid: int, why: str) -> None:
        self._log.error("the scheduler's record of file system %d cannot be read: %s: it is off", fscid, why)
        self.unreadable[fscid] = why

    def _forget_removed(self, fscid: int) -> None:
        """What the mon does not take now, the next manager tries again."""
        try:
            self._archive.forget(fscid)
        except PartitionerError as e:
            self._log.warning("the scheduler's record of a removed file system: %s", e)

    @property
    def read(self) -> bool:
        """Is it known what the last manager kept?"""
        return self._watches is not None

    def early(self, fs: FsState, **changes: Any) -> bool:
        """An operator's order before it is known what the last manager kept: it holds as soon as that is.
        False: it is known."""
        with self._lock:
            if self._watches is not None:
                return False
            _, before = self._early.get(fs.fscid, (fs, {}))
            off = changes.get("mode") == OFF
            self._early[fs.fscid] = fs, before if off else before | changes
            self._off |= {fs.fscid} if off else set()
            return True

    def _hold_early(self, fscid: int, changes: dict[str, Any], watch: Watch) -> None:
        """What early orders change of what was kept. What is to be off is off, whatever comes after; what is
        being undone goes on, as it does where that is known, unless it was halted."""
        if fscid in self._off and watch.kept.mode in MODES:
            changes = {"mode": OFF, "paused": False, "until": None}
        elif watch.kept.mode not in (ACT, UNDOING):
            return
        if changes:
            watch.kept, watch.unsaved = replace(watch.kept, **changes), True

    def _restored(self, kept: Kept, fs: FsState | None, now: Now) -> Watch:
        kept = on_clock(kept, now.steady - now.wall)
        if fs is not None and kept.metadata_pool is None:
            kept = replace(kept, metadata_pool=fs.metadata_pool)
        turns = not_after(kept.turns, now.steady)
        state = State(
            past=made(turns, now.steady - HOUR),
            split=frozenset(kept.split),
            wholes=wholes(kept.wholes, now.steady - now.wall),
            scattered=scattered(turns),
        )
        known = Fullness(capacity={c.mds: Taught(c.value, c.inside) for c in kept.capacities})
        catalogue = Catalogue(self._host, now.wall, self._now)
        day = tuple(replace(hour, start=min(hour.start, now.steady)) for hour in kept.day)
        kept = replace(kept, turns=turns, day=day)
        watch = Watch(kept, catalogue, state, fullness=known, ordered=now.steady, counted=kept.done)
        watch.unsaved = True  # in this manager's name: what the last one writes late does not hold then
        return watch

    def all(self) -> list[tuple[int, Watch]]:
        """By fscid; none before the last manager's was read."""
        return list((self._watches or {}).items())

    def get(self, fscid: int) -> Watch | None:
        """None: it was never started. :raises Unavailable: what the last manager kept was not read yet"""
        return self.known().get(fscid)

    def known(self) -> dict[int, Watch]:
        """By fscid. :raises Unavailable: what the last manager kept was not read yet"""
        if self._watches is None:
            raise Unavailable("the module is starting: what the scheduler kept was not read yet")
        return self._watches

    def of(self, fs: FsState) -> Watch | None:
        """What is kept of it, also while that is still to be moved to its id. None, errors: as ``get``"""
        found = self._found(fs, self.known())
        return None if found is None else found[1]

    def _found(self, fs: FsState, known: Mapping[int, Watch]) -> tuple[int, Watch] | None:
        """Under which id it is kept, and what."""
        watches = dict(known)  # as they are at one moment: the loops move them
        if fs.fscid in watches:
            return fs.fscid, watches[fs.fscid]
        if fs.fscid in self.unreadable:  # nothing is moved there
            return None
        pool = fs.metadata_pool
        return next(((i, watch) for i, watch in watches.items() if watch.kept.metadata_pool == pool), None)

    def find(self, fs: FsState) -> Watch:
        """:raises NotFound: it was never started

        :raises JournalError: what was kept of it cannot be read
        """
        found = self.of(fs)
        if found is None and self.unread(fs):
            raise JournalError(self.unread(fs))
        if found is None:
            raise NotFound(is_off(fs.name))
        return found

    def unread(self, fs: FsState) -> str:
        """Why what the last manager kept of it cannot be read; "" where it can, or nothing was kept."""
        why = self.unreadable.get(fs.fscid, "")
        return why and f"what the scheduler of '{fs.name}' kept cannot be read: {why}"

    def add(self, fscid: int, watch: Watch) -> None:
        """One that is started."""
        assert self._watches is not None
        self._watches[fscid] = watch

    def withdraw(self, fscid: int) -> None:
        """It was not started after all."""
        if self._watches is not None:
            self._watches.pop(fscid, None)

    def follows(self, fs: FsState) -> bool:
        """Is what is kept of it still to be moved to its id, from another one?"""
        found = self._found(fs, self.known())
        return found is not None and found[0] != fs.fscid

    def move(self, fscid: int, to: int, *, prepared: bool) -> bool:
        """Its file system has the id ``to`` by now. Is that done? Not where that one has a record of its own.

        :param prepared: is it as acting needs it?
        :raises JournalError: the mon did not take it; it is tried again
        """
        watches = self.known()
        watch, other = watches[fscid], watches.get(to)
        if to in self.unreadable or (other and other.kept.metadata_pool != watch.kept.metadata_pool):
            return False
        if other is None:
            self.add(to, watch)  # first: what is ordered from now on is saved there
            try:
                self.save(to, watch, prepared=prepared)
            except Exception:
                self.withdraw(to)
                raise
        self.forget(fscid)  # or a manager died before that
        return True

    def forget(self, fscid: int) -> None:
        """Its file system was removed."""
        self._archive.forget(fscid)
        self._shifts.pop(fscid, None)
        self.withdraw(fscid)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Within, for a moment, no command changes what is kept."""
        with self._lock:
            yield

    def change(self, watch: Watch, **changes: Any) -> None:
        """In memory."""
        with self._lock:
            watch.kept = replace(watch.kept, **changes)

    def hold(self, watch: Watch, **changes: Any) -> None:
        """An operator's order holds from now on; what is still being written of one before does not."""
        with self._lock:
            watch.orders, watch.unsaved = watch.orders + 1, True
            watch.kept = replace(watch.kept, **changes)
        watch.due = 0.0

    def order(self, fs: FsState, watch: Watch, **changes: Any) -> None:
        """The same, made durable."""
        self.hold(watch, **changes)
        self.keep(fs)

    def keep(self, fs: FsState) -> None:
        """Make durable what holds of it, if anything is known, under the id that it has by now."""
        found = self._found(fs, self.known())
        if found is not None:
            self.save(*found)

    def save(self, fscid: int, watch: Watch, orders: int | None = None, **changes: Any) -> None:
        """Made durable, and holds then.

        :param orders: that had been given when it was decided; None: when it is saved
        :raises Busy: an order came meanwhile, and holds in its place
        :raises JournalError: the mon did not take it; the next look writes what holds
        """
        with self._lock:
            saving = self._saving[fscid]
        with saving:
            with self._lock:
                orders = watch.orders if orders is None else orders
                kept = replace(watch.kept, **(changes if watch.orders == orders else {}))
                unsaved, watch.unsaved = watch.unsaved, False  # what comes meanwhile is in the next one
            try:
                self._write(fscid, kept)
            except Exception:  # the mon may have it all the same, and it must not hold
                with self._lock:
                    watch.unsaved = watch.unsaved or unsaved or bool(changes)
                raise
            with self._lock:
                watch.counted = kept.done
                overruled = watch.orders != orders
                watch.unsaved = watch.unsaved or overruled
                watch.kept = watch.kept if overruled else replace(watch.kept, **changes)
            if overruled:
                self._write(fscid, watch.kept)  # and again by the next look, if the mon does not take it now
            watch.saved = self._now().steady
        self.unreadable.pop(fscid, None)  # it was written anew
        if overruled and changes:
            raise Busy(f"another order to the scheduler of '{kept.fs}' came meanwhile: that one holds")

    def _write(self, fscid: int, kept: Kept) -> None:
        now = self._now()
        kept = on_clock(kept, now.wall - now.steady, self._shifts[fscid])
        turns = kept.turns
        while not self._archive.save(fscid, replace(kept, turns=turns)):
            if not turns:
                raise JournalError(f"the scheduler's record of '{kept.fs}' is too large to be kept")
            self._log.warning("the scheduler's record of '%s' is too large: its older half goes", kept.fs)
            turns = turns[(len(turns) + 1) // 2 :]
