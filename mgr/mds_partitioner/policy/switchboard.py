# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who may switch a file system: commands and the loop take turns, and nobody waits for anybody.

Whoever begins last has the turn; who had it before notices before its next step, and stops there. A step that
was under way then may still take effect, so a record that is to be forgotten stays until nobody works on its
file system, and the loop turns off once more what it speaks of. No lock is held while Ceph is waited for.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from ..ceph.host import Host
from ..errors import Busy, CephError, InDoubt, PartitionerError, Unavailable
from ..model import FsState, other_pools
from ..plan.circumstances import FORWARDS, TO_AUTH
from . import switch as switching
from .switch import LEFT, SURE, TURNING_OFF, Doubt, Forget, RemoveObject, Save, SetFs, Step, Switch


@dataclass(frozen=True)
class Turn:
    """Who began last. The loop's (``command`` false) is none while a command prepares to switch: an operator
    who waits for a policy to be tried must not hear that somebody else came meanwhile."""

    number: int
    command: bool = False


class TakenOver(Busy):
    """An operator has set something else meanwhile."""


def never(fs: FsState, switch: Switch) -> bool:
    """Nothing that was set since is a reason to stop."""
    return False


def _taken_over(switch: Switch) -> TakenOver:
    return TakenOver(f"an operator has set another balancer of '{switch.fs}' meanwhile: it stays")


