# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was decided becomes plans: admitted while the scheduler acts, rolled back when it is undone."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from ..act.choice import live, number
from ..act.core import NOT_HOME, going_back
from ..act.merge import ended, mergeable
from ..act.registry import Plans
from ..act.run import (
    ACTIVE,
    APPLIED,
    BY_OPERATOR,
    DONE,
    IN_FORCE,
    INTENT,
    KEPT,
    LATE,
    LET_BE,
    ROLLED_BACK,
    ROLLING_BACK,
    SKIPPED,
    STOPPED,
    UNDONE,
    Record,
    Run,
    paused_by_command,
    paused_by_guard,
    scheduler_user,
    taken_from,
)
from ..ceph.host import Host
from ..ceph.shared_option import SharedOption
from ..clock import Now
from ..errors import Busy, PartitionerError, Unavailable
from ..model import FsState
from ..plan.circumstances import FORWARDS, TO_AUTH
from ..plan.plan import OF_ALL, Plan
from .core.load import capacities, served, shares, utilisations
from .core.state import State
from .core.view import Decision, Move, Scatter
from .ledger import Ledger
from .plans import owned, plan_of, preparation, scheduled_since
from .record import ACT, HOUR, OFF, UNDOING, Turn, counted, failed, latest, not_home, rolled_back, uncounted
from .tick_interval import TickInterval
from .watch import Watch

SMALL = 1000.0  # inodes: with more of what nobody asks for its move is waited for all the same
AFTER_UNDOING = 0.5  # s between two looks whether a rollback has ended
IN_A_LOOK = 64  # plans of earlier starts that become one: the mon is told of each, and moves wait for that


