# SPDX-License-Identifier: LGPL-2.1-or-later
"""The loops that look at file systems, decide, and have plans made of what was decided."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from .. import clock
from ..abreast import Each, in_turn
from ..act.run import (
    ACTIVE,
    IN_FORCE,
    KEPT,
    ROLLED_BACK,
    ROLLING_BACK,
    SKIPPED,
    STOPPED,
    UNDONE,
    Run,
    homes,
    moved_at,
    owned_distributed,
    owned_masks,
    owned_pins,
    scheduler_user,
)
from ..act.shared import SharedOption
from ..clock import Now
from ..errors import Busy, PartitionerError, unexpected
from ..host import Host
from ..judge.verdict import Engine
from ..model import NO_PIN, FsState
from ..observe.ranks import silence
from ..options import Settings
from ..partitioner import Partitioner
from ..plan.circumstances import FORWARDS, TO_AUTH
from ..plan.plan import Plan
from ..ranks import Ranks
from ..verify.guards import why_wait
from .advice import as_if, outstanding
from .catalogue import Owned, Wanted
from .core import Scheduler
from .hours import closed
from .ledger import Ledger
from .options import SchedulerSettings
from .plans import plan_of, preparation, scheduled_since
from .record import (
    ACT,
    ADVISE,
    MODES,
    OFF,
    TURNS,
    UNDOING,
    Capacity,
    Turn,
    begun,
    counted,
    failed,
    rolled_back,
)
from .state import State
from .tick_interval import TickInterval
from .view import Decision, Move, Scatter, View
from .watch import CALM, Looker, Watch, relative

GLANCE = 2.5  # s between two looks only at where things are, while something is under way
AFTER_UNDOING = 0.5  # s between two looks whether a rollback has ended
FILLS = 0.5  # of a full rank: what has so much of it is looked into
IDLE = 10.0  # s between two looks whether there is something to do
FEW = 16  # directories that are read at first
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
        partitioner: Partitioner,
        policy: Callable[[FsState], bool],
        settings: Callable[[], tuple[Settings, SchedulerSettings]],
        log: logging.Logger,
        now: Callable[[], Now] = clock.read,
    ) -> None:
        """``policy``: does a Mantle policy of ours balance a file system?"""
        self._host, self._ranks, self._ledger, self._partitioner = host, ranks, ledger, partitioner
        self._policy, self._settings, self._log, self._now = policy, settings, log, now
        self._looker, self._tick_interval = Looker(host, engine, now), TickInterval(host)
        self.planned: Callable[[], None] = lambda: None  # called when there is something to execute

    def tick(self, each: Each = in_turn) -> float:
        """Look at the file systems whose turn it is. Returns in how many seconds the next look is due."""
        now = self._now()
        watched = [
            (i, watch)
            for i, watch in self._ledger.all()
            if watch.kept.mode != OFF or self._tick_interval.short(i)
        ]
        each({i: partial(self._take_turn, i, watch, now) for i, watch in watched if now.steady >= watch.due})
        due = [watch.due for _, watch in self._ledger.all() if watch.kept.mode != OFF]
        return max(0.1, min(due) - self._now().steady) if due else IDLE

    def _take_turn(self, fscid: int, watch: Watch, now: Now) -> None:
        interval = self._settings()[1].scheduler_interval
        watch.due = now.steady + interval
        self._apart(fscid, watch, self._step)
        if watch.glances:
            watch.due = min(watch.due, now.steady + GLANCE, watch.measured + interval)

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
        self._apart(fscid, watch, self._read)

    def _apart(self, fscid: int, watch: Watch, work: Callable[[FsState, Watch], None]) -> None:
        fs = self._host.fs_by_id(fscid)
        try:
            if fs is not None:
                work(fs, watch)
            elif self._host.fs_of_mon(fscid) is None:
                self._tick_interval.restore(fscid)
                self._ledger.forget(fscid)
        except PartitionerError as e:
            self._log.warning("scheduler of %s: %s", watch.kept.fs, e)
            watch.problem = str(e)
        except Exception as e:  # what nobody expected of one file system must not stop the others
            self._log.exception("scheduler of %s", watch.kept.fs)
            watch.problem = unexpected(e)

    def _read(self, fs: FsState, watch: Watch) -> None:
        if self._why_wait(fs, watch):
            return
        seen = () if watch.view is None else watch.view.pieces
        hot = frozenset() if watch.view is None else _undivided(watch.view, watch.state.split)
        # The parts of what is on its way to be taken apart are known when it comes.
        wanted = Wanted({p.path: p.requests for p in seen}, watch.state.split | watch.state.apart, hot)
        settings, known = self._settings()[0], watch.catalogue.known
        # First the list alone; then a few, the busiest first, so that these are known soon; then as many more
        # as are known each time: every round lists all there are.
        share = min(max(FEW, len(known.facts)), settings.rentries_per_epoch)
        limit = share if known.directories else 0
        watch.catalogue.refresh(fs, limit, wanted, self._owned(fs, wanted.split), self._now().wall)
        if watch.catalogue.known.unread:
            pause = settings.epoch * share / settings.rentries_per_epoch
            watch.read_due = min(watch.read_due, self._now().steady + pause)
        if known.seen != watch.catalogue.known.seen:
            watch.due, watch.asked = 0.0, float("-inf")  # there was not much to see or to decide on
            self.planned()

    def _owned(self, fs: FsState, split: Collection[int]) -> Owned:
        runs, fscid = self._partitioner.all(fs), fs.fscid
        return Owned(
            pins=owned_pins(runs, fscid),
            moved_at=moved_at(runs, fscid),
            masks=owned_masks(runs, fscid),
            distributed=owned_distributed(runs, fscid),
            homes=homes(runs, fscid) if split else {},
        )

    def _step(self, fs: FsState, watch: Watch) -> None:
        watch.problem = ""
        if watch.kept.until is not None and self._now().wall >= watch.kept.until:
            self._ledger.save(fs.fscid, watch, paused=False, until=None)
        try:
            if watch.kept.mode == UNDOING:
                self._undo(fs, watch)
            elif watch.kept.mode != OFF:
                self._look(fs, watch, self._now())
        finally:
            self._restore_ticks(fs, watch)

    def _restore_ticks(self, fs: FsState, watch: Watch) -> None:
        """Unless something moves, or did a moment ago."""
        calm = not watch.state.moving and self._now().steady - watch.ordered >= CALM
        if calm or watch.kept.paused or watch.kept.mode not in (ACT, UNDOING):
            self._tick_interval.restore(fs.fscid)

    def _look(self, fs: FsState, watch: Watch, now: Now) -> None:
        settings, ours = self._settings()
        mode, wait = watch.kept.mode, self._why_wait(fs, watch)
        active = {mds.rank for mds in fs.active()}
        there = tuple(known for rank, known in watch.ranks.items() if rank in active)
        blind = View(now.steady, there, (), wait=wait)  # who was away is looked at for a while first
        view = blind if wait else self._seen(fs, watch, settings, ours, now)
        if view.measured:
            # After a look that waits the next one is no glance: ranks may have gone meanwhile.
            watch.measured = float("-inf") if wait else now.steady
        if not wait and not watch.known.ripe:
            watch.read_due = 0.0
            self.planned()
            view = replace(view, wait=UNRIPE)
        elif watch.pressing_since is not None and _unknown(view):
            watch.read_due = 0.0
            self.planned()
        self._give_up(fs, watch, now)
        before = watch.state
        state, decision = Scheduler(before, view, ours.limits(settings)).decide()
        if watch.kept.mode != mode or watch.state is not before:
            return  # a command came in between: it is looked at again
        if decision.something and view.measured and watch.asked < now.steady:
            # Decided on shares of the load that are old: it is looked at again, and MDSs are asked.
            watch.asked, watch.due = float("-inf"), 0.0
            return
        self._follow(watch, state, decision, now)
        if decision.something:
            state = self._come_to(fs, watch, state, decision, now)
        if watch.state is before:
            watch.state, watch.decision = state, decision
        self._ledger.change(watch, split=tuple(sorted(watch.state.split)), capacities=_capacities(watch))
        if now.steady - watch.saved > SAVE_EVERY:
            self._ledger.save(fs.fscid, watch)
        if mode == ACT and not view.wait:
            self._partitioner.merge(fs, watch.kept.since)

    def _why_wait(self, fs: FsState, watch: Watch) -> str:
        if watch.kept.paused:
            return "an operator paused it: 'partition resume' goes on"
        running = (r for r in self._partitioner.all(fs) if r.head.state in ACTIVE and not r.plan.scheduled)
        plan = next((f"plan '{run.plan.name}' is {run.head.state}" for run in running), "")
        wall = self._now().wall
        return (
            closed(datetime.fromtimestamp(wall), self._settings()[1])
            or plan
            or automate(self._policy, fs)
            or why_wait(fs, self._host.health(), silence(self._host, fs, wall))
            or ""
        )

    def _seen(self, fs: FsState, watch: Watch, settings: Settings, ours: SchedulerSettings, now: Now) -> View:
        """What is seen, or, in advise, what would be."""
        if watch.kept.mode == ACT:
            self._prepare(fs, watch, now)
        owned = self._owned(fs, watch.state.split)
        moved, pins = begun(watch.kept.day, now.wall), _pinned(watch, owned)
        if watch.view and watch.glances and now.steady < watch.measured + ours.scheduler_interval:
            watch.view = replace(self._looker.glance(fs, watch, watch.view, now), begun=moved, pins=pins)
            return watch.view
        learned, window = self._ranks.learned(fs.fscid), float(ours.scheduler_interval)
        limits = ours.limits(settings)
        view = self._looker.look(fs, watch, owned, learned, settings, limits, window, now)
        view = replace(view, begun=moved, pins=pins)
        watch.advised = outstanding(watch.advised, {piece.ino: piece for piece in view.pieces})
        if watch.kept.mode == ADVISE:
            view = as_if(view, watch.advised)
        watch.view = view
        return view

    def _give_up(self, fs: FsState, watch: Watch, now: Now) -> None:
        """Moves that the executor left alone, as an operator or a user was quicker, are not waited for."""
        turns, keys, scattered = [], set[tuple[int, float]](), set[int]()
        runs = {run.plan.name: run for run in scheduled_since(self._partitioner.all(fs), watch.kept.since)}
        for turn in watch.kept.turns:
            left = dict(_left(runs[turn.plan])) if turn.plan in runs and not turn.undone else {}
            told = tuple(
                f"{path!r} was left where it is: {left[ino]}" for ino, path in turn.about if ino in left
            )
            new = tuple(text for text in told if text not in turn.trouble)
            own = {(p.move.ino, p.begun) for p in turn.moves if new and p.move.ino in left}
            scattered |= {scatter.ino for scatter in turn.scatter if new and scatter.ino in left}
            # In the turn as well: the core may have forgotten it, and it is told once.
            moves = failed(turn.moves, own, now.steady)
            turns.append(replace(turn, moves=moves, trouble=(*turn.trouble, *new)))
            keys |= own
        if keys or scattered:
            self._ledger.change(watch, turns=tuple(turns))
            past = failed(watch.state.past, keys, now.steady)
            lost = {i: replace(s, lost=s.lost or i in scattered) for i, s in watch.state.scattered.items()}
            watch.state = replace(watch.state, past=past, scattered=lost)
            watch.catalogue.doubt({ino for ino, _ in keys})

    def _follow(self, watch: Watch, state: State, decision: Decision, now: Now) -> None:
        """How far moves got, and whether anything is found to do."""
        by_key = {(p.move.ino, p.begun): p for p in state.past}
        loads = {} if watch.view is None else relative(watch.view)
        self._ledger.change(watch, turns=tuple(turn.followed(by_key, loads) for turn in watch.kept.turns))
        # What nobody uses, or is new, relieves no rank: that it is moved does not mean that something helps.
        busy = decision.split or decision.scatter or state.moving
        if busy:
            watch.pressing_since = None
        if busy or not state.acting:
            watch.idle_since = None
        elif watch.idle_since is None:
            watch.idle_since = now.steady

    def _come_to(self, fs: FsState, watch: Watch, state: State, decision: Decision, now: Now) -> State:
        """Make a plan of a decision, or advise it. Returns the state that holds then."""
        plan = ""
        if (decision.moves or decision.scatter) and watch.kept.mode == ACT:
            try:
                self._tick_interval.shorten(fs.fscid)
                watch.ordered = now.steady
                plan = self._planned(fs, watch, decision, now)
            except PartitionerError as e:
                self._log.warning("scheduler of %s: %s", fs.name, e)
                watch.problem = str(e)
                past = tuple(p for p in state.past if p.begun != now.steady)
                return replace(state, past=past, scattered=watch.state.scattered)
        else:
            watch.advised = watch.advised | _advice(decision)
        turn = _turn(watch, state, decision, plan, now)
        done = watch.kept.done.plus(turn) if plan else watch.kept.done
        day = counted(watch.kept.day, now.wall, len(turn.moves)) if plan else watch.kept.day
        self._ledger.change(watch, turns=(*watch.kept.turns, turn)[-TURNS:], done=done, day=day)
        self._ledger.save(fs.fscid, watch)
        return state

    def _planned(self, fs: FsState, watch: Watch, decision: Decision, now: Now) -> str:
        """The name of the plan that does it. :raises PartitionerError: nothing was begun."""
        known, owned = watch.known, self._owned(fs, ())
        by_ino = {d.ino: d for d in known.directories}
        names = {d.path: d.name for d in known.directories}
        assert watch.view is not None
        pins = {move.ino: known.pin(by_ino[move.ino], owned) for move in decision.moves}
        plan = plan_of(fs, decision, watch.view, names, pins, known.fragments, now.wall)
        return self._execute(fs, watch, plan)

    def _prepare(self, fs: FsState, watch: Watch, now: Now) -> None:
        """Once a start: what an operator makes of the options afterwards is his.

        Not only with the first move: a replica that a client was told of before that stays with it, and when
        its directory has moved to a higher rank all its requests are forwarded.
        """
        if watch.prepared:
            return
        done = {
            step.target
            for run in scheduled_since(self._partitioner.all(fs), watch.kept.since)
            if run.head.state != ROLLED_BACK
            for step in run.plan.steps
        }
        if TO_AUTH not in done:
            old = SharedOption(self._host, TO_AUTH, scheduler_user(fs.fscid), FORWARDS).read()
            if old != FORWARDS:
                self._execute(fs, watch, preparation(fs, old, now.wall))
        watch.prepared = True

    def _execute(self, fs: FsState, watch: Watch, plan: Plan) -> str:
        """:raises Busy: an operator stopped it meanwhile"""
        run = self._partitioner.propose(fs, plan)
        with self._ledger.unchanged():
            admitted = watch.kept.mode == ACT and not watch.kept.paused
            if admitted:
                self._partitioner.admit(run)
        if not admitted:
            self._partitioner.withdraw(run)
            raise Busy(f"the scheduler of '{fs.name}' was stopped meanwhile")
        self.planned()
        return run.plan.name

    def _undo(self, fs: FsState, watch: Watch) -> None:
        """Roll back the newest plan of ours, then the one before it, and so on; forget those that are."""
        if watch.kept.paused:
            return
        self._tick_interval.shorten(fs.fscid)
        watch.ordered = self._now().steady
        for run in reversed(scheduled_since(self._partitioner.all(fs), watch.kept.since)):
            state, changed = run.head.state, any(r.state in IN_FORCE for r in tuple(run.records.values()))
            if state == ROLLED_BACK or (state not in ACTIVE and not changed):
                self._partitioner.remove(run.plan.name, fs)
                continue
            if run.heading() != ROLLING_BACK or state == STOPPED:
                self._partitioner.undo(run)
                self.planned()
            watch.due = self._now().steady + AFTER_UNDOING
            return
        now = self._now()
        turns = rolled_back(watch.kept.turns, watch.kept.since - now.wall + now.steady)
        self._ledger.save(fs.fscid, watch, mode=OFF, turns=turns)


def automate(policy: Callable[[FsState], bool], fs: FsState) -> str:
    """Why the scheduler may not act beside an operator's balancer; "" when none is on."""
    if not fs.balance_automate or policy(fs):
        return ""
    return (
        f"'{fs.name}' has balance_automate on: its balancer would move what the scheduler moves; run "
        f"'ceph fs set {fs.name} balance_automate false' first"
    )