class Switchboard:
    """The switches of all file systems, as the journal has them or is about to."""

    def __init__(self, host: Host, needs: Callable[[FsState], str | None]) -> None:
        """``needs`` names the plan that needs ``balance_automate``, or None."""
        self._host, self._needs = host, needs
        self._lock = threading.Lock()
        self._switches: dict[int, Switch] | None = None
        self._turns: Counter[int] = Counter()
        self._working: Counter[int] = Counter()
        self._preparing: Counter[int] = Counter()
        self._late: set[int] = set()  # turned off while somebody was switching them on, or ``cleared``
        self._doubt: dict[int, Doubt] = {}  # by fscid, of what was not answered

    def begin(self) -> dict[str, str]:
        """Read the journal; keys of records that cannot be read, and why. :raises JournalError: no answer"""
        store = self._host.store
        read, unreadable = switching.load(store)
        found = {i: switching.with_pool(store, of, self._host.fs_by_id(i)) for i, of in read.items()}
        with self._lock:
            self._switches = found
        return unreadable

    def get(self, fscid: int) -> Switch | None:
        """The switch of a file system; None: no policy of ours balances it."""
        return self._known().get(fscid)

    def all(self) -> list[Switch]:
        """Every switch; none before the journal was read."""
        with self._lock:
            return list((self._switches or {}).values())

    def turn(self, fscid: int) -> Turn:
        """Whose turn it is: for ``put_in_force``, which refuses when somebody else began since."""
        return Turn(self._turns[fscid])

    @contextmanager
    def preparing(self, fscid: int) -> Iterator[Turn]:
        """A command is about to switch: the loop begins nothing until it has."""
        with self._lock:
            self._preparing[fscid] += 1
            turn = Turn(self._turns[fscid], command=True)
        try:
            yield turn
        finally:
            with self._lock:
                self._preparing[fscid] -= 1

    def idle(self, fscid: int) -> bool:
        """Is nobody switching this file system?"""
        with self._lock:
            return not self._working[fscid]

    def put_in_force(
        self,
        switch: Switch,
        text: str,
        turn: Turn,
        unless: Callable[[FsState, Switch], bool] = never,
    ) -> None:
        """Go from an intended record to one in force. One that fails stays, and is gone on with or undone.

        :param unless: asked of the file system as the mon has it, at first and right before each setting
        :raises Busy: somebody else began to switch since ``turn``, or the file system was removed or renamed
        :raises TakenOver: ``unless`` holds since it began; a command is told also when it did at first
        """
        with self._sequence(switch, turn) as mine:
            fs = self._host.fs_of_mon(switch.fscid)
            if fs is None:
                return
            if not fs.has(switch.metadata_pool):
                raise Busy(other_pools(switch.fs))
            if unless(fs, switch):
                if turn.command:
                    raise _taken_over(switch)
                return
            for step in switching.steps_on(switch, fs):
                if isinstance(step, SetFs):
                    self._ask_again(switch, step, unless)
                self._carry_out(mine, switch.fscid, (step,), text)
            self._doubt.pop(switch.fscid, None)
            self._late.discard(switch.fscid)

    def _ask_again(self, switch: Switch, step: SetFs, unless: Callable[[FsState, Switch], bool]) -> None:
        """The policy was written meanwhile, which takes up to 20 s: another file system may have the name."""
        fs = self._host.fs_of_mon(switch.fscid)
        if fs is None or fs.name != step.fs:
            raise Busy(f"'{step.fs}' was removed or renamed meanwhile")
        if unless(fs, switch):
            raise _taken_over(switch)

    def take_out(self, switch: Switch, turn: Turn) -> list[str]:
        """Put back what was replaced; in sentences, what was not. Settings come first, our objects last.

        :raises Busy: as ``put_in_force``
        """
        off = replace(switch, state=TURNING_OFF)
        with self._sequence(off, turn) as mine:
            doubt = self._doubts(switch)  # first: what was answered since shows in what is read
            fs = self._host.fs_of_mon(switch.fscid)
            if fs is None or not fs.has(switch.metadata_pool):
                self._carry_out(mine, switch.fscid, switching.put_back_option(switch, doubt.option))
                self._remove_left(mine, switch)
                self._carry_out(mine, switch.fscid, (Forget(switch.fscid),))
                return [] if fs is None else [f"{other_pools(switch.fs)}: its settings were left"]
            cleared = switching.cleared(switch, fs)
            if cleared:
                self._late.add(switch.fscid)  # also when this fails, and is tried again
            plan = self._plan(mine, fs, off, journal=not cleared)
            late = switch.fscid in self._late
            steps = switching.steps_off(off, fs, late, plan is not None, doubt)
            if cleared:  # which only the record of before tells: a next manager has it until the flag is back
                steps = tuple(sorted(steps, key=lambda step: not isinstance(step, SetFs)))
            at_last = [step for step in steps if isinstance(step, (RemoveObject, Forget))]
            told = switching.left_alone(switch, fs, self._to_auth(switch), plan, late)
            self._carry_out(mine, switch.fscid, steps[: -len(at_last)])
            self._doubt.pop(switch.fscid, None)
            self._late.discard(switch.fscid)  # once: what an operator sets from now on is his
            try:
                self._carry_out(mine, switch.fscid, at_last)
            except (CephError, Unavailable) as e:
                told.append(f"the policy's objects are still in the pool, and will be removed: {e}")
            return told

    def _remove_left(self, mine: int, switch: Switch) -> None:
        """'fs rm' leaves the metadata pool, and our objects in it. Tried once: the record is to go."""
        pool = switch.metadata_pool
        used = any(fs.metadata_pool == pool for fs in self._host.file_systems())  # 'fs swap'
        if pool is None or used or pool not in self._host.pools():
            return
        with suppress(CephError, Unavailable):
            self._carry_out(mine, switch.fscid, [RemoveObject(pool, name) for name in switch.objects])

    def _plan(self, mine: int, fs: FsState, off: Switch, journal: bool) -> str | None:
        """The plan that needs ``balance_automate``; where nobody knows yet, the loop goes on later.

        :param journal: so does a next manager
        """
        try:
            return self._needs(fs)
        except Unavailable as e:
            if journal:
                self._carry_out(mine, fs.fscid, (Save(off),))
            e.args = (f"{e}; the policy of '{fs.name}' is taken out as soon as that is over",)
            raise

    def _doubts(self, switch: Switch) -> Doubt:
        """Of what was not answered in time, what is not answered yet."""
        doubt, late = self._doubt.get(switch.fscid, SURE), self._host.mon_in_flight
        return Doubt(
            settings=doubt.settings and late(prefix="fs set", fs_name=switch.fs),
            option=doubt.option and late(who="mds", name=TO_AUTH),
        )

    def _to_auth(self, switch: Switch) -> str:
        """The option as it is, for what is told; what cannot be read holds nothing up."""
        try:
            return FORWARDS if switch.to_auth == LEFT else switching.option(self._host, switch.fscid).read()
        except PartitionerError:
            return FORWARDS

    def undo(self, switch: Switch) -> bool:
        """Let the loop turn off what could not be put in force; not what is by now, nor what somebody else
        began meanwhile. Does it?"""
        with self._lock:
            known = self._known()
            mine = known.get(switch.fscid) == switch
            if mine:
                known[switch.fscid] = replace(switch, state=TURNING_OFF)
            return mine

    def flag_is_ours(self, fscid: int) -> None:
        """``balance_automate`` is on since a policy of ours that an operator has ``cleared``. The record of
        the next one does not tell that before it is in force."""
        with self._lock:
            self._late.add(fscid)

    def keep(self, changed: Switch, turn: Turn) -> None:
        """Go on with another record, and change nothing else. :raises Busy: as ``put_in_force``"""
        with self._sequence(changed, turn) as mine:
            self._carry_out(mine, changed.fscid, (Save(changed),))

    def forget(self, fscid: int) -> None:
        """The record of a file system, which cannot be read, goes; nothing else is changed."""
        switching.forget(self._host.store, fscid)
        with self._lock:
            self._known().pop(fscid, None)

    def interrupt(self, fscid: int) -> tuple[Switch | None, Turn]:
        """Take the turn, so that whoever is switching stops, or does not begin; the switch, and the turn."""
        with self._lock:
            self._turns[fscid] += 1
            return self._known().get(fscid), Turn(self._turns[fscid], command=True)

    @contextmanager
    def _sequence(self, switch: Switch, turn: Turn) -> Iterator[int]:
        fscid = switch.fscid
        with self._lock:
            if self._turns[fscid] != turn.number or (self._preparing[fscid] and not turn.command):
                raise Busy(f"'{switch.fs}' was switched by another command meanwhile: see 'balance status'")
            self._turns[fscid] += 1
            self._working[fscid] += 1
            self._known()[fscid] = switch
            mine = self._turns[fscid]
        try:
            yield mine
        finally:
            with self._lock:
                self._working[fscid] -= 1

    def _carry_out(self, mine: int, fscid: int, steps: Iterable[Step], text: str = "") -> None:
        for step in steps:
            with self._lock:
                if self._turns[fscid] != mine:
                    raise Busy("another command switches this file system now: see 'balance status'")
                if isinstance(step, Forget) and self._working[fscid] > 1:
                    self._late.add(fscid)
                    return
            try:
                switching.carry_out(self._host, step, text)
            except InDoubt:
                self._doubt[fscid] = self._doubt.get(fscid, SURE).also(step)
                raise
            with self._lock:
                if self._turns[fscid] != mine:
                    continue
                if isinstance(step, Save):
                    self._known()[fscid] = step.switch
                elif isinstance(step, Forget):
                    self._known().pop(fscid, None)
                    self._late.discard(fscid)

    def _known(self) -> dict[int, Switch]:
        if self._switches is None:
            raise Unavailable("the module is starting: its journal was not read yet")
        return self._switches