class Orders:
    """Of all file systems."""

    def __init__(
        self,
        host: Host,
        ledger: Ledger,
        plans: Plans,
        undo: Callable[[Run, int], None],
        tick_interval: TickInterval,
        planned: Callable[[], None],
        log: logging.Logger,
        now: Callable[[], Now],
    ) -> None:
        """``planned`` is called when there is something to execute."""
        self._host, self._ledger, self._plans, self._undo = host, ledger, plans, undo
        self._tick_interval, self._planned, self._log, self._now = tick_interval, planned, log, now

    def come_to(
        self, fs: FsState, watch: Watch, state: State, decision: Decision, orders: int, now: Now
    ) -> State:
        """Make a plan of a decision, or advise it. Returns the state that holds then.

        :param orders: of operators that had been given when it was looked
        """
        turn = turn_of(watch, state, decision, now)  # what fails in it fails before anything is begun
        if (decision.moves or decision.scatter) and watch.kept.mode == ACT:
            try:
                turn = replace(turn, plan=self._plan(fs, watch, decision, orders, now))
            except PartitionerError as e:
                self._log.warning("scheduler of %s: %s", fs.name, e)
                watch.problem = str(e)
                return _not_begun(watch.state, state, now)
        else:
            watch.advised = watch.advised | _advice(decision)
        done = watch.kept.done.decided() if turn.plan else watch.kept.done
        day = counted(watch.kept.day, now.steady, len(turn.moves)) if turn.plan else watch.kept.day
        turns = latest((*watch.kept.turns, turn), state.scattered.keys(), now.steady - HOUR)
        self._ledger.change(watch, turns=turns, done=done, day=day)
        try:
            self._ledger.save(fs.fscid, watch)
        except PartitionerError as e:  # the plan's journal has it, and it is under way
            self._log.warning("scheduler of %s: %s", fs.name, e)
            watch.unsaved, watch.problem = True, str(e)
        # Last: full MDSs answer late. Neither pins wait for that, nor what a next manager is to know of them.
        if turn.plan and _hurries(decision):
            self._hasten(fs, watch)
        return state

    def prepare(self, fs: FsState, watch: Watch, now: Now) -> None:
        """Once a start: what an operator makes of the options afterwards is his.

        Not only with the first move: a replica that a client was told of before that stays with it, and when
        its directory has moved to a higher rank all its requests are forwarded.
        """
        orders = watch.orders
        if watch.kept.prepared:
            return
        records = [
            run.records.get(i)
            for run in scheduled_since(self._plans.of(fs), watch.kept.since)
            if run.head.state != ROLLED_BACK
            for i, step in enumerate(run.plan.steps)
            if step.target == TO_AUTH
        ]
        if None in records:
            return  # it is executed in a moment; the next manager does not know of it until then
        if not any(record and _done(record) for record in records):
            old = SharedOption(self._host, TO_AUTH, scheduler_user(fs.fscid), FORWARDS).read()
            if old != FORWARDS:
                self._execute(fs, watch, preparation(fs, old, now.wall), orders)
                return
        self._ledger.save(fs.fscid, watch, orders, prepared=True)

    def undo(self, fs: FsState, watch: Watch) -> None:
        """Roll back the newest plan of ours, then the one before it, and so on; forget those that are.

        :raises Busy: an operator stopped it meanwhile
        """
        # First: what was ordered before shows in the mode.
        halts, orders = self._plans.halts.given(fs.fscid), watch.orders
        if watch.kept.paused or watch.kept.mode != UNDOING:
            return
        for run in filter(_over, scheduled_since(self._plans.of(fs), watch.kept.since)):
            self._tell_away(fs, watch, run, orders)
            self._plans.remove(run.plan.name, fs)
        since = scheduled_since(self._plans.of(fs), watch.kept.since)
        ours = ended(_live(self._plans.of(fs)), {run.id for run in since})
        if len(ours) > 1:
            # As one: what an operator has set since may be what an earlier one of them had set.
            self._plans.merge(fs, ours, watch.catalogue.deleted.inos)
        for run in scheduled_since(self._plans.of(fs), watch.kept.since)[-1:]:
            if not paused_by_guard(run.head):  # while it waits nothing moves
                self._hasten(fs, watch)
            held = run.head.state == STOPPED or paused_by_command(run.head)
            if run.heading() != ROLLING_BACK or held:
                self._undo(run, halts)
                self._planned()
            watch.due = self._now().steady + AFTER_UNDOING
            return
        left = (run.plan for run in self._plans.of(fs))
        before = max((number(p.name) for p in left if p.scheduled), default=0)
        turns = rolled_back(watch.kept.turns, {t.plan for t in watch.kept.turns if number(t.plan) > before})
        with suppress(Busy):  # another order came meanwhile, and holds
            self._ledger.save(fs.fscid, watch, orders, mode=OFF, turns=turns)

    def _tell_away(self, fs: FsState, watch: Watch, run: Run, orders: int) -> None:
        """What a rollback gave its old pin, and is not at home: its plan alone knows, and is forgotten next.

        :raises Busy, JournalError: as of the ledger
        """
        if run.head.state != ROLLED_BACK:
            return  # what came too late was told by the turn
        steps, rows, records = run.plan.steps, run.plan.rows, sorted(run.records.items())
        told = {each for turn in watch.kept.turns for each in turn.left}
        found = [(steps[i], record.why) for i, record in records if NOT_HOME in record.why]
        away = [(step, why) for step, why in found if (rows[step.row].ino, why) not in told]
        if not away:
            return
        turns = not_home(watch.kept.turns, {rows[step.row].ino: why for step, why in away})
        self._ledger.save(fs.fscid, watch, orders, turns=turns)
        for step, why in away:
            self._log.warning("scheduler of %s: %r: %s", fs.name, step.target, why)

    def give_up(self, fs: FsState, watch: Watch, now: Now) -> frozenset[str]:
        """Moves that the executor left alone, as an operator or a user was quicker, are not waited for. What
        it has not even tried may be decided anew at once.

        Returns the IDs of plans that had ended: of these nothing is left to be told.
        """
        over = frozenset(run.id for run in self._plans.of(fs) if run.head.state == DONE)
        self._forget_dropped(fs, watch)
        turns, keys, lost = [], set[tuple[int, float]](), set[int]()
        let_be, not_set, day = set[tuple[int, float]](), set[int](), watch.kept.day
        # Also of before a stop: what was left then nobody has looked at.
        for turn, left in _left_by_turn(watch.kept.turns, self._plans.of(fs)):
            now_left = ((ino, left[ino]) for ino, _ in (turn.about if left else ()) if ino in left)
            new = tuple(each for each in now_left if each not in turn.left)
            if not new:
                turns.append(turn)
                continue
            told = dict(new)
            own = {(p.move.ino, p.begun) for p in turn.moves if p.move.ino in told}
            not_done = {scatter.ino for scatter in turn.scatter if scatter.ino in told}
            # In the turn as well: the core may have forgotten it, and it is told once.
            moves = failed(turn.moves, own, now.steady)
            of = (*turn.lost, *sorted(not_done.difference(turn.lost)))
            turns.append(replace(turn, moves=moves, left=(*turn.left, *new), lost=of))
            untried = {ino for ino, why in told.items() if why in LET_BE}
            never_begun = {key for key in own if key[0] in untried}
            let_be |= never_begun
            day = uncounted(day, turn.at, len(never_begun))
            not_set |= not_done & untried
            keys, lost = keys | own, lost | not_done
        if keys or lost:
            self._ledger.change(watch, turns=tuple(turns), day=day)
            known = _undecided(watch.state, let_be, not_set)
            past = failed(known.past, keys, now.steady)
            scattered = {i: replace(s, lost=s.lost or i in lost) for i, s in known.scattered.items()}
            watch.state = replace(known, past=past, scattered=scattered)
            watch.catalogue.doubt({ino for ino, _ in keys - let_be})
        return over

    def _forget_dropped(self, fs: FsState, watch: Watch) -> None:
        """Of what the last manager had only proposed nothing was done."""
        dropped = self._plans.dropped.pop(fs.fscid, set())
        gone = [turn for turn in watch.kept.turns if turn.plan in dropped and not turn.undone]
        if not gone:
            return
        self._ledger.change(watch, turns=rolled_back(watch.kept.turns, dropped))
        keys = {(past.move.ino, past.begun) for turn in gone for past in turn.moves}
        scatters = {scatter.ino for turn in gone for scatter in turn.scatter}
        watch.state = _undecided(watch.state, keys, scatters)

    def tidy(self, fs: FsState, watch: Watch, over: Collection[str], gone: Collection[int]) -> None:
        """Make one of plans that have ended, if there are enough; end what was not ended of the last time.

        :param over: their IDs; gone: inode numbers of directories that are known to be deleted
        """
        since = {run.id for run in scheduled_since(self._plans.of(fs), watch.kept.since)}
        some = mergeable(_live(self._plans.of(fs)), since.intersection(over))
        if some:
            self._plans.merge(fs, some, gone)
        else:
            self._plans.finish(fs)

    def tidy_earlier(self, fs: FsState, watch: Watch, over: Collection[str], gone: Collection[int]) -> None:
        """The same of what was made before the start: no rollback tells these starts from one another. Only
        until something is decided: the plan gets the highest number, and a decision whose plan has a higher
        one than all that a rollback leaves was undone.
        """
        earlier = [r for r in self._plans.of(fs) if r.plan.scheduled and r.plan.created < watch.kept.since]
        last = max((number(run.plan.name) for run in earlier), default=0)
        if any(number(turn.plan) > last and not turn.undone for turn in watch.kept.turns):
            return
        some = mergeable(_live(self._plans.of(fs)), {run.id for run in earlier}.intersection(over))
        if not some:
            return
        try:
            self._plans.merge(fs, some[:IN_A_LOOK], gone)
        except PartitionerError as e:  # what is decided does not wait for that
            self._log.warning("scheduler of %s: %s", fs.name, e)

    def _hasten(self, fs: FsState, watch: Watch) -> None:
        """Have MDSs look at their pins more often. They follow them all the same where that fails."""
        try:
            self._tick_interval.shorten(fs)
        except PartitionerError as e:
            self._log.warning("scheduler of %s: %s", fs.name, e)
            watch.problem = str(e)
        watch.ordered = self._now().steady  # a slow mon takes minutes

    def _plan(self, fs: FsState, watch: Watch, decision: Decision, orders: int, now: Now) -> str:
        """The name of the plan that does it. :raises PartitionerError: nothing was begun."""
        known, ours = watch.known, owned(self._plans.of(fs), fs.fscid, now.wall)
        about = {*(move.ino for move in decision.moves), *(s.ino for s in decision.scatter)}
        by_ino = {d.ino: d for d in known.directories if d.ino in about}
        names = {d.path: d.name for d in by_ino.values()}
        assert watch.view is not None
        pins = {move.ino: known.pin(by_ino[move.ino], ours) for move in decision.moves}
        plan = plan_of(fs, decision, watch.view, names, pins, known.fragments, now.wall)
        return self._execute(fs, watch, plan, orders, now.steady)

    def _execute(
        self, fs: FsState, watch: Watch, plan: Plan, orders: int, looked: float | None = None
    ) -> str:
        """orders: of operators that had been given when it was decided; looked: when the loads were seen that
        it goes by, steady clock, s; None: it goes by none, and is never too late

        :raises Busy: an operator stopped it meanwhile
        :raises Unavailable: it is too late; nothing was begun
        """
        until = math.inf if looked is None else looked + LATE
        age = 0.0 if looked is None else self._now().steady - looked  # that of plans is another clock
        run = self._plans.propose(fs, replace(plan, created=max(plan.created, watch.kept.since)), age)
        with self._ledger.unchanged():
            stopped = watch.kept.mode != ACT or watch.kept.paused or watch.orders != orders
            late = self._now().steady > until
            if not (stopped or late):
                self._plans.admit(run)
        if stopped or late:
            self._plans.withdraw(run)
            if stopped:
                raise Busy(f"the scheduler of '{fs.name}' was stopped meanwhile")
            raise Unavailable(
                f"the mon took over {LATE:.0f} s to keep a plan of '{fs.name}': it is decided anew"
            )
        self._planned()
        return run.plan.name


