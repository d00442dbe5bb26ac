# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the executor sees a step: what is there now, and why it may not be set, or not be put back."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..clock import Now
from ..errors import CephError, PartitionerError
from ..model import NO_PIN
from ..observe.children import Placed
from ..plan.fixed import inherited
from ..plan.plan import DISTRIBUTED_STEP, FS_STEP, PIN_STEP, RANK_MASK
from .changes import (
    AutomateChange,
    Change,
    ConfigChange,
    DirectoryChange,
    DistributedChange,
    PinChange,
    asks_all,
)
from .choice import begun_by_another, replaced_since, taken_since
from .core import SETTLED, Seen, left_before, same
from .run import (
    INTENT,
    ROLLING_BACK,
    UNDOING,
    Run,
    of_scheduler,
    on_way_home,
    owned_values,
    steps_in_force,
)

SELDOM = 5.0  # s between two questions to all MDSs
AGAIN = 60.0  # s after which what has not come, and was read so that it does, is read once more


class Sight:
    """Of the steps of all plans. What is remembered of one is in its plan's memory."""

    def __init__(
        self,
        distributed: Callable[[int], Mapping[int, str]],
        runs: Callable[[], Sequence[Run]],
        log: logging.Logger,
    ) -> None:
        """``runs``: all plans.

        :param distributed: ``ceph.dir.pin.distributed`` that this module set on a file system, by inode
            number
        """
        self._distributed, self._runs, self._log = distributed, runs, log

    def knowing(self, run: Run, i: int, change: Change) -> Change:
        """A step's change that knows which pins on its directory are no operator's, where that matters: this
        module's, and what the plan was made to take off."""
        steps, pin = run.plan.steps, (PIN_STEP, run.plan.steps[i].ino, "")
        if not (isinstance(change, DistributedChange) and steps[i].value == "1"):
            return change
        ours = owned_values(steps_in_force(self._runs(), run.plan.fscid)).get(pin, ())
        return replace(change, pins={*ours, *(step.expected for step in steps if step.about == pin)})

    def see(self, run: Run, i: int, change: Change, home: str | None, now: Now) -> Seen:
        """``home``: what is to be there when it has come back, where it is on its way.

        :raises Gone: its directory is
        :raises PartitionerError: it cannot be told
        """
        step, record, memory = run.plan.steps[i], run.records.get(i), run.memory
        doubt = change.in_doubt()
        if doubt:
            return Seen("", in_doubt=doubt)
        value = change.read()
        awaited = {INTENT: step.value, UNDOING: home}.get(record.state) if record else None
        waited = now.steady - memory.since.setdefault(i, now.steady)
        as_set, back = same(step, value, step.value), run.heading() == ROLLING_BACK
        under_way = record is not None and record.state == INTENT
        if under_way and as_set:
            memory.made.add(i)  # by the manager before; what replaces it is an operator's
        there = value == awaited and self._asks(run, i, change, value, now) and change.arrived(value)
        asked = memory.asked.get(i) == now.steady
        if asked and not there and value == awaited and waited > SETTLED:
            self._load(run, i, change, now)
        empty = not there and value == awaited and waited > SETTLED and _stays_empty(run, change)
        return Seen(
            value,
            arrived=there or empty,
            made=i in memory.made,
            held=self._held(run, i, change, value, now),
            barred=self._barred(run, i, change, value)
            or self._begun_by_another(run, i, value)
            or left_before(run.plan, run.records, i),
            shared=isinstance(change, AutomateChange) and change.shared(),
            stays=change.stays() if isinstance(change, ConfigChange) else "",
            waited=waited,
            overtaken=under_way and not as_set and replaced_since(run, step, self._runs()),
            taken=(record is None or (back and (as_set or on_way_home(step, record, value))))
            and taken_since(run, step, self._runs()),
        )

    def _asks(self, run: Run, i: int, change: Change, value: str, now: Now) -> bool:
        """Is it to be asked now whether it arrived? Where MDSs must tell all their subtrees, not often."""
        asked = run.memory.asked
        if asks_all(change, value) and now.steady - asked.get(i, -math.inf) < SELDOM:
            return False
        asked[i] = now.steady
        return True

    def _load(self, run: Run, i: int, change: Change, now: Now) -> None:
        """MDSs export only what they have in their caches, and tell of nothing else where it is."""
        loaded = run.memory.loaded
        if not isinstance(change, DirectoryChange) or now.steady - loaded.get(i, -math.inf) < AGAIN:
            return
        loaded[i] = now.steady
        try:
            change.load()
        except PartitionerError as e:  # it may arrive all the same
            self._log.debug("plan %s, step %d: %s", run.plan.name, i, e)

    def _barred(self, run: Run, i: int, change: Change, value: str) -> str:
        """Until it is set.

        :raises CephError: it comes after the mask, and that is not set yet
        """
        if not isinstance(change, AutomateChange) or not _to_be_set(run, i, value):
            return ""
        return _unmasked(run, change)

    def _begun_by_another(self, run: Run, i: int, value: str) -> str:
        """Until it is begun: the value that is there would be neither what it is to go back to, nor stay."""
        if i in run.records or not begun_by_another(run, run.plan.steps[i], value, self._runs()):
            return ""
        return "another plan of the scheduler is still about to set it, or to put it back"

    def _held(self, run: Run, i: int, change: Change, value: str, now: Now) -> str:
        """An operator may have set it since the plan was made, or where the MDSs do not show it yet; also
        since the record was written, until the value is set."""
        if not (isinstance(change, DirectoryChange) and _to_be_set(run, i, value)):
            return ""
        why = change.why_held()
        if why and not self.distributes(run, i):
            return why
        return self._held_above(run, change, now)

    def _held_above(self, run: Run, change: DirectoryChange, now: Now) -> str:
        """Without force a plan moves nothing below what an operator has placed, so he did that since. The
        scheduler looks each time before it decides."""
        if run.plan.force or of_scheduler(run):
            return ""
        at, known = run.memory.above
        if at != now.steady:
            known = {}
            run.memory.above = now.steady, known
        parent = change.path.rpartition("/")[0]
        if parent not in known:
            known[parent] = change.above()
        found = inherited(change.path, known[parent], partial(self._ours, run.plan.fscid))
        return f"{found.reason}: {found.why}" if found is not None else ""

    def _ours(self, fscid: int, at: Placed) -> bool:
        """Has this module set what places all in a directory, or may it have?"""
        values = owned_values(steps_in_force(self._runs(), fscid))
        kind, value = (PIN_STEP, str(at.pin)) if at.pin != NO_PIN else (DISTRIBUTED_STEP, "1")
        return (at.pin != NO_PIN or at.distributed) and value in values.get((kind, at.ino, ""), ())

    def distributes(self, run: Run, i: int) -> bool:
        """Is an ephemeral pin that is there this module's? None is where a step is to distribute."""
        step = run.plan.steps[i]
        begins = step.kind == DISTRIBUTED_STEP and step.value == "1"
        return not begins and self._distributed(run.plan.fscid).get(step.ino) == "1"


def _to_be_set(run: Run, i: int, value: str) -> bool:
    """Is a step's value not there yet, and to come? ``value``: what is there"""
    record = run.records.get(i)
    begins = record is None or (record.state == INTENT and value != run.plan.steps[i].value)
    return begins and run.heading() != ROLLING_BACK


def _stays_empty(run: Run, change: Change) -> bool:
    """MDSs export nothing that is empty. The scheduler counts on what it moves, and a rollback on what comes
    home: these wait."""
    waits = run.plan.scheduled or run.heading() == ROLLING_BACK
    return not waits and isinstance(change, PinChange) and change.empty()


def _unmasked(run: Run, change: AutomateChange) -> str:
    """In words, that the balancer would not keep to the plan's mask, if it has one.

    :raises CephError: that one is not set yet
    """
    of_mask = ((i, s) for i, s in enumerate(run.plan.steps) if (s.kind, s.target) == (FS_STEP, RANK_MASK))
    i, step = next(of_mask, (-1, None))
    if step is None or same(step, change.present().bal_rank_mask, step.value):
        return ""
    if i not in run.records or run.records[i].state == INTENT:
        raise CephError(f"it comes after {RANK_MASK}, which is not set yet")
    return f"{RANK_MASK} is not the plan's"
