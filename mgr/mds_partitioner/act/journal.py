# SPDX-License-Identifier: LGPL-2.1-or-later
"""The journal: every plan, every step's old value before it is replaced, in the mon's key/value store.

plan/ID/seal          the plan's name and format, how many parts it has, and their digest; when the analysis
                      ended that it is made from, and the ranks that it was to use; without it there is no
                      plan, nor with nothing but it
plan/ID/body/NNNN     the plan itself, immutable, in parts (the mon takes 64 KiB a key)
plan/ID/done/NNNN     records that it began with, as it was merged from other plans; immutable, in parts
plan/ID/head/M        the state, small and rewritten
plan/ID/step/NNNNNN/M one record a step, written before the change and when the change has ended
plan/ID/made/NNNN/M   numbers of the steps under way whose change was confirmed, written when a tick ends, and
                      at a pause or a stop: what is there in place of it later, an operator has set. NNNN: of
                      each few thousand steps one key. Of all M; versions before 0.9.2 do not read it

An ID is used once, so nothing that an interrupted creation or removal left behind is ever read as a part
of another plan. M is the manager's incarnation, and only the highest is read: what a manager writes that has
been replaced, and does not know it yet, changes nothing. So one that takes over writes every head anew from
which a plan may go on. (What a replaced one changes of directories is refused: the mon blocklists its
clients.)

A plan that was merged from others counts as soon as it is complete; they are removed then. Before that is
done nothing else is written of any plan of the file system, so both say the same as long as both are there.

Removals bear no M: that by a manager that has been replaced may come when the next one has read the plan, as
may a seal when that one has removed its plan. So none removes what a later manager has written a head of, and
an order to begin or to go on writes the seal anew of what was read.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..errors import BadInput, Busy, JournalError, PartitionerError
from ..plan.plan import Plan
from ..store import NewerFormat, Store
from .core import interrupted
from .pages import is_whole, name_of, parts_of, run_of, seal_of, with_pool
from .run import ACTIVE, INTENT, PAUSED, READY, STOPPED, GoesOn, Head, Record, Run

READY_HEAD = Head()
ROOT = "plan/"
NOBODYS = -1  # in place of a file system's id, for what is no plan (any more)
AT_ONCE = 20  # keys that are removed, or heads that are claimed, in a tick, between two steps of plans
MADE = 4096  # steps whose numbers are in one key
ID = re.compile(r"[0-9a-f]{32}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Unreadable:
    """A plan in the journal that cannot be read; it is put aside and changes nothing."""

    id: str
    name: str
    why: str


@dataclass
class _First:
    """Writes about plans of a file system that come before all others about these, and their order.

    :ivar claims: plans whose heads are to be written anew, by their IDs: nobody waits for that
    :ivar old: IDs of what is no plan any more, whose keys are to be removed; likewise
    :ivar passed: keys of heads that other managers wrote before; likewise
    """

    turn: threading.Lock = field(default_factory=threading.Lock)
    writes: deque[Callable[[], None]] = field(default_factory=deque)
    claims: dict[str, Run] = field(default_factory=dict)
    old: deque[str] = field(default_factory=deque)
    passed: deque[str] = field(default_factory=deque)


def check_name(name: str) -> str:
    """A plan's name. :raises BadInput: when it cannot be one."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f"'{name}' cannot be a plan's name: use up to 64 ASCII letters, digits, '_', '-' and '.', the "
            "first a letter or digit"
        )
    return name


def new_id() -> str:
    """An ID that no plan had before."""
    return uuid.uuid4().hex