def _pinned(watch: Watch, owned: Owned) -> int:
    """Directories that we pinned, or are about to; of those that are gone the journal still has the pin."""
    there = {d.ino for d in watch.known.directories}
    ours = {ino for ino, pin in owned.pins.items() if pin != NO_PIN}
    past = watch.state.past if watch.kept.mode == ACT else ()
    ordered = {p.move.ino: p.move.pin for p in past if not p.lost}
    return len(there & (ours | {ino for ino, pin in ordered.items() if pin != NO_PIN}))


def _undivided(view: View, split: Collection[int]) -> frozenset[int]:
    """Inode numbers of those that a rank is too full for, and that have no parts that could be moved, or no
    more: of what is ``split`` only its own entries are left."""
    full = {rank.rank: rank.requests for rank in view.ranks if rank.full or view.harmful}
    one = (piece for piece in view.pieces if piece.parts == 0 or piece.ino in split)
    pieces = (piece for piece in one if piece.requests and not piece.held)
    return frozenset(p.ino for p in pieces if p.rank in full and p.requests >= FILLS * full[p.rank])


def _unknown(view: View) -> bool:
    """Has nobody looked yet into one of those that have most to do?"""
    busiest = sorted(view.pieces, key=lambda piece: -piece.requests)[: len(view.ranks)]
    return any(piece.parts is None and piece.requests > 0.0 for piece in busiest)


