# SPDX-License-Identifier: LGPL-2.1-or-later
"""The loops that read about file systems, look at them, and decide; orders are given by orders.py."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from .. import clock
from ..abreast import Each, in_turn
from ..act.registry import Plans
from ..act.run import Run
from ..ceph.host import Host
from ..ceph.pools import Pools
from ..clock import Now
from ..errors import Busy, PartitionerError, unexpected
from ..judge.verdict import Engine
from ..model import NO_PIN, FsState, other_pools
from ..observe.ranks import silent, unheard
from ..options import Settings
from ..plan.circumstances import DISTRIBUTES
from ..ranks import Ranks
from ..verify.guards import FOLLOWS_PINS
from ..verify.obeyed import Obeyed
from .core.advice import as_if, outstanding
from .core.decision import Scheduler
from .core.state import State
from .core.view import Decision, View
from .ledger import Ledger
from .looker import Looker
from .options import SchedulerSettings
from .orders import Orders
from .owned import Owned
from .plans import gathered_again, has_prepared, owned
from .reading import News, read, unknown
from .record import ACT, ADVISE, MODES, OFF, UNDOING, Capacity, begun, in_parts
from .tick_interval import TickInterval
from .waiting import kept_out, paused, unready
from .watch import CALM, Watch, relative

GLANCE = 2.5  # s between two looks only at where things are, while something is under way
SHARE = 0.015  # of a core that looks take: with very many directories there are fewer of them
GLANCES = 0.0075  # of a core, of that, that glances take: likewise
IDLE = 10.0  # s between two looks whether there is something to do
GATHERED = f"{DISTRIBUTES} is false: MDSs place nothing in it any more, though it is distributed"
UNRIPE = "it reads which directories there are, and which of the busiest can be split"
SAVE_EVERY = 60.0  # s, when nothing happened that must not be lost


class Rounds:
    """Of all file systems."""

    def __init__(
        self,
        host: Host,
        engine: Engine,
        ranks: Ranks,
        ledger: Ledger,
        plans: Plans,
        undo: Callable[[Run, int], None],
        policy: Callable[[FsState], bool],
        settings: Callable[[], tuple[Settings, SchedulerSettings]],
        log: logging.Logger,
        now: Callable[[], Now] = clock.from_epoch,
        *,
        left: Callable[[FsState], str],
        planned: Callable[[], None],
        failed: Callable[[], None],
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        """``undo`` begins a rollback. ``policy``: does a Mantle policy of ours balance a file system?

        :param left: which MDS goes on without that policy, and why; "": none does
        :param planned: called when there is something to do
        :param failed: told of each failure
        :param spent: CPU seconds that the calling thread has taken so far
        """
        self._host, self._ranks, self._ledger, self._plans = host, ranks, ledger, plans
        self._policy, self._settings, self._log, self._now = policy, settings, log, now
        self._left = left
        self._looker, self._tick_interval = Looker(host, engine, now), TickInterval(host, now)
        self._pools, self._pins = Pools(host, now), Obeyed(host, FOLLOWS_PINS)
        self._distributes = Obeyed(host, DISTRIBUTES)
        self._planned, self._failed, self._spent = planned, failed, spent
        self._unwatched = True  # a manager may have left something of file systems that nobody watches
        self._orders = Orders(host, ledger, plans, undo, self._tick_interval, planned, log, now)

    def tick(self, each: Each = in_turn) -> float:
        """Look at the file systems whose turn it is. Returns in how many seconds the next look is due."""
        now = self._now()
        if self._unwatched and self._ledger.read:
            self._restore_unwatched()
        watched = []
        for i, watch in self._ledger.all():
            if self._has_to_do(i, watch):
                watched.append((i, watch))
            else:  # it is off, and has nothing left to do: nothing fails
                watch.has_looked("", now.steady)
        each({i: partial(self._take_turn, i, watch, now) for i, watch in watched if now.steady >= watch.due})
        due = [watch.due for _, watch in self._ledger.all() if watch.kept.mode != OFF]
        return max(0.1, min(due) - self._now().steady) if due else IDLE

    def _has_to_do(self, fscid: int, watch: Watch) -> bool:
        if watch.kept.mode != OFF or watch.unsaved or self._tick_interval.short(fscid):
            return True
        fs = self._host.fs_by_id(fscid)
        return fs is None or not fs.has(watch.kept.metadata_pool)  # what it did can be rolled back there

    def _restore_unwatched(self) -> None:
        """Until nothing is left; what fails is tried again."""
        try:
            watched = {fscid for fscid, _ in self._ledger.all()}
            self._unwatched = not self._tick_interval.restore_unwatched(watched)
        except PartitionerError as e:
            self._failed()
            self._log.warning("options of file systems without a scheduler: %s", e)

    def _take_turn(self, fscid: int, watch: Watch, now: Now) -> None:
        began, due, measured = self._spent(), now.steady + self._interval(), watch.measured
        watch.due = due
        watch.has_looked(self._apart(fscid, watch, self._step) or watch.problem, now.steady)
        took = self._spent() - began
        watch.spent += took
        watch.glance = took if watch.measured == measured else watch.glance
        if watch.problem:
            self._failed()
        usual = self._due(watch, now.steady)
        watch.due = usual if watch.due == due else min(watch.due, usual)  # somebody wants it sooner
        if self._tick_interval.short(fscid):  # that is given back in time, however long the interval is
            watch.due = min(watch.due, now.steady + CALM)

    def _due(self, watch: Watch, now: float) -> float:
        """When it is looked at after now, steady clock, s, if nobody wants it sooner."""
        again = watch.measured + self._pace(watch)
        if watch.glances and watch.waits_since is None and not watch.problem:
            return min(now + max(GLANCE, watch.glance / GLANCES), again)
        return max(now + self._interval(), again)

    def hasten(self) -> None:
        """The intervals may have become shorter: no longer ones are waited for."""
        now, epoch = self._now().steady, self._settings()[0].epoch
        for _, watch in self._ledger.all():
            watch.due = min(watch.due, now + self._interval())
            watch.read_due = min(watch.read_due, now + epoch)

    def _interval(self) -> float:
        """s between two looks: in less time MDSs tell nothing new, and what is seen is of before a move."""
        return max(float(self._settings()[1].scheduler_interval), self._host.report_period())

    def _pace(self, watch: Watch) -> float:
        """s between two looks at a file system, as long as looks take no more than their share. What one
        alone took, as the first of a manager may, says nothing of the next."""
        return max(self._interval(), min(CALM, watch.spent / SHARE, watch.spent_before / SHARE))

    def read(self, each: Each = in_turn) -> float:
        """Read about directories, for the looks. Returns in how many seconds it is to be done again."""
        now, epoch = self._now(), float(self._settings()[0].epoch)
        watched = [(fscid, watch) for fscid, watch in self._ledger.all() if watch.kept.mode in MODES]
        each(
            {
                fscid: partial(self._read_about, fscid, watch, now.steady + epoch)
                for fscid, watch in watched
                if now.steady >= watch.read_due
            }
        )
        due = [watch.read_due for _, watch in self._ledger.all() if watch.kept.mode in MODES]
        return max(0.1, min([epoch, *(at - self._now().steady for at in due)]))

    def _read_about(self, fscid: int, watch: Watch, again: float) -> None:
        watch.read_due = again
        fs = self._host.fs_by_id(fscid)
        if fs is None or not fs.has(watch.kept.metadata_pool):
            return  # the next look sees to that
        watch.has_read(self._apart(fscid, watch, self._read), self._now().steady)
        if watch.unread:
            self._failed()

    def _apart(self, fscid: int, watch: Watch, work: Callable[[FsState, Watch], None]) -> str:
        """Why it failed, if it did."""
        fs = self._host.fs_by_id(fscid)
        try:
            if fs is None or not fs.has(watch.kept.metadata_pool):
                return self._elsewhere(fscid, watch, fs)
            work(fs, watch)
        except PartitionerError as e:
            self._log.warning("scheduler of %s: %s", watch.kept.fs, e)
            return str(e)
        except Exception as e:  # what nobody expected of one file system must not stop the others
            self._log.exception("scheduler of %s", watch.kept.fs)
            return unexpected(e)
        return ""

    def _elsewhere(self, fscid: int, watch: Watch, other: FsState | None) -> str:
        """Its file system was removed, or has another id by now, and is followed. Why it is held, if it is.

        :param other: what has its id, if anything
        """
        self._tick_interval.restore(fscid)
        known, pool = self._host.file_systems(), watch.kept.metadata_pool
        home = next((fs.fscid for fs in known if fs.metadata_pool == pool), None)
        if home == fscid:
            return ""  # it came back just now
        # What we have set may be taken back meanwhile (executor.py): the next look sees.
        prepared = watch.kept.prepared and not has_prepared(self._plans.read(), pool, watch.kept.since)
        if home is None and watch.kept.prepared and not prepared:
            self._ledger.save(fscid, watch, prepared=False)
        if home is not None and self._ledger.move(fscid, home, prepared=prepared):
            self._unwatched = True
        elif home is not None or other is not None:
            return other_pools(watch.kept.fs) if watch.kept.mode != OFF else ""
        elif pool is not None and pool in self._pools.known():
            return ""  # it may get a file system anew
        elif self._host.fs_of_mon(fscid) is None:
            self._ledger.forget(fscid)
            self._unwatched = True
        return ""

    def _read(self, fs: FsState, watch: Watch) -> None:
        if self._why_wait(fs, watch):
            return
        news = read(fs, watch, self._plans.of(fs), self._settings()[0], self._now)
        if news is News.FIRST:
            watch.due, watch.asked = 0.0, float("-inf")
        elif news is News.PARTS:
            watch.hasten(self._now().steady, self._interval())
        if news is not News.NONE:
            self._planned()

    def _step(self, fs: FsState, watch: Watch) -> None:
        watch.problem = ""
        if watch.unsaved:
            self._ledger.save(fs.fscid, watch)
        self._end_pause(fs, watch)
        try:
            if watch.kept.mode == UNDOING:
                self._orders.undo(fs, watch)
            elif watch.kept.mode != OFF:
                self._look(fs, watch, self._now())
        finally:
            self._restore_ticks(fs, watch)

    def _end_pause(self, fs: FsState, watch: Watch) -> None:
        """If it is over, and none was ordered since."""
        orders, until = watch.orders, watch.kept.until
        if until is not None and self._now().steady >= until:
            with suppress(Busy):
                self._ledger.save(fs.fscid, watch, orders, paused=False, until=None)

    def _restore_ticks(self, fs: FsState, watch: Watch) -> None:
        """Unless something moves, or did a moment ago; what moves while it waits, or looks fail, has long
        enough for that."""
        now, waits = self._now().steady, watch.waits_since
        unseen = now - max(watch.measured, watch.ordered)
        waiting = watch.kept.mode == ACT and waits is not None and now - waits >= CALM
        moving = watch.kept.mode == ACT and watch.state.moving  # nobody follows moves while they are undone
        blind = waits is None and unseen >= 2 * max(CALM, self._interval())
        calm = waiting or blind or (not moving and now - watch.ordered >= CALM)
        if calm or watch.kept.paused or watch.kept.mode not in (ACT, UNDOING):
            self._tick_interval.restore(fs.fscid)

    def _look(self, fs: FsState, watch: Watch, now: Now) -> None:
        settings, ours = self._settings()
        mode, orders, wait = watch.kept.mode, watch.orders, self._why_wait(fs, watch)
        active = {mds.rank for mds in fs.active()}.difference(unheard(self._host, fs) if wait else ())
        there = tuple(known for rank, known in watch.ranks.items() if rank in active)
        blind = View(now.steady, there, (), wait=wait)  # who was away is looked at for a while first
        watch.waits(wait, now.steady)
        view = blind if wait else self._seen(fs, watch, settings, ours, now)
        if view.measured:
            # After a look that waits the next one is no glance: ranks may have gone meanwhile.
            watch.measured = float("-inf") if wait else now.steady
            watch.spent_before, watch.spent = watch.spent, 0.0
        view = view if wait else self._readied(watch, view)
        self._tell_wait(watch, view.wait)
        over = self._orders.give_up(fs, watch, now)
        before = watch.state
        gone = watch.catalogue.deleted.inos
        if mode == ACT and not view.wait:
            self._orders.tidy_earlier(fs, watch, over, gone)
        free = gathered_again(self._plans.of(fs), fs.fscid, gone)
        known = self._placed(before.without(gone).undistributed(free), now)
        state, decision = Scheduler(known, view, ours.limits(settings)).decide()
        if watch.kept.mode != mode or watch.state is not before:
            return  # a command came in between: it is looked at again
        if decision.something and view.measured and watch.asks_anew(decision, now.steady):
            return
        self._follow(watch, state, decision, now, waits=bool(view.wait))
        if decision.something:
            state = self._orders.come_to(fs, watch, state, decision, orders, now)
        watch.advises(now.steady, waits=bool(view.wait))
        if watch.state is before:
            watch.state, watch.decision = state, decision
        if decision.split:  # what is in parts now is not known yet: it is read by the state that says so
            watch.read_due = 0.0
            self._planned()
        self._ledger.change(
            watch,
            split=tuple(sorted(watch.state.split)),
            wholes=in_parts(watch.state.wholes, now.wall - now.steady),
            capacities=_capacities(watch),
        )
        if now.steady - watch.saved > SAVE_EVERY:
            self._ledger.save(fs.fscid, watch)
        if watch.kept.mode == ACT and not view.wait:  # not that of before: a stop may have come
            self._orders.tidy(fs, watch, over, gone)

    def _placed(self, known: State, now: Now) -> State:
        """Whether MDSs still place what was distributed."""
        off = self._distributes.off(now.steady, doubted=bool(known.placed))
        return replace(known, gathered=GATHERED if off else "")

    def _tell_wait(self, watch: Watch, why: str) -> None:
        """In the manager's log, when that changes: of what was not decided the history tells nothing."""
        if why != watch.waits_for:
            self._log.info("scheduler of %s: %s", watch.kept.fs, f"waits: {why}" if why else "goes on")
            watch.waits_for = why

    def _readied(self, watch: Watch, view: View) -> View:
        """With why nothing can be decided on it yet, if so; what is not known yet is read at once."""
        unripe = not watch.known.ripe
        if unripe or (watch.pressing_since is not None and unknown(view)):
            watch.read_due = 0.0
            self._planned()
        return replace(view, wait=UNRIPE) if unripe else view

    def _why_wait(self, fs: FsState, watch: Watch) -> str:
        now = self._now()
        return (
            paused(fs.name, watch.kept, now)
            or kept_out(fs, self._plans.of(fs), self._settings()[1], self._policy, self._left, now.wall)
            or self._unready(fs, watch, now)
        )

    def _unready(self, fs: FsState, watch: Watch, now: Now) -> str:
        late = any(watch.state.hangs(past, now.steady) for past in watch.state.past)
        pins = not self._pins.off(now.steady, doubted=late)
        health, quiet = self._pools.health(fs), silent(self._host, fs, now.wall)
        return unready(fs, health, quiet, unheard(self._host, fs), pins=pins)

    def _seen(self, fs: FsState, watch: Watch, settings: Settings, ours: SchedulerSettings, now: Now) -> View:
        """What is seen, or, in advise, what would be."""
        if watch.kept.mode == ACT:
            self._orders.prepare(fs, watch, now)
        held = owned(self._plans.of(fs), fs.fscid, now.wall, watch.state.split)
        moved, pins = begun(watch.kept.day, now.steady), _pinned(watch, held)
        if watch.view and watch.glances and now.steady < watch.measured + self._pace(watch):
            watch.view = replace(self._looker.glance(fs, watch, watch.view, now), begun=moved, pins=pins)
            return watch.view
        learned, window = self._ranks.learned(fs.fscid), self._interval()
        limits = ours.limits(settings)
        view = self._looker.look(fs, watch, held, learned, settings, limits, window, now)
        again = 0.0 <= now.steady - watch.state.at < window / 2.0
        view = replace(view, begun=moved, pins=pins, again=again)
        watch.advised = outstanding(watch.advised, view)
        if watch.kept.mode == ADVISE:
            view = as_if(view, watch.advised)
        watch.view = view
        return view

    def _follow(self, watch: Watch, state: State, decision: Decision, now: Now, *, waits: bool) -> None:
        """How far moves got, and whether anything is found to do."""
        by_key = {(p.move.ino, p.begun): p for p in state.past}
        loads = {} if waits or watch.view is None else relative(watch.view)
        before = watch.kept.turns
        turns = tuple(turn.followed(by_key, loads, now.steady) for turn in before)
        self._ledger.change(watch, turns=turns, done=watch.kept.done.followed(before, turns))
        # What nobody uses, or is new, relieves no rank: that it is moved does not mean that something helps.
        busy = decision.split or decision.scatter or state.awaited
        if busy:
            watch.pressing_since = None
        if busy or waits or not state.acting or state.series.told(now.steady):
            watch.idle_since = None
        elif watch.idle_since is None:
            watch.idle_since = now.steady


def _pinned(watch: Watch, held: Owned) -> int:
    """Directories that we pinned, or are about to; of those that are gone the journal still has the pin."""
    ours = {ino for ino, pin in held.pins.items() if pin != NO_PIN}
    past = watch.state.past if watch.kept.mode == ACT else ()
    ordered = {p.move.ino: p.move.pin for p in past if not p.lost}
    pinned = ours | {ino for ino, pin in ordered.items() if pin != NO_PIN}
    moved = len(pinned & watch.catalogue.deleted.moved)
    return moved + sum(d.ino in pinned for d in watch.known.directories)


def _capacities(watch: Watch) -> tuple[Capacity, ...]:
    known = sorted(watch.fullness.capacity.items())
    return tuple(Capacity(mds, taught.value, taught.inside) for mds, taught in known)