class Journal:
    """Reads and writes runs. Every write raises JournalError unless the mon confirmed it."""

    def __init__(self, store: Store, incarnation: int, new_id: Callable[[], str] = new_id) -> None:
        """``incarnation`` grows with each manager that becomes active; ``new_id``: of a plan, never twice."""
        self._store, self._me, self._new_id = store, f"{incarnation:010d}", new_id
        self._first: dict[int, _First] = {}  # by file system: none waits for another one's writes
        self._heads: dict[str, list[str]] = {}  # by id: keys of heads as they were found, until it is written
        self._read = set[str]()  # IDs of plans that were found, and that no order has let go on since

    def load(self) -> tuple[list[Run], list[Unreadable]]:
        """Every plan, oldest first, and those that cannot be read.

        :raises JournalError: the mon does not answer
        """
        runs: list[Run] = []
        unreadable: list[Unreadable] = []
        self._first.clear()  # of a load that failed: it is all found again
        self._heads.clear()
        for id_, parts in self._plans().items():
            try:
                if ID.fullmatch(id_) and not is_whole(parts):
                    self.drop(id_, NOBODYS)
                else:
                    runs.append(run_of(id_, parts))
            except NewerFormat as e:
                unreadable.append(Unreadable(id_, name_of(id_, parts), str(e)))
            except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as e:
                why = f"{type(e).__name__}: {e}"
                unreadable.append(Unreadable(id_, name_of(id_, parts), why))
        runs, unreadable = self._unmerged(sorted(runs, key=lambda run: run.plan.created), unreadable)
        runs = self._unique(runs)
        self._read = {run.id for run in runs}
        return runs, unreadable

    def create(
        self,
        plan: Plan,
        taken: Iterable[str],
        head: Head = READY_HEAD,
    ) -> Run:
        """Save a new plan. The seal is written last: a plan without one does not exist.

        :param taken: names of plans that there are
        :param head: what it begins with
        """
        check_name(plan.name)
        if plan.name in taken:
            raise Busy(f"a plan named '{plan.name}' exists already")
        for first in list(self._first.values()):  # of whatever file system: names are unique
            self._come_first(first)
        run = Run(self._new_id(), plan, head)
        try:
            self._write(run)
        except JournalError:
            # What the mon has taken may include the seal: its answer may be all that was lost.
            self.drop(run.id, plan.fscid)
            raise
        return run

    def merge(self, plan: Plan, head: Head, records: Mapping[int, Record]) -> Run:
        """A plan in place of those that it replaces, from now on. ``catch_up`` tells the mon."""
        run = Run(self._new_id(), plan, head, dict(records))
        whole = Run(run.id, plan, head, dict(records))  # as it is now, whatever becomes of it
        first = self._first_of(plan.fscid)
        first.writes.append(lambda: self._write(whole))
        first.writes += [partial(self._retire, first, id_) for id_ in plan.replaces]
        return run

    def _write(self, run: Run) -> None:
        text = run.plan.to_json()
        body, done = parts_of(text), parts_of(json.dumps({i: vars(r) for i, r in run.records.items()}))
        parts = {f"body/{i:04d}": part for i, part in enumerate(body)}
        if run.records:
            parts |= {f"done/{i:04d}": part for i, part in enumerate(done)}
        run.memory.seal = seal_of(run.plan, text)
        parts |= {f"head/{self._me}": json.dumps(vars(run.head)), "seal": run.memory.seal}
        for rest, value in parts.items():
            self._store.put(f"{ROOT}{run.id}/{rest}", value)

    def head(self, run: Run, *, only_from: str | None = None, **changes: Any) -> Head:
        """Change the head, durably; with ``only_from``, unless a command has changed the state meanwhile.
        Returns the one that there is then.

        :raises JournalError: it is as it was; so it is in the mon before anything else is written
        """
        with run.memory.writing:
            if only_from in (None, run.head.state):
                untold = run.memory.untold
                self._put_head_now(run, replace(run.head, **changes))
                run.memory.is_told(untold)
            return run.head

    def go_on(self, run: Run, order: GoesOn, **changes: Any) -> bool:
        """Change the head by an operator's order that it goes on, durably. No other order is written
        meanwhile. Did it begin? If not, it is as it was, so in the mon, too, before anything else is written.

        :raises Busy: it must not go on; it is as it was
        :raises JournalError: likewise; the mon did not take it
        """
        with run.memory.writing:
            before = run.head
            order.refuse()
            self._adopt(run)
            self._put_head_now(run, replace(before, **changes))
            try:
                begun = order.begin()
            except PartitionerError:
                self._put_head_soon(run, before)
                raise
            if begun:
                run.memory.is_told(order.untold)
            else:
                self._put_head_soon(run, before)
            return begun

    def _adopt(self, run: Run) -> None:
        """What was read is there to stay, though the manager before may just have been removing it.

        :raises JournalError: the mon does not take it, or it is removed already, at least in part
        """
        if run.id in self._read:
            self._come_first(self._first_of(run.plan.fscid))
            parts = self._store.items(f"{ROOT}{run.id}/body/")
            if len(parts) < json.loads(run.memory.seal)["parts"]:
                raise JournalError(f"plan '{run.plan.name}' was just removed by the manager before this one")
            self._put_seal(run)
            self._read.discard(run.id)

    def interrupt(self, run: Run) -> None:
        """Change the head as it was ordered (``untold``), durably; it says what was interrupted. Of what has
        ended meanwhile nothing was, and an order that came later holds.

        :raises JournalError: ``tell`` tries it again
        """
        with run.memory.writing:
            self._tell(run, run.memory.untold)

    def tell(self, run: Run) -> None:
        """What interrupted a plan, and the mon has not taken yet. :raises JournalError: nor does it now"""
        if run.memory.untold and run.memory.writing.acquire(blocking=False):  # who writes is not waited for
            try:
                self._tell(run, run.memory.untold)
            finally:
                run.memory.writing.release()

    def _tell(self, run: Run, changes: Mapping[str, Any]) -> None:
        """What writes the head has its turn. ``changes``: not as the plan has them: a pause may just end"""
        if changes and run.head.state in ACTIVE:
            self._put_head(run, replace(run.head, resume_to=interrupted(run.head), **changes))
        run.memory.is_told(changes)

    def claim(self, run: Run) -> None:
        """Write the head as it was read: what a replaced manager writes of it from now on is not read."""
        with run.memory.writing:
            self._write_head(run, run.head)

    def claim_soon(self, run: Run) -> None:
        """The same, by and by, unless this manager writes the head before, or has: there may be many plans,
        and a slow mon takes seconds for each."""
        if self._head_key(run) not in self._heads.get(run.id, ()):
            self._first_of(run.plan.fscid).claims[run.id] = run

    def replace_head(self, run: Run, began: Head, head: Head) -> None:
        """Change the head, unless somebody else has since ``began``; in the mon as soon as that takes it, and
        before anything else is written."""
        with run.memory.writing:
            if run.head is began:
                self._put_head_soon(run, head)

    def retell(self, run: Run, began: Head, head: Head) -> None:
        """As ``replace_head``, but in memory only: the next manager finds its own words."""
        with run.memory.writing:
            if run.head is began:
                run.head = head

    def _put_head_now(self, run: Run, head: Head) -> None:
        """:raises JournalError: it is as it was; so it is in the mon before anything else is written"""
        first = self._first_of(run.plan.fscid)
        self._come_first(first)
        try:
            self._put_head(run, head)
        except JournalError:
            # The mon may have it all the same, and the next manager would read it.
            first.writes.append(lambda: self._store_head(run, run.head))
            raise

    def _put_head_soon(self, run: Run, head: Head) -> None:
        try:
            self._put_head(run, head)
        except JournalError:
            run.head = head
            self._first_of(run.plan.fscid).writes.append(lambda: self._store_head(run, run.head))

    def _put_head(self, run: Run, head: Head) -> None:
        if head != run.head or run.memory.untold:  # which may be in the mon all the same
            self._write_head(run, head)
            run.head = head

    def _write_head(self, run: Run, head: Head) -> None:
        self._come_first(self._first_of(run.plan.fscid))
        self._store_head(run, head)

    def _store_head(self, run: Run, head: Head) -> None:
        mine = self._head_key(run)
        if head.state in (PAUSED, STOPPED):
            self._store_made(run)  # first: nobody looks at the steps any more from then on
        self._store.put(mine, json.dumps(vars(head)))
        first = self._first_of(run.plan.fscid)
        first.claims.pop(run.id, None)
        first.passed.extend(key for key in self._heads.pop(run.id, ()) if key < mine)

    def keep_made(self, run: Run) -> None:
        """What was confirmed since this was written last, if anything; as ``replace_head`` writes."""
        first = self._first_of(run.plan.fscid)
        with run.memory.writing:
            new = _made(run) - run.memory.told
            if not new:
                return
            try:
                self._come_first(first)
                self._put_made(run, new)
            except JournalError:
                first.writes.append(partial(self._put_made, run, new))
                run.memory.told |= new  # it comes before whatever would tell it anew

    def _store_made(self, run: Run) -> None:
        self._put_made(run, _made(run) - run.memory.told)

    def _put_made(self, run: Run, new: frozenset[int]) -> None:
        made = _made(run)  # with what is confirmed by now: nothing later is overwritten
        for part in sorted({i // MADE for i in new}):
            of_it = sorted(i for i in made if i // MADE == part)
            key = f"{ROOT}{run.id}/made/{part:04d}/{self._me}"
            self._store.put(key, json.dumps(of_it, separators=(",", ":")))
            run.memory.told |= frozenset(of_it)

    def _head_key(self, run: Run) -> str:
        return f"{ROOT}{run.id}/head/{self._me}"

    def record(self, run: Run, step: int, record: Record) -> None:
        """Write a step's record, durably."""
        self._come_first(self._first_of(run.plan.fscid))
        self._store.put(f"{ROOT}{run.id}/step/{step:06d}/{self._me}", json.dumps(vars(record)))
        run.records[step] = record
        run.memory.recorded.add(step)
        run.memory.written += 1

    def look_up(self, run: Run, step: int) -> Record | None:
        """A step's record as the mon has it, whoever wrote it; None: there is none."""
        found = self._store.items(f"{ROOT}{run.id}/step/{step:06d}/")
        return Record(**json.loads(found[max(found)])) if found else None

    def drop(self, id_: str, fscid: int) -> None:
        """Remove a plan; when the mon does not take that, it is done before any other of its file system is
        written, or any is created. Its keys stay until ``tidy``: there may be thousands."""
        first = self._first_of(fscid)
        first.writes.append(partial(self._retire, first, id_))
        with suppress(JournalError):
            self._come_first(first)

    def tidy(self, fscid: int) -> None:
        """Claim some of a file system's plans, then remove some of the keys that others left."""
        first = self._first_of(fscid)
        claims = list(first.claims.values())[:AT_ONCE]
        most = AT_ONCE - len(claims)
        with suppress(JournalError):  # they are claimed in the next tick
            for run in claims:
                self._claim_left(first, run)
        if first.old and most:
            id_ = first.old.popleft()
            if self.sweep(id_, most):
                first.old.appendleft(id_)
            return
        with suppress(JournalError):  # they go at the next start
            for _ in range(min(most, len(first.passed))):
                self._store.delete(first.passed.popleft())

    def _claim_left(self, first: _First, run: Run) -> None:
        """Unless its head is just written, which claims it; so none is overtaken. Nor is what has gone."""
        if run.memory.writing.acquire(blocking=False):
            try:
                if run.id in first.claims:
                    self._store_head(run, run.head)
                    first.claims.pop(run.id, None)  # its file system may have another id by now
            finally:
                run.memory.writing.release()

    def behind(self) -> list[int]:
        """File systems of which something must be done before anything else is written, or by and by."""
        known = list(self._first.items())
        return [fscid for fscid, first in known if any((first.writes, first.claims, first.old, first.passed))]

    def catch_up(self, fscid: int) -> None:
        """Do that now. :raises JournalError: not all of it is done"""
        self._come_first(self._first_of(fscid))

    def _come_first(self, first: _First) -> None:
        """A few keys: what has become old is not removed meanwhile. :raises JournalError: not all is done"""
        if first.writes:
            with first.turn:
                while first.writes:
                    first.writes[0]()
                    first.writes.popleft()

    def _first_of(self, fscid: int) -> _First:
        return self._first.setdefault(fscid, _First())

    def _retire(self, first: _First, id_: str) -> None:
        if self._is_anothers(self._store.items(f"{ROOT}{id_}/head/")):
            return
        self.unseal(id_)
        first.claims.pop(id_, None)
        first.old.append(id_)

    def forget(self, run: Run) -> None:
        """``unseal``. :raises JournalError: it is as it was, also in the mon before anything is written"""
        first = self._first_of(run.plan.fscid)
        with run.memory.writing:
            try:
                self.unseal(run.id)
            except JournalError:
                first.writes.append(partial(self._put_seal, run))
                raise
            first.claims.pop(run.id, None)

    def know_pool(self, run: Run) -> None:
        """A plan of an older version is tied to its metadata pool before anything else of it is written."""
        run.memory.seal = with_pool(run.memory.seal, run.plan)
        self._first_of(run.plan.fscid).writes.append(partial(self._put_seal, run))

    def _put_seal(self, run: Run) -> None:
        """As it was: the body is what was written, also where the plan is of another id by now."""
        self._store.put(f"{ROOT}{run.id}/seal", run.memory.seal)

    def unseal(self, id_: str) -> None:
        """Forget a plan: without its seal, the other keys belong to none."""
        self._store.delete(f"{ROOT}{id_}/seal")

    def sweep(self, id_: str, most: int | None = None) -> bool:
        """Remove the keys of what is no plan any more, or some of them: are there more? What the mon does not
        take goes at the next start."""
        try:
            keys = list(self._store.items(f"{ROOT}{id_}/"))
            if self._is_anothers(keys):
                return False
            # First a seal that came late: with it, what is left would be a plan.
            for key in sorted(keys, key=lambda key: (key.endswith("/seal"), key), reverse=True)[:most]:
                self._store.delete(key)
        except JournalError:
            return False
        return len(keys) > len(keys[:most])

    def _is_anothers(self, keys: Iterable[str]) -> bool:
        """Has a later manager written a head? It had read the plan before, and goes on with it."""
        heads = (key.rpartition("/head/") for key in keys)
        return any(there and incarnation > self._me for _, there, incarnation in heads)

    def sweep_later(self, run: Run) -> None:
        """The same, some keys a tick: there may be thousands."""
        self._first_of(run.plan.fscid).old.append(run.id)

    def _plans(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for key, value in sorted(self._store.items(ROOT).items()):
            id_, _, rest = key.removeprefix(ROOT).partition("/")
            if rest.startswith("head/"):
                self._heads.setdefault(id_, []).append(key)
            # Sorted, so that the highest incarnation comes last.
            rest = rest.rpartition("/")[0] if rest.startswith(("head/", "step/")) else rest
            found.setdefault(id_, {})[rest] = value
        return found

    def _unmerged(self, runs: list[Run], unreadable: list[Unreadable]) -> tuple[list[Run], list[Unreadable]]:
        """Without those that another was merged from."""
        there = {run.id for run in runs}
        stale = {id_: run.plan.fscid for run in runs for id_ in run.plan.replaces}
        for id_ in sorted(stale.keys() & (there | {bad.id for bad in unreadable})):
            self.drop(id_, stale[id_])
        return [r for r in runs if r.id not in stale], [bad for bad in unreadable if bad.id not in stale]

    def _unique(self, runs: list[Run]) -> list[Run]:
        """Without what a creation left that was told to have failed, and was made again by the same name, be
        it by a later manager, whose clock may be behind."""
        in_turn = sorted(runs, key=lambda run: max(self._heads[run.id]).rpartition("/")[2])
        newest = {run.plan.name: run for run in in_turn}
        stale = [run for run in runs if run.head.state == READY and newest[run.plan.name] is not run]
        for run in stale:
            self.drop(run.id, run.plan.fscid)
        return [run for run in runs if run not in stale]


def _made(run: Run) -> frozenset[int]:
    """Steps under way whose change was confirmed."""
    made = tuple(run.memory.made)  # the mover may add one meanwhile
    return frozenset(i for i in made if i in run.records and run.records[i].state == INTENT)