def _left(run: Run) -> Iterator[tuple[int, str]]:
    """Inode numbers of the directories that the executor left alone, or put back as they came too late, and
    why."""
    for i, record in tuple(run.records.items()):
        row = run.plan.steps[i].row
        if row >= 0 and (record.state == SKIPPED or (record.state in (UNDONE, KEPT) and record.why)):
            yield run.plan.rows[row].ino, record.why


def _turn(watch: Watch, state: State, decision: Decision, plan: str, now: Now) -> Turn:
    assert watch.view is not None
    done: tuple[Scatter | Move, ...] = (*decision.scatter, *decision.moves)
    loads, gains = relative(watch.view), dict[int, float]()
    for each in done:
        gains[each.source] = gains.get(each.source, 0.0) + each.gain
    fullest = max(loads, key=lambda rank: (gains.get(rank, 0.0), loads[rank], -rank))
    requests = {r.rank: r.requests for r in watch.view.ranks}
    pieces = {piece.ino: piece for piece in watch.view.pieces}
    moves = tuple(p for p in state.past if p.begun == now.steady)
    return Turn(
        at=now.steady,
        mode=watch.kept.mode,
        why=decision.why,
        moves=moves,
        requests=tuple(pieces[p.move.ino].requests for p in moves),
        fullest=fullest,
        share=requests[fullest] / loads[fullest],
        before=loads[fullest],
        plan=plan,
        split=tuple(pieces[ino].path for ino in decision.split),
        scatter=decision.scatter,
    )


def _advice(decision: Decision) -> dict[int, tuple[int, ...]]:
    """Where each equal part of a piece would be, by inode number."""
    told: dict[int, tuple[int, ...]] = {move.ino: (move.target,) for move in decision.moves}
    return told | {scatter.ino: scatter.ranks for scatter in decision.scatter}


def _capacities(watch: Watch) -> tuple[Capacity, ...]:
    known = sorted(watch.fullness.capacity.items())
    return tuple(Capacity(mds, taught.value, taught.inside) for mds, taught in known)