def _done(record: Record) -> bool:
    """Is it set, or an operator's since? Else it was let be, or taken back when its file system was gone."""
    return record.state in (INTENT, APPLIED) or record.why.startswith(BY_OPERATOR)


def _live(runs: Sequence[Run]) -> list[Run]:
    """Without operators' plans that have set nothing, and from which nothing was taken: these divide none of
    ours."""
    return [run for run in runs if run.plan.scheduled or live([run]) or taken_from(run)]


def _over(run: Run) -> bool:
    """Is there nothing of it that could be undone, or was to be?"""
    changed = any(record.state in IN_FORCE for record in tuple(run.records.values()))
    return run.head.state == ROLLED_BACK or (run.head.state not in ACTIVE and not changed)


def _hurries(decision: Decision) -> bool:
    """Does anybody wait for it? What is new and small, or only keeps its rank, is pinned without haste: more
    ticks cost clients something."""
    loaded = any(move.load > 0.0 for move in decision.moves)
    return bool(decision.scatter) or loaded or sum(move.inodes for move in decision.moves) > SMALL


def _not_begun(before: State, state: State, now: Now) -> State:
    """The state after a look of which nothing could be begun: it is decided once more."""
    return replace(
        state,
        past=tuple(p for p in state.past if p.begun != now.steady),
        scattered=before.scattered,
        apart=before.apart,
        split=before.split,
        untold=before.untold,
        crowd=before.crowd,
    )


