# SPDX-License-Identifier: LGPL-2.1-or-later
"""Balancing by a Mantle policy: what the ``balance`` commands do, and the loop that keeps its hints fresh."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from .. import clock
from ..abreast import Each, in_turn
from ..ceph.host import Host
from ..ceph.shared_option import sweep
from ..ceph.tick import USUAL_TICK
from ..clock import Now
from ..errors import Busy, NotPermitted, PartitionerError, Unheard, unexpected
from ..judge.history import History
from ..judge.verdict import Verdict
from ..model import FsState, other_pools
from ..observe.ranks import silent
from ..options import Settings
from ..plan.circumstances import FORWARDS
from ..plan.ranks import mask_of
from ..ranks import Ranks
from ..verify.guards import inactive
from . import policies
from . import switch as switching
from .beats import Fallback, beat_interval, fallbacks, last_beat, remembered, tick_interval, unreadable_in
from .decisions import Watch
from .hints import (
    PREFIX,
    Hints,
    growth,
    make_hints,
    policy_object,
    push_due,
    told_later,
    why_nobody,
    without_engine,
)
from .switch import ON, TURNING_OFF, TURNING_ON, PutBackOption, Switch
from .switchboard import Switchboard, TakenOver, Turn
from .trial import refuse_unless_usable, what_ranks_decide

FALLBACK_EPOCHS = 3  # how long a fallback is told
AGAIN = 5.0  # s, after which what failed is tried again: each try is a write of the mon
FORECAST_FROM = 4  # epochs, before a forecast is worth telling
LATER = 0.001  # s after it was ordered


class Balancer:
    """All file systems that a policy of ours balances."""

    def __init__(
        self,
        host: Host,
        ranks: Ranks,
        settings: Callable[[], Settings],
        busy: Callable[[FsState], str | None],
        log: logging.Logger,
        now: Callable[[], Now] = clock.read,
        *,
        needs: Callable[[FsState], str | None],
        failed: Callable[[], None],
    ) -> None:
        """``busy`` says which plan is under way on a file system, or None.

        :param needs: names the plan that needs ``balance_automate``, or None
        :param failed: told of each failure
        """
        self._host, self._ranks, self._settings, self._busy, self._log = host, ranks, settings, busy, log
        self._now, self._needs, self._failed = now, needs, failed
        self._board = Switchboard(host, needs)
        self._watches: dict[int, Watch] = {}
        self.unreadable: dict[str, str] = {}
        """Records in the journal that nobody can read, by key, and why."""

    def begin(self) -> None:
        """Read the journal; what another manager left half done is done by the next tick."""
        self.unreadable = self._board.begin()
        for key, why in self.unreadable.items():
            self._log.error("the journal's record '%s' cannot be read: %s", key, why)
        sweep(
            self._host.store,
            ("balance",),
            lambda: {switching.user(switch.fscid) for switch in self._board.all()} | set(self.unreadable),
        )

    def on(
        self, fs: FsState, policy: str | None, given: str | None, force: bool, to_auth: bool = False
    ) -> Switch:
        """Let a policy balance the file system.

        :param policy: None: the operator's own one, where that is given, or else the first of ours
        :param given: an operator's own policy, the content of ``-i FILE``
        :param to_auth: MDSs shall forward every request to the authority; asked for before and not now, that
            ends
        :raises BadInput: no such policy, or an MDS could not use it
        :raises NotPermitted: an operator set another balancer, and ``force`` is not given; there is a
            record of an earlier ``on`` that cannot be read; ``bal_rank_mask`` leaves no rank; or beats are so
            short that no MDS could read the policy
        :raises Busy: a plan is being executed, or another ``on`` or ``off`` came meanwhile
        """
        kind, text = policies.choose(policy, given)
        with self._board.preparing(fs.fscid) as turn:
            return self._on(self._host.fs_of_mon(fs.fscid) or fs, kind, text, force, to_auth, turn)

    def _on(self, fs: FsState, kind: str, text: str, force: bool, to_auth: bool, turn: Turn) -> Switch:
        before = self._board.get(fs.fscid)
        if before is not None and not fs.has(before.metadata_pool):
            raise NotPermitted(f"the policy: {other_pools(fs.name)}: 'balance off' forgets it")
        self._refuse(fs, force)
        present = switching.option(self._host, fs.fscid).read() if to_auth else FORWARDS
        same = before is not None and _same(before, kind, text, to_auth) and switching.in_force(fs, before)
        same = same and not self.watch(fs).fallbacks  # or its object may be gone from the pool
        if before is not None and same and present == FORWARDS:
            return before
        now = self._now()
        settings = self._settings().checked()
        hints = self._hints(fs, settings, self._capacity(fs, now), now, before)
        if why := unreadable_in(hints.interval):
            raise NotPermitted(f"{why}: set it to 2 or more ('ceph config set mds mds_bal_interval 10')")
        name, content = policy_object(kind, hints, text or policies.source_of(kind))
        beat = None
        with suppress(PartitionerError):  # recorded loads do without it
            beat = last_beat(self._host, fs)
        refuse_unless_usable([content], beat)
        if text:  # what it will be told one day meets it here, and no MDS
            later = [policy_object(kind, told, text)[1] for told in told_later(hints, fs.ranks_in)]
            refuse_unless_usable(later, beat, len(fs.ranks_in))
        fs = self._host.fs_of_mon(fs.fscid) or fs  # trying a policy takes time
        self._refuse(fs, force)
        kept = before if switching.replaced_still(before, fs) else None  # what an operator set since is his
        if kept is not None and not switching.balances(fs):
            self._board.flag_is_ours(fs.fscid)
        fresh = Switch(
            fs=fs.name,
            fscid=fs.fscid,
            state=TURNING_ON,
            policy=kind,
            source=text,
            old_balancer=kept.old_balancer if kept else _not_ours(fs.balancer),
            old_automate=fs.balance_automate and (kept.old_automate if kept else self._needs(fs) is None),
            started=now.wall,
            hints=hints,
            objects=before.objects if before else (),
            to_auth=before.to_auth if before else switching.LEFT,
            old_to_auth=before.old_to_auth if before else "",
            metadata_pool=fs.metadata_pool,
        )
        fresh = switching.asking(fresh, to_auth, present)
        self._watches[fs.fscid] = Watch(pushed=now.steady)
        undo = before is None or not switching.ours_in_force(fs, before)
        # Over one of ours it counts as newer hints: what an operator ends of that is not begun again.
        ordered = now.wall if undo else now.wall + LATER
        return self._switch_on(switching.intended(fresh, name, ordered), content, turn, undo)

    def _refuse(self, fs: FsState, force: bool) -> None:
        running = self._busy(fs)
        if running is not None:
            raise Busy(running)
        unreadable = self.unread(fs)
        if unreadable:
            raise NotPermitted(
                f"the policy of '{fs.name}' has a record that cannot be read: {unreadable}; "
                "'balance off' takes it out and forgets it"
            )
        why = why_nobody(fs)
        if why is not None:
            raise NotPermitted(why)
        if fs.balancer and not fs.balancer.startswith(PREFIX) and not force:
            raise NotPermitted(
                f"'{fs.name}' has the balancer '{fs.balancer}', which an operator set: "
                "use --force to replace it ('balance off' puts it back)"
            )

    def _switch_on(self, switch: Switch, content: str, turn: Turn, undo: bool) -> Switch:
        try:
            self._board.put_in_force(switch, content, turn, switching.taken_over)
        except TakenOver:
            if undo:
                self._board.undo(switch)
            raise
        except Busy:
            raise
        except PartitionerError as e:
            undone = undo and self._board.undo(switch)
            done = "undone" if undone else "finished"
            more = "; a manager that takes over before may finish it, unless 'balance off' is run"
            e.args = (f"{e}; what was done so far is {done} as soon as that works{more if undone else ''}",)
            raise
        return self._board.get(switch.fscid) or switch

    def off(self, fs: FsState) -> list[str]:
        """Put back what ``on`` replaced; in sentences, what could not be. Off already: nothing to do.

        Waits neither for the loop nor for an ``on`` that is going on: that one is refused.
        """
        switch, turn = self._board.interrupt(fs.fscid)
        self._watches.pop(fs.fscid, None)
        if switch is not None:
            return self._board.take_out(switch, turn)
        found = self._host.fs_of_mon(fs.fscid)
        if found is None or not found.balancer.startswith(PREFIX):
            self._forget(fs.fscid)  # a record that cannot be read is one, too
            return []
        left = switching.remainder(self._host, found, make_hints(found, self._settings(), None, ()))
        told = f"'{found.balancer}' was in force without a readable record: what it had replaced is not known"
        more = self._board.take_out(left, turn)
        self.unreadable.pop(switching.user(fs.fscid), None)
        return [told if self._needs(found) else f"{told}, so balance_automate is off now", *more]

    def leave_automate(self, fscid: int) -> None:
        """``balance_automate`` is an operator's from now on: ``off`` does not switch it off.

        :raises Busy: an ``on`` or ``off`` came meanwhile
        """
        switch, turn = self._board.interrupt(fscid)
        if switch is not None:
            self._board.keep(replace(switch, old_automate=True), turn)

    def _forget(self, fscid: int) -> None:
        """The record of a file system that no policy of ours balances, and its claim on the option."""
        replaced = switching.option(self._host, fscid).replaced()
        if replaced is not None:
            switching.carry_out(self._host, PutBackOption(fscid, replaced), "")
        self._board.forget(fscid)
        self.unreadable.pop(switching.user(fscid), None)

    def get(self, fs: FsState) -> Switch | None:
        """The switch of a file system; None: no policy of ours balances it."""
        return self._board.get(fs.fscid)

    def unread(self, fs: FsState) -> str:
        """Why the record of its policy cannot be read; "": it can, or there is none."""
        return self.unreadable.get(switching.user(fs.fscid), "")

    def watch(self, fs: FsState) -> Watch:
        """What was seen since this manager began to watch."""
        return self._watches.get(fs.fscid, Watch())

    def active(self) -> bool:
        """Is there a file system to watch?"""
        return bool(self._board.all())

    def fallen_back(self) -> dict[str, list[Fallback]]:
        """MDSs that use the built-in balancer in place of our policy, by file system."""
        return {
            switch.fs: watch.fallbacks
            for switch in self._board.all()
            if (watch := self._watches.get(switch.fscid)) is not None and watch.fallbacks
        }

    def left(self, fs: FsState) -> str:
        """Which MDS uses the built-in balancer in place of our policy beat after beat, and why; "": none."""
        switches = (of for of in self._board.all() if of.fscid == fs.fscid and switching.effective(fs, of))
        told = (of for switch in switches for of in self.watch(fs).fallbacks if of.goes_on(switch.hints.beat))
        return next(map(str, told), "")

    def tick(self, each: Each = in_turn) -> None:
        """Finish what was begun; once an epoch, watch the beats and push the hints that changed."""
        self._forget_removed()
        each({known.fscid: partial(self._tick, known) for known in self._board.all()})

    def _forget_removed(self) -> None:
        """Records that cannot be read, of file systems that are gone: there is nothing left to be undone."""
        for key in list(self.unreadable):
            fscid = int(key.removeprefix(switching.RECORDS))
            try:
                if self._host.fs_unless_removed(fscid) is None:
                    self._forget(fscid)
            except PartitionerError as e:
                self._log.warning("the record '%s' of a removed file system: %s", key, e)

    def hasten(self) -> None:
        """The epoch may have become shorter: no longer one is waited for."""
        soon = self._now().steady + self._settings().epoch
        for watch in list(self._watches.values()):
            watch.due = min(watch.due, soon)

    def _tick(self, known: Switch) -> None:
        watch, now = self._watches.setdefault(known.fscid, Watch()), self._now()
        try:
            self._step(known.fscid, watch, now)
        except Busy as e:
            self._log.info("balancing of %s: %s", known.fs, e)
        except PartitionerError as e:
            self._failed()
            self._log.warning("balancing of %s: %s", known.fs, e)
            watch.problem, watch.again = str(e), now.steady + AGAIN
        except Exception as e:  # what nobody expected of one file system must not stop the others
            self._failed()
            self._log.exception("balancing of %s", known.fs)
            watch.problem = unexpected(e)

    def _step(self, fscid: int, watch: Watch, now: Now) -> None:
        turn = self._board.turn(fscid)
        switch = self._board.get(fscid)
        if switch is None or not self._board.idle(fscid):
            return
        fs = self._host.fs_by_id(fscid)
        if fs is None:
            self._forget_if_gone(switch, turn)
        elif not fs.has(switch.metadata_pool):
            watch.problem = f"{other_pools(switch.fs)}: 'balance off' forgets it"
        elif switch.state == TURNING_OFF:
            if now.steady >= watch.again:
                watch.again = now.steady + AGAIN  # also when nothing but the objects is left
                watch.problem = "".join(self._board.take_out(switch, turn)[-1:])
        elif fs.name != switch.fs:
            self._log.info("'%s' is named '%s' now: its balancing goes on", switch.fs, fs.name)
            self._board.keep(replace(switch, fs=fs.name), turn)
        elif self._never_on(fs, switch):
            self._board.undo(switch)
        elif self._goes_on(fs, switch) and now.steady >= watch.again:
            name, content = _rendered(switch)  # by now another one, if it was begun by an older version
            intended = switching.intended(switch, name, switch.pushed)
            self._board.put_in_force(intended, content, turn, switching.taken_over)
            watch.pushed = now.steady
        elif now.steady >= watch.due:
            watch.due = now.steady + self._settings().epoch
            self._epoch(fs, switch, watch, now, turn)

    def _epoch(self, fs: FsState, switch: Switch, watch: Watch, now: Now, turn: Turn) -> None:
        ours = switching.in_use(fs, switch)
        away = inactive(fs) if ours else None
        told = ours and away is None
        try:
            self._observe(fs, switch, watch, now)
        except PartitionerError:
            hints = without_engine(switch.hints, fs, now.wall)
            if told and (hints != switch.hints or self._lost(watch, now)):
                self._push(switch, hints, watch, now, turn)
            raise
        if told:
            self._refresh(fs, switch, watch, now, turn)
        self._decide(fs, switch, watch, now)
        watch.problem = "" if away is None else f"hints are not told, as {away}"

    def _never_on(self, fs: FsState, switch: Switch) -> bool:
        """Has an operator set something else before it was in force for the first time?"""
        first = switch.state == TURNING_ON and switch.pushed <= switch.started
        return first and switching.taken_over(fs, switch)

    def _goes_on(self, fs: FsState, switch: Switch) -> bool:
        """Was it begun to put it in force, and not ended, nor has an operator ended it?"""
        return switch.state == TURNING_ON and not switching.taken_over(fs, switch)

    def _forget_if_gone(self, switch: Switch, turn: Turn) -> None:
        if self._host.fs_of_mon(switch.fscid) is None:
            self._log.warning("'%s' was removed: its balancing ends", switch.fs)
            self._board.take_out(switch, turn)
            self._watches.pop(switch.fscid, None)

    def _observe(self, fs: FsState, switch: Switch, watch: Watch, now: Now) -> None:
        # First, as it needs no engine. An MDS tells it once a beat.
        told = FALLBACK_EPOCHS * max(self._settings().epoch, switch.hints.beat)
        known = switch.started <= now.wall  # or the clock was put back since
        since = max(now.wall - told, switch.started) if known else now.wall - told
        daemons = _daemons(fs, watch.history)
        found = fallbacks(self._host, frozenset(switch.objects), since)
        new = [of for of in found if of.daemon in daemons]
        watch.fell_back = remembered(watch.fell_back, new, told, now)
        watch.fallbacks = [of for of in watch.fell_back if of.until >= now.steady]
        watch.verdict = self._ranks.judge(fs, now.steady)
        watch.history = self._ranks.history(fs, now.steady)
        watch.judged_at = now.wall
        watch.count()

    def _decide(self, fs: FsState, switch: Switch, watch: Watch, now: Now) -> None:
        # After the hints: it only tells, and has no interpreter where lua5.3 is missing.
        name, content = _rendered(switch)
        if name != switch.object:
            return  # of the text that the MDSs run, an older version's, nothing but its hash is known
        beat = last_beat(self._host, fs)
        if beat is not None and watch.is_new(beat):
            watch.decided(beat, what_ranks_decide(content, beat), now.wall)

    def _refresh(self, fs: FsState, switch: Switch, watch: Watch, now: Now, turn: Turn) -> None:
        assert watch.verdict is not None
        wanted = self._wanted(fs, watch, watch.verdict, now, switch)
        if watch.pushed is None:  # by the manager before this one: its steady clock is not known
            watch.pushed = now.steady - max(0.0, now.wall - switch.pushed)
        settings, since = self._settings(), now.steady - watch.pushed
        # That one may be an older version's text.
        due = push_due(switch.hints, wanted, settings, since) or _rendered(switch)[0] != switch.object
        if due or self._lost(watch, now):
            self._push(switch, wanted if due else switch.hints, watch, now, turn)

    def _lost(self, watch: Watch, now: Now) -> bool:
        """Is it time to write the object once more? Of an MDS that fell back it may be gone from the pool: it
        reads that in its next beat. The same text has the same name, so that this makes no FSMap."""
        since = math.inf if watch.pushed is None else now.steady - watch.pushed
        return bool(watch.fallbacks) and since >= self._settings().hint_interval

    def _push(self, switch: Switch, hints: Hints, watch: Watch, now: Now, turn: Turn) -> None:
        fresh = replace(switch, hints=hints)
        name, content = _rendered(fresh)
        # Also where the clock was put back since it was turned on.
        intended = switching.intended(fresh, name, max(now.wall, switch.started + LATER))
        self._board.put_in_force(intended, content, turn, switching.taken_over)
        watch.pushed = now.steady

    def _wanted(self, fs: FsState, watch: Watch, verdict: Verdict, now: Now, switch: Switch) -> Hints:
        settings = self._settings()
        hints = self._hints(fs, settings, verdict.capacity.value, now, switch)
        # Each push is an FSMap: GreedySpill reads nothing else, and without a rank nothing is moved.
        if switch.policy == policies.GREEDYSPILL or mask_of(fs) == ():
            return replace(switch.hints, mask=hints.mask, interval=hints.interval, tick=hints.tick)
        if len(watch.history.epochs) < FORECAST_FROM or list(fs.ranks_in) != list(range(len(fs.ranks_in))):
            return hints
        beats = settings.epoch / max(1, hints.beat)  # 0: MDSs balance nothing
        expected = growth(verdict.loads, verdict.forecast, settings.hint_dead_band, beats)
        return replace(hints, growth=expected, expires=int(now.wall) + 2 * settings.hint_interval)

    def _hints(
        self, fs: FsState, settings: Settings, capacity: float | None, now: Now, before: Switch | None
    ) -> Hints:
        interval = beat_interval(self._host, fs, None if before is None else before.hints.interval)
        tick = tick_interval(self._host, fs, USUAL_TICK if before is None else before.hints.tick)
        return make_hints(fs, settings, capacity, self._resting(fs, now), interval, tick)

    def _capacity(self, fs: FsState, now: Now) -> float | None:
        """req/s; None: not known. An engine that does not answer is no reason to balance nothing."""
        try:
            return self._ranks.judge(fs, now.steady).capacity.value
        except Unheard:  # nothing is known of now
            return self._settings().rank_capacity or self._ranks.learned(fs.fscid)
        except PartitionerError as e:
            self._log.warning("balancing of %s begins without a capacity: %s", fs.name, e)
            return None

    def _resting(self, fs: FsState, now: Now) -> list[int]:
        return sorted(silent(self._host, fs, now.wall))


def _daemons(fs: FsState, past: History) -> frozenset[str]:
    """Whose fallbacks are this file system's: another one's object has the same name where hints are alike.
    Also those that had its ranks in the last epoch, and failed over since."""
    names = {mds.name for mds in fs.mds} | {sample.name for sample in past.latest}
    return frozenset(f"mds.{name}" for name in names)


def _rendered(switch: Switch) -> tuple[str, str]:
    """Name and text of its policy, as this version of the module writes them."""
    source = switch.source or policies.source_of(switch.policy)
    return policy_object(switch.policy, switch.hints, source)


def _not_ours(balancer: str) -> str:
    # An object of ours without a record is a remainder, and nothing to go back to.
    return "" if balancer.startswith(PREFIX) else balancer


def _same(switch: Switch, kind: str, source: str, to_auth: bool) -> bool:
    asked = (switch.policy, switch.source, switch.to_auth == switching.SET)
    known = switch.state == ON and asked == (kind, source, to_auth)
    return known and _rendered(switch)[0] == switch.object
