# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the ``scheduler`` commands do. The loops that look and decide are in schedule/rounds.py; what
executes plans is in act/mover.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from . import clock
from .act.choice import live, made_after, operators, ranks_gone, rolled_back_first, under_way
from .act.registry import Plans
from .act.run import ACTIVE, HOURS_OVER, ROLLING_BACK, SCHEDULER_STOPPED, STOPPED, Run
from .ceph.host import Host
from .clock import Now
from .errors import (
    BadInput,
    BadOption,
    Busy,
    JournalError,
    NotFound,
    NotPermitted,
    PartitionerError,
    Unavailable,
)
from .model import FsState, other_pools
from .observe.sessions import clients_at
from .plan.plan import Plan
from .schedule.catalogue import Catalogue
from .schedule.core.state import State
from .schedule.hotspots import Hotspots, recent
from .schedule.hours import closed, misread
from .schedule.ledger import Ledger
from .schedule.options import SchedulerSettings
from .schedule.plans import distributing, scheduled_since, undone
from .schedule.record import (
    ACT,
    ADVISE,
    HOUR,
    MODES,
    OFF,
    UNDOING,
    Kept,
    Turn,
    is_off,
    made,
    on_clock,
    put_back,
    scattered,
)
from .schedule.shown import blind, spots
from .schedule.waiting import automate
from .schedule.watch import Watch