def _undecided(state: State, moves: Collection[tuple[int, float]], scatters: Collection[int]) -> State:
    """As if these had never been ordered.

    :param moves: inode numbers, and when they were begun; scatters: inode numbers
    """
    return replace(
        state,
        past=tuple(p for p in state.past if (p.move.ino, p.begun) not in moves),
        scattered={ino: s for ino, s in state.scattered.items() if ino not in scatters},
        apart=state.apart.difference(ino for ino, _ in moves),
    )


def turn_of(watch: Watch, state: State, decision: Decision, now: Now) -> Turn:
    """What is remembered of a decision, as an advice."""
    assert watch.view is not None
    done: tuple[Scatter | Move, ...] = (*decision.scatter, *decision.moves)
    ranks, gains = watch.view.ranks, dict[int, float]()
    capacity = capacities(ranks)
    loads, share = utilisations(ranks, capacity), shares(served(ranks), capacity)
    for each in done:
        gains[each.source] = gains.get(each.source, 0.0) + each.gain
    fullest = max(loads, key=lambda rank: (gains.get(rank, 0.0), loads[rank], -rank))
    moves = tuple(p for p in state.past if p.begun == now.steady)
    about = {*(p.move.ino for p in moves), *decision.split}
    pieces = {piece.ino: piece for piece in watch.view.pieces if piece.ino in about}
    return Turn(
        at=now.steady,
        mode=watch.kept.mode,
        why=decision.why,
        moves=moves,
        requests=tuple(pieces[p.move.ino].requests for p in moves),
        fullest=fullest,
        share=share[fullest],
        before=loads[fullest],
        split=tuple(pieces[ino].path for ino in decision.split),
        scatter=decision.scatter,
    )


def _left_by_turn(turns: Sequence[Turn], runs: Sequence[Run]) -> Iterator[tuple[Turn, dict[int, str]]]:
    """Each turn, and what of its plan was left where it is, as ``_left``. The name of a plan that is
    forgotten is given again: it is that of the last turn."""
    named = {run.plan.name: run for run in runs if run.plan.scheduled}
    last = {turn.plan: turn for turn in turns}
    for turn in turns:
        run = named.get(turn.plan) if turn is last[turn.plan] and not turn.undone else None
        yield turn, {} if run is None else dict(_left(run))


def _left(run: Run) -> Iterator[tuple[int, str]]:
    """Inode numbers of the directories that the executor left alone, or put back as they came too late, and
    why; not while something of them is still to be put back: it could not be decided anew."""
    records = dict(run.records)
    waiting = {OF_ALL, *going_back(run.plan, records)}
    for i, record in records.items():
        row = run.plan.steps[i].row
        left = record.state == SKIPPED or (record.state in (UNDONE, KEPT) and record.why)
        if left and row not in waiting:
            yield run.plan.rows[row].ino, record.why


def _advice(decision: Decision) -> dict[int, tuple[int, ...]]:
    """Where each equal part of a piece would be, by inode number."""
    told: dict[int, tuple[int, ...]] = {move.ino: (move.target,) for move in decision.moves}
    return told | {scatter.ino: scatter.ranks for scatter in decision.scatter}
