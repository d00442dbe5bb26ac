# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every plan there is: read from the journal, added, merged, found by its name, forgotten."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..ceph.host import Host
from ..ceph.shared_option import SharedOption, sweep
from ..clock import Now
from ..errors import Busy, NotFound, PartitionerError, Unavailable
from ..model import FsState
from ..plan.circumstances import FORWARDS, TO_AUTH
from ..plan.plan import AUTOMATE, CONFIG_STEP, Plan
from . import choice
from .halts import Halts
from .journal import AT_ONCE, Journal, Unreadable
from .merge import merged
from .run import (
    ACTIVE,
    APPLIED,
    DONE,
    IN_FORCE,
    INTENT,
    KEPT,
    READY,
    ROLLED_BACK,
    RUNNING,
    STOPPED,
    UNDOING,
    Head,
    Record,
    Run,
    by_hand,
    find,
    held_by_operator,
    in_force,
    plan_user,
    steps_in_force,
    taken_from,
    user_of,
)


class Plans:
    """As the journal has them. Names are unique, and of one file system none is as old as another: what is
    undone first goes by that."""

    def __init__(self, host: Host, journal: Journal, now: Callable[[], Now], log: logging.Logger) -> None:
        self._host, self._journal, self._now, self._log = host, journal, now, log
        self.leave_automate: Callable[[int], None] = lambda fscid: None
        """Has no policy of ours switch ``balance_automate`` off with itself, by fscid; policies set it."""
        self._lock = threading.Lock()  # of the lists and sets here; never held while the mon is waited for
        self._creating: set[str] = set()  # names that are being taken
        self._reserved: set[str] = set()  # IDs of those that a command is about to change
        self._runs: list[Run] | None = None
        self.dropped: dict[int, set[str]] = {}
        """Names of plans that were only proposed when the last manager ended, by fscid."""
        self.unreadable: list[Unreadable] = []
        self.unclaimed = frozenset[int]()
        """IDs of file systems to which plans were followed, and whose claims were not yet."""
        self.halts = Halts()
        self._early: dict[
            int, tuple[float | None, dict[str, Any]]
        ] = {}  # orders that came before the journal

    def load(self) -> None:
        """Read the journal; plans that another manager left unfinished are this one's."""
        read, self.unreadable = self._journal.load()
        for run in filter(_only_proposed, read):
            self._journal.drop(run.id, run.plan.fscid)
            self.dropped.setdefault(run.plan.fscid, set()).add(run.plan.name)
        runs = self._known_by_pool([run for run in read if not _only_proposed(run)])
        now = self._now()
        for run in runs:
            if run.head.state not in (READY, DONE, ROLLED_BACK):
                self._journal.claim(run)
            if run.head.until is not None:
                run.memory.hold = now.steady + run.head.until - now.wall
            run.memory.decided = now.steady - max(0.0, now.wall - run.plan.created)
        for bad in self.unreadable:
            self._log.error("the journal of plan '%s' cannot be read: %s", bad.name, bad.why)
        self._claim(runs)
        self._sweep(lambda: runs)
        for run in runs:
            if run.head.state in (READY, DONE):  # nobody waits for these: what is done with one claims it
                self._journal.claim_soon(run)
        with self._lock:
            for run in runs:
                if run.plan.fscid in self._early and run.head.state in ACTIVE:
                    run.memory.halted = True
                    run.memory.hold, run.memory.untold = self._early[run.plan.fscid]
            self._runs = runs

    def _known_by_pool(self, runs: list[Run]) -> list[Run]:
        """At home; what an older version made is tied to the pool that its file system has now."""
        unknown = [run for run in runs if run.plan.metadata_pool is None]
        found = _at_home(runs, self._host.file_systems())
        for run in unknown:
            if run.plan.metadata_pool is not None:
                self._journal.know_pool(run)
        return found

    def held(self, run: Run) -> bool:
        """Does an operator's stop or pause hold?"""
        return held_by_operator(run, self._now())

    def early(self, fscid: int, hold: float | None, **changes: Any) -> None:
        """An operator's order before the journal was read: it holds for what is under way, as soon as that is
        known, and the mon is told then. A pause does not end a stop. Nothing to do once it was read.

        :param hold: end of a pause, steady clock, s
        :param changes: what it makes of the head
        """
        with self._lock:
            before = self._early.get(fscid, (None, {}))[1].get("state")
            if self._runs is None and before != STOPPED:
                self._early[fscid] = hold, changes

    def _claim(self, runs: Sequence[Run]) -> None:
        """What was set by a manager that knew of no claims is claimed now, if it is still set."""
        for option, record in self._options(runs):
            if record.state in (INTENT, APPLIED) and option.replaced() is None and option.is_set():
                option.claim(record.old)

    def _sweep(self, runs: Callable[[], Sequence[Run]]) -> None:
        """Claims that no plan stands for go; whose plan cannot be read is not known."""

        def users() -> set[str]:
            unreadable = {plan_user(bad.id) for bad in self.unreadable}
            return unreadable | {option.user for option, _ in self._options(runs())}

        sweep(self._host.store, ("plan",) if self.unreadable else ("plan", "scheduler"), users)

    def _options(self, runs: Sequence[Run]) -> list[tuple[SharedOption, Record]]:
        """Options of the cluster that plans have set, or are about to."""
        return [
            (self._option(run, i), record)
            for run in runs
            if run.head.state != ROLLED_BACK
            for i, record in tuple(run.records.items())
            if run.plan.steps[i].kind == CONFIG_STEP and record.state in IN_FORCE
        ]

    def _option(self, run: Run, i: int) -> SharedOption:
        """The option of the cluster that a step of a plan sets."""
        step = run.plan.steps[i]
        return SharedOption(self._host, step.target, user_of(run), step.value)

    def known(self) -> list[Run]:
        """Every plan. :raises Unavailable: the journal was not read yet."""
        if self._runs is None:
            raise Unavailable("the module is starting: its journal was not read yet")
        return self._runs

    def of(self, fs: FsState) -> list[Run]:
        """The plans of a file system, oldest first."""
        return [run for run in self.known() if run.plan.fscid == fs.fscid and fs.has(run.plan.metadata_pool)]

    def follow(self, fscid: int, there: Sequence[FsState]) -> None:
        """What was planned for a file system of this id, and whose directories another one has by now ('fs
        swap', 'fs new --recover'), is that one's. Nobody executes it meanwhile.

        :raises JournalError: something is not written yet that must be written before
        """
        away = [run for run in self.read() if run.plan.fscid == fscid and self.is_away(run, there)]
        if not away:
            return
        self._journal.catch_up(fscid)
        with self._lock:  # at once: whoever finds them there knows that claims are to come
            self.unclaimed |= {choice.home_of(run.plan, there) for run in away}
            _at_home(away, there)
        for run in away:
            self._log.warning(
                "plan %s is of file system %d now, not %d", run.plan.name, run.plan.fscid, fscid
            )

    def claim_followed(self) -> None:
        """By its id the scheduler of a file system has claims: of those that were followed they are anew.

        :raises PartitionerError: not all are; it is to be tried again
        """
        with self._lock:
            claimed = self.unclaimed  # what is followed meanwhile is claimed later
        if claimed:
            self._claim(self.known())
            self._sweep(self.known)
            with self._lock:
                self.unclaimed -= claimed

    def is_away(self, run: Run, there: Sequence[FsState]) -> bool:
        """Is it of another file system than is known?"""
        return choice.home_of(run.plan, there) != run.plan.fscid

    def of_removed(self) -> list[Run]:
        """Plans of file systems that are gone, oldest first: they have ended, or are about to."""
        there = {fs.fscid for fs in self._host.file_systems()}
        return [run for run in self.known() if run.plan.fscid not in there]

    def read(self) -> list[Run]:
        """Every plan; none before the journal was read."""
        return list(self._runs or [])

    def active(self) -> list[Run]:
        """Plans that are being executed, paused or rolled back; none before the journal was read."""
        return [run for run in self.read() if run.head.state in ACTIVE]

    def active_of(self, fs: FsState) -> list[Run]:
        """Those of a file system. :raises NotFound: there is none"""
        found = [run for run in self.of(fs) if run.head.state in ACTIVE]
        if not found:
            raise NotFound(f"no plan of '{fs.name}' is being executed")
        return found

    def named(self, fs: FsState | None, name: str) -> Run:
        """``fs``: None: of whatever file system.

        :raises NotFound: it has none of that name
        :raises JournalError: that plan cannot be read
        """
        unreadable = {bad.name: bad.why for bad in self.unreadable}
        return find(self.known() if fs is None else self.of(fs), name, unreadable)

    def unread(self) -> str:
        """What is said where no plan is found: those that cannot be read, of whatever file system."""
        names = ", ".join(f"'{bad.name}'" for bad in self.unreadable)
        return names and f"; cannot be read: {names}, see 'ceph health detail'"

    def newest(self, fs: FsState, name: str | None) -> Run:
        """The named plan, else the one that is meant (choice.py). Errors as ``named``; NotFound: none"""
        if name is not None:
            return self.named(fs, name)
        run = choice.newest(self.of(fs))
        if run is None:
            make = f"run 'ceph mds_partitioner partition plan {fs.name}'"
            raise NotFound(f"'{fs.name}' has no plan: {make}{self.unread()}")
        return run

    def to_auth(self, fs: FsState) -> str:
        """The option as an operator's plan sees it: the claim of an older one, which outlives it, will do."""
        forced = in_force(choice.operators(self.known()), fs.fscid)
        holders = [user_of(run) for run, i, _ in forced if run.plan.steps[i].target == TO_AUTH]
        return SharedOption(self._host, TO_AUTH, holders[-1] if holders else "", FORWARDS).read()

    def free_name(self) -> str:
        """For a plan of an operator that was given none."""
        return choice.free_name(self._names())

    def save(self, made: Plan, *, named: bool = True) -> Plan:
        """The plan as it is saved. Older ones that nobody needs any more are forgotten then.

        :param named: by an operator; else it gets another name where somebody else took it meanwhile
        :raises Busy: the name is taken
        """
        with self._lock:
            taken = self._names() | self._creating
            if not named and made.name in taken:
                made = replace(made, name=choice.free_name(taken))
            self._creating.add(made.name)
        try:
            run = self._journal.create(self._dated(made), taken)
            with self._lock:
                self.known().append(run)
        except Busy as e:
            raise Busy(f"{e}{self._whose(made)}") from e
        finally:
            self._creating.discard(made.name)
        self._forget_past(run.plan)
        return run.plan

    def _forget_past(self, made: Plan) -> None:
        """Of the same file system. A slow mon takes seconds for each: what is left goes with the next one."""
        home = made.fscid, made.metadata_pool
        own = [run for run in self.known() if (run.plan.fscid, run.plan.metadata_pool) == home]
        for run in choice.past(own, AT_ONCE):
            try:
                with self.reserved(run):
                    if not choice.is_nothing(run):  # it was begun meanwhile
                        continue
                    self._forget(run)
            except PartitionerError as e:
                self._log.warning("plan %s: %s: it is forgotten later", run.plan.name, e)
                return
            self._journal.sweep_later(run)
            self._log.info("plan %s is forgotten: nothing of it is set, and it is old", run.plan.name)

    def _whose(self, made: Plan) -> str:
        """Of which file system the plan is that has the name already, and what can be done about it."""
        name, rm = made.name, f"ceph mds_partitioner partition rm {made.name}"
        run = next((run for run in self.known() if run.plan.name == name), None)
        if run is None:  # of which file system it is nobody knows
            unreadable = name in (bad.name for bad in self.unreadable)
            why = ": it cannot be read, see 'ceph health detail'" if unreadable else ""
            return f"; choose another name{why}"
        fs = self._host.fs_by_id(run.plan.fscid)
        if run.plan.fscid == made.fscid and in_force([run], made.fscid):  # without it nobody puts that back
            back = f"ceph mds_partitioner partition rollback {made.fs} {name}"
            return f"; choose another name: what it set is in force ('{back}' puts that back)"
        if run.plan.fscid == made.fscid:
            return f"; choose another name, or remove it ('{rm} {made.fs}')"
        if fs is None:
            whose, remove = f"'{run.plan.fs}', which was removed", f", or remove it ('{rm}')"
        else:
            whose, remove = f"'{fs.name}'", ""
        return f", of file system {whose}: names are of the whole cluster; choose another name{remove}"

    def _dated(self, made: Plan) -> Plan:
        """Later than all others of its file system, whatever the host's clock was set to since."""
        others = (run.plan.created for run in self.known() if run.plan.fscid == made.fscid)
        return replace(made, created=max(made.created, max(others, default=0.0) + choice.LATER))

    def propose(self, fs: FsState, made: Plan, age: float = 0.0) -> Run:
        """Save a plan of the scheduler under a name that is chosen here. Nobody executes it before ``admit``.

        :param age: s since the loads were seen that it goes by
        :raises Busy: a plan that an operator started is under way
        """
        choice.refuse_active(choice.operators(self.of(fs)), fs.name)
        name = self._reserve_name()
        decided = self._now().steady - age
        try:
            dated = self._dated(replace(made, name=name))
            run = self._journal.create(dated, self._names(), Head(RUNNING, started=dated.created))
            run.memory.decided = decided
            return run
        except PartitionerError:
            self._creating.discard(name)
            raise

    def admit(self, run: Run) -> None:
        """From now on it is executed, beside the scheduler's others."""
        with self._lock:
            self.known().append(run)
            self._creating.discard(run.plan.name)

    def withdraw(self, run: Run) -> None:
        """Forget what was proposed and not admitted."""
        self._creating.discard(run.plan.name)
        self._journal.drop(run.id, run.plan.fscid)

    @contextmanager
    def reserved(self, run: Run) -> Iterator[None]:
        """Nobody else merges, undoes or removes it meanwhile.

        :raises Busy: somebody is just doing so, or has
        """
        with self._lock:
            if run not in self.known() or run.id in self._reserved:
                raise Busy(
                    f"plan '{run.plan.name}' was just merged, or is undone or removed now: see 'partition ls'"
                )
            self._reserved.add(run.id)
        try:
            yield
        finally:
            with self._lock:
                self._reserved.discard(run.id)

    def finish(self, fs: FsState) -> None:
        """Tell the mon what it was not told yet of plans that were merged. What these left goes by and by.

        :raises JournalError: it does not take it; it is told before anything else is written
        """
        self._journal.catch_up(fs.fscid)

    def merge(self, fs: FsState, old: Sequence[Run], deleted: Collection[int] = ()) -> None:
        """Make one of plans of the scheduler that have ended: the mon keeps what is to be undone, not how it
        came about. Where an operator was quicker with one of them nothing is done.

        :param old: oldest first, none other between them
        :param deleted: inode numbers of directories that are gone for good
        :raises JournalError: as ``finish``, which comes first
        """
        self.finish(fs)
        for run in old:
            self._hand_over(run)
        written = [other.memory.written for other in old]
        plan, records = merged(old, self._reserve_name(), deleted)
        done = replace(old[-1].head, state=DONE, started=old[0].head.started)
        with self._lock:
            self._creating.discard(plan.name)
            as_they_were = written == [other.memory.written for other in old]
            if not (as_they_were and all(self._is_left_alone(other) for other in old)):
                return
            run = self._journal.merge(plan, done, records)  # in memory
            left = [other for other in self.known() if other not in old[:-1]]
            self._runs = [run if other is old[-1] else other for other in left]
        self.finish(fs)

    def _hand_over(self, run: Run) -> None:
        """Before a plan is no more: what an operator has taken from it is no older plan's either.

        :raises Busy: one of these was just merged, or is undone or removed now, or going to be
        :raises JournalError: as they were, of some of them
        """
        his = taken_from(run)
        for other in self.known() if his else ():
            if other.plan.fscid != run.plan.fscid or not choice.made_after(run, other):
                continue
            for _, i, record in in_force([other], run.plan.fscid):
                if other.plan.steps[i].about not in his:
                    continue
                if record.state == UNDOING and other.head.state in ACTIVE:  # the mover may be at it now
                    name, state = other.plan.name, other.head.state
                    raise Busy(f"plan '{name}' is {state}, with what an operator changed: wait, or stop it")
                with self.reserved(other):
                    self._journal.record(other, i, replace(record, state=KEPT, why=""))

    def _is_left_alone(self, run: Run) -> bool:
        """Has it ended, and no command is about to change it? The lock is held."""
        return run in self.known() and run.head.state == DONE and run.id not in self._reserved

    def remove(self, name: str, fs: FsState | None = None) -> int:
        """Forget a plan; pins it set become the operator's. Names are unique: ``fs`` only limits the search.

        :return: what of it stays, and is nobody's any more: how many steps
        :raises Busy: it is being executed, or just merged or undone
        :raises NotFound: there is none of that name
        """
        bad = next((b for b in self.unreadable if b.name == name), None)
        if bad is not None:
            self._journal.unseal(bad.id)
            self.unreadable.remove(bad)
            self._sweep(self.known)
            self._journal.sweep(bad.id)
            return 0
        run = self.named(fs, name)
        with self.reserved(run):
            if run.head.state in ACTIVE:
                raise Busy(f"plan '{name}' is {run.head.state}: stop it first")
            left = self._forget(run)
        self._sweep(self.known)
        self._journal.sweep(run.id)
        return left

    def _forget(self, run: Run) -> int:
        """But for its keys; it is reserved. Returns how many of its steps stay. Errors as of the mon"""
        self._journal.catch_up(run.plan.fscid)  # or what is written later would bring it back
        self._hand_over(run)
        left = self._left(run)
        self._journal.forget(run)  # first: nobody would put back what a plan that stays had left
        for i in left:
            self._leave(run, i)
        with self._lock:  # a new list: others may be going through the old one
            self._runs = [other for other in self.known() if other is not run]
        return len(left)

    def _leave(self, run: Run, i: int) -> None:
        """What others of ours would put back with what is theirs is the operator's from now on."""
        step = run.plan.steps[i]
        if step.kind == CONFIG_STEP:
            self._option(run, i).leave()
        elif step.target == AUTOMATE:
            self.leave_automate(run.plan.fscid)

    def _left(self, run: Run) -> list[int]:
        """Steps of a plan that are in force, and no later one of ours holds what they are about."""
        if self._host.fs_by_id(run.plan.fscid) is None:
            return []
        later = (other for other in self.known() if choice.made_after(other, run))
        held = {step.about for step, _ in steps_in_force(later, run.plan.fscid)}
        return [i for _, i, _ in in_force([run], run.plan.fscid) if run.plan.steps[i].about not in held]

    def _names(self) -> set[str]:
        """Every name that a plan has, on whatever file system."""
        return {run.plan.name for run in self.known()} | {bad.name for bad in self.unreadable}

    def _reserve_name(self) -> str:
        """The next name of a plan of the scheduler; nobody else gets it."""
        with self._lock:
            name = choice.next_name(self._names() | self._creating)
            self._creating.add(name)
        return name


def _at_home(runs: list[Run], there: Sequence[FsState]) -> list[Run]:
    """With the ids that their file systems have by now, and with their pools."""
    pools = {fs.fscid: fs.metadata_pool for fs in there}
    for run in runs:
        home = choice.home_of(run.plan, there)
        run.plan = replace(run.plan, fscid=home, metadata_pool=pools.get(home, run.plan.metadata_pool))
    return runs


def _only_proposed(run: Run) -> bool:
    """Is it a plan of the scheduler that nothing was begun of? Whether it was admitted nobody knows any more:
    an order to stop may have come before that. The scheduler decides anew. What an operator has started is
    his."""
    return run.plan.scheduled and run.head.state == RUNNING and not run.records and not by_hand(run)