class Scheduling:
    """The schedulers of all file systems."""

    def __init__(
        self,
        host: Host,
        ledger: Ledger,
        plans: Plans,
        policy: Callable[[FsState], bool],
        settings: Callable[[], SchedulerSettings],
        now: Callable[[], Now] = clock.from_epoch,
    ) -> None:
        """``policy``: does a Mantle policy of ours balance a file system?"""
        self._host, self._ledger, self._plans = host, ledger, plans
        self._policy, self._settings, self._now = policy, settings, now
        self._untold: set[int] = set()  # file systems whose mon has not got the last halt yet

    def start(self, fs: FsState, mode: str | None) -> Kept:
        """Begin to look, or change the mode.

        :param mode: None: as it is, of one that is on; else advise
        :raises BadInput: no such mode; in mode act, an option is no time of day
        :raises Busy: in mode act, a plan is under way or was stopped; what was done is being undone; another
            order came meanwhile
        :raises NotPermitted: in mode act, the built-in balancer is on
        :raises Unavailable: what was kept of it was not read yet, or is just followed to another id
        :raises JournalError: the mon did not take it; nothing was changed
        """
        if mode is not None and mode not in MODES:
            raise BadInput(f"'{mode}' is not a mode: use {' or '.join(MODES)}")
        now = self._now()
        watch = known = self._own(fs)
        if watch is None:  # what is to be stopped must be known, from now on
            kept = Kept(fs.name, OFF, now.wall, metadata_pool=fs.metadata_pool)
            watch = Watch(kept, Catalogue(self._host, now.wall, self._now))
            self._ledger.add(fs.fscid, watch)
        if mode is None and watch.kept.mode in MODES:
            return self.get(fs)
        mode, orders = mode or ADVISE, watch.orders
        with self._taken_back(fs, watch, new=known is None):
            if watch.kept.mode == UNDOING:
                raise Busy(f"{_undone(fs)}: wait for it, or end it by '{_stop(fs)}'")
            if mode == ACT:
                self._refuse_act(fs)
                if watch.kept.mode != ACT:
                    self._refuse_held(fs)
            if watch.kept.mode == OFF:
                watch.forget()
            if watch.kept.mode != mode:
                since = self._since(fs, now) if watch.kept.mode == OFF else watch.kept.since
                changes = {"mode": mode, "since": since, "fs": fs.name, "paused": False, "until": None}
                self._ledger.save(fs.fscid, watch, orders, prepared=False, **changes)
                with self._ledger.unchanged():  # the next look saves it
                    turns = self._without_undone(fs, watch.kept.turns)
                    watch.kept, watch.unsaved = replace(watch.kept, turns=turns), True
                self._begin_anew(watch)
        return self.get(fs)

    def _own(self, fs: FsState) -> Watch | None:
        """What was kept of it; not of another one that had its id, which is written over.

        :raises Busy: that one is not off
        :raises Unavailable: it is just followed to another id
        """
        watch = self._ledger.get(fs.fscid)
        self._refuse_followed(fs)
        if watch is None or fs.has(watch.kept.metadata_pool):
            return watch
        if watch.kept.mode != OFF:
            raise Busy(f"{other_pools(fs.name)}: 'ceph mds_partitioner scheduler stop {fs.name}' first")
        return None

    def _refuse_followed(self, fs: FsState) -> None:
        if self._ledger.follows(fs):
            raise Unavailable(f"the scheduler of '{fs.name}' is followed to another id: try it in a moment")

    @contextmanager
    def _taken_back(self, fs: FsState, watch: Watch, *, new: bool) -> Iterator[None]:
        """A first start that fails within leaves nothing, but for what the mon may have taken. What cannot be
        read is not written over."""
        orders = watch.orders
        try:
            yield
        except JournalError:
            if new and fs.fscid in self._ledger.unreadable:
                self._ledger.withdraw(fs.fscid)
            raise
        except PartitionerError:
            if new and watch.orders == orders:
                self._ledger.withdraw(fs.fscid)
            raise

    def _without_undone(self, fs: FsState, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """With those marked whose plans an operator has rolled back, and what they were to distribute as lost
        that is not: it was put back, or not begun. Plans may have been merged, or removed, since."""
        runs = self._plans.of(fs)
        return put_back(undone(turns, runs), distributing(runs, fs.fscid))

    def note_undone(self) -> None:
        """What operators have rolled back is kept, before its plans are forgotten; the next look saves it.

        :raises Unavailable: what the last manager kept was not read yet
        """
        for fscid, watch in list(self._ledger.known().items()):
            with self._ledger.unchanged():
                turns = undone(watch.kept.turns, self._read(fscid))
                if turns != watch.kept.turns:
                    watch.kept, watch.unsaved = replace(watch.kept, turns=turns), True

    def _read(self, fscid: int) -> list[Run]:
        """The plans of a file system; none before the journal was read: what stops something never waits."""
        return [run for run in self._plans.read() if run.plan.fscid == fscid]

    def _since(self, fs: FsState, now: Now) -> float:
        """Whole seconds, as they are kept: what is planned in the first second belongs to it, and what was
        planned before does not, also when the host's clock was put back."""
        last = max((run.plan.created for run in self._plans.of(fs) if run.plan.scheduled), default=0.0)
        return float(max(int(now.wall), int(last) + 1))

    def _begin_anew(self, watch: Watch) -> None:
        """What was advised was not done; what was done within the hour counts."""
        watch.advised, watch.due = {}, 0.0
        past = made(watch.kept.turns, self._now().steady - HOUR)
        there = scattered(watch.kept.turns)
        before = watch.state
        wholes = {ino: replace(whole, looks=0) for ino, whole in before.wholes.items()}
        watch.state = State(
            demand=before.demand, past=past, split=before.split, wholes=wholes, scattered=there
        )

    def _refuse_act(self, fs: FsState) -> None:
        why = misread(self._settings())
        if why:  # it would look, and never act
            raise BadOption(why)
        for run in self._plans.of(fs):
            back = run.heading() == ROLLING_BACK  # what it sets meanwhile would be taken for an operator's
            if run.head.state in ACTIVE and (back or not run.plan.scheduled):
                raise Busy(under_way(run, fs.name))
        why = automate(self._policy, self._plans.of(fs), self._host.fs_of_mon(fs.fscid) or fs)
        if why:
            raise NotPermitted(why)
        why = self.stopped(fs)
        if why:
            raise Busy(why)

    def _refuse_held(self, fs: FsState) -> None:
        """Beside what is held of its own nobody would be told that nothing goes on."""
        for run in self._plans.of(fs):
            if run.plan.scheduled and run.head.state in ACTIVE and self._plans.held(run):
                raise Busy(
                    f"plan '{run.plan.name}' of the scheduler is paused: "
                    f"'ceph mds_partitioner partition resume {fs.name}' first"
                )

    def stopped(self, fs: FsState) -> str:
        """What is to be done about a plan of its own that was stopped before it may act; "": there is none.

        :raises Unavailable: the journal was not read yet
        """
        own = [run for run in self._plans.of(fs) if run.ordered().state == STOPPED and run.plan.scheduled]
        if not own:
            return ""
        more = f", and {len(own) - 1} more" if len(own) > 1 else ""
        newest = own[-1]  # it is rolled back first
        return f"plan '{newest.plan.name}' of the scheduler was stopped{more}: {self._choices(fs, newest)}"

    def _choices(self, fs: FsState, run: Run) -> str:
        """What can be done about a plan of its own that was stopped."""
        name, back = run.plan.name, run.heading() == ROLLING_BACK
        on = "" if back or ranks_gone(run, fs) else f"go on with it ('partition start {fs.name} {name}') or "
        later = [other for other in live(self._plans.of(fs)) if made_after(other, run)]
        if not later:
            return f"{on}undo it ('partition rollback {fs.name} {name}') first"
        watch = self._ledger.of(fs)
        since_start = watch is not None and run.plan.created >= watch.kept.since
        if watch is not None and since_start and self._newer(fs, watch) is None:
            return f"{on}undo it and all since the start ('scheduler stop {fs.name} --rollback') first"
        on = "" if operators(later) else on
        return (
            f"{on}roll '{later[-1].plan.name}', which was made later, back first, or forget this one "
            f"('partition rm {name} {fs.name}': what it pinned is yours then)"
        )

    def stop(self, fs: FsState, rollback: bool) -> Kept:
        """Begin nothing more. What is under way arrives; with ``rollback`` all since the start is undone.

        :raises NotFound: it was never started
        :raises Busy: a plan that was made later must be rolled back first
        :raises Unavailable: with ``rollback``: it is just followed to another id, and what it did, too
        :raises JournalError: the mon did not take it, or what is to be stopped is not known yet; this manager
            has stopped all the same. Or it cannot be read: then nothing is on
        """
        if not rollback and self._ledger.early(fs, mode=OFF, paused=False, until=None):
            raise JournalError(f"{_unread(fs)}: it is off as soon as it was")
        watch = self._ledger.find(fs)
        if rollback:
            self._refuse_followed(fs)
            if not fs.has(watch.kept.metadata_pool):
                raise Busy(other_pools(fs.name))
            self._refuse_under_newer(fs, watch)
        if rollback or watch.kept.mode in MODES:
            self._ledger.order(fs, watch, mode=UNDOING if rollback else OFF, paused=False, until=None)
        else:
            self._ledger.hold(watch)  # a start that is still being written
        return self.get(fs)

    def _refuse_under_newer(self, fs: FsState, watch: Watch) -> None:
        newer = self._newer(fs, watch)
        if newer is not None:
            raise Busy(rolled_back_first(*newer))

    def _newer(self, fs: FsState, watch: Watch) -> tuple[Run, Run] | None:
        """An operator's plan to be rolled back before all that was done since the start, and the oldest
        of that."""
        ours = scheduled_since(self._plans.of(fs), watch.kept.since)
        others = operators(live(self._plans.of(fs))) if ours else []
        return next(((run, ours[0]) for run in others if made_after(run, ours[0])), None)

    def halt(self, fs: FsState) -> bool:
        """An emergency stop: from now on it only advises. Did it act, or may it? In memory; ``keep`` makes it
        last."""
        if self._ledger.early(fs, mode=ADVISE, paused=False, until=None):
            return True
        watch = self._ledger.of(fs)
        if watch is None:
            return False
        if not self.acting(fs):
            self._ledger.hold(watch)  # a start that is still being written
            return fs.fscid in self._untold and watch.kept.mode == ADVISE
        self._hold(fs, watch, mode=ADVISE, paused=False, until=None)
        self._begin_anew(watch)
        return True

    def pause(self, fs: FsState, seconds: int | None) -> bool:
        """Begin nothing for a while, or until it is resumed. Is it on? In memory, as ``halt``."""
        until = None if seconds is None else self._now().steady + seconds
        if self._ledger.early(fs, paused=True, until=until):
            return True
        watch = self._ledger.of(fs)
        if watch is None or watch.kept.mode == OFF:
            return False
        self._hold(fs, watch, paused=True, until=until)
        return True

    def _hold(self, fs: FsState, watch: Watch, **changes: Any) -> None:
        self._untold.add(fs.fscid)
        self._ledger.hold(watch, **changes)

    def keep(self, fs: FsState) -> None:
        """Make durable what was ordered. :raises JournalError: it holds in this manager all the same"""
        if not self._ledger.read:
            raise JournalError(_unread(fs))
        self._ledger.keep(fs)
        self._untold.discard(fs.fscid)

    def resume(self, fs: FsState) -> bool:
        """End a pause. Does it act, or was it paused? Errors as ``start``"""
        self._refuse_followed(fs)
        watch = self._ledger.get(fs.fscid)
        if watch is None:
            return False
        orders = watch.orders
        if not (self.acting(fs) or watch.kept.paused):
            return False
        self._ledger.save(fs.fscid, watch, orders, paused=False, until=None)
        return True

    def get(self, fs: FsState) -> Kept:
        """What is kept, times by the wall clock, with what was rolled back. Errors as ``Ledger.find``."""
        kept, now = self._ledger.find(fs).kept, self._now()
        kept = replace(kept, turns=undone(kept.turns, self._read(fs.fscid)))
        return on_clock(kept, now.wall - now.steady)

    def watch(self, fs: FsState) -> Watch:
        """What was seen since this manager began to look. Errors as ``Ledger.find``."""
        return self._ledger.find(fs)

    def hotspots(self, fs: FsState) -> Hotspots:
        """Directories that are hot, or were regularly.

        :raises NotFound: it is off
        :raises JournalError: what was kept of it cannot be read
        :raises Unavailable: it does not look now
        """
        watch, now = self._ledger.find(fs), self._now()
        if watch.kept.mode == OFF:
            raise NotFound(is_off(fs.name))
        why = blind(watch, now.steady)
        if why:
            see = f"see 'ceph mds_partitioner scheduler status {fs.name}'"
            raise Unavailable(f"the scheduler of '{fs.name}' does not look now: {why}; {see}")
        glimpses, found = recent(watch.glimpses, now.steady), spots(watch, now.steady)
        clients = clients_at(self._host, fs, {piece.path: piece.rank for _, piece in found})
        looked = now.steady - glimpses[0].at if glimpses else 0.0
        return Hotspots(found, clients, now.wall - now.steady, looked)

    def next_look(self, fs: FsState) -> float | None:
        """In how many seconds; None: none is due."""
        watch = self._ledger.find(fs)
        return None if watch.kept.mode == OFF else max(0.0, watch.due - self._now().steady)

    def acting(self, fs: FsState) -> bool:
        """Does it change this file system? :raises Unavailable: that was not read yet"""
        watch = self._ledger.of(fs)
        return watch is not None and watch.kept.mode in (ACT, UNDOING)

    def unwanted(self, plan: Plan) -> str | None:
        """Why nothing more of a plan that it decided is to be begun; "": it is. What was decided before a
        stop is not begun after the next start. None: what the last manager kept was not read yet."""
        if not self._ledger.read:
            return None
        watch = self._ledger.get(plan.fscid)
        if watch is None or watch.kept.mode != ACT or plan.created < watch.kept.since:
            return SCHEDULER_STOPPED
        return HOURS_OVER if closed(datetime.fromtimestamp(self._now().wall), self._settings()) else ""

    def in_the_way(self, fs: FsState) -> str:
        """Why nobody else may begin or undo a plan; "" when it does not act.

        :raises Unavailable: as ``acting``, or the journal was not read yet
        """
        if not self.acting(fs):
            return ""
        watch = self._ledger.find(fs)
        if watch.kept.mode == UNDOING:
            told = f"'ceph mds_partitioner scheduler status {fs.name}' says when it is off"
            return f"{_undone(fs)}: {told}; '{_stop(fs)}' ends that"
        undo = ", with --rollback to undo what it did" if self._newer(fs, watch) is None else ""
        return (
            f"the scheduler acts on '{fs.name}': run 'ceph mds_partitioner scheduler stop {fs.name}' "
            f"first{undo}"
        )


def _unread(fs: FsState) -> str:
    return f"what the scheduler of '{fs.name}' does was not read from the mon yet"


def _undone(fs: FsState) -> str:
    return f"what the scheduler did on '{fs.name}' is being undone"


def _stop(fs: FsState) -> str:
    return f"ceph mds_partitioner partition stop {fs.name}"
