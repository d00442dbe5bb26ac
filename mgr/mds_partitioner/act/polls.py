# SPDX-License-Identifier: LGPL-2.1-or-later
"""Steps that are only looked at, whether they have come: of what is frozen nothing is answered meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future, wait

from ..errors import PartitionerError
from .core import SETTLED
from .run import INTENT, ROLLING_BACK, Run

WITHIN = 0.5  # s that an answer is waited for; it is taken in when it comes
RARELY = 10.0  # s between two looks at what has not come soon: MDSs export nothing that is empty
MOST = 4  # not answered, a file system, before more are looked at: what is begun needs threads, too

Met = dict[int, "PartitionerError | None"]
"""What steps met, by their number."""


def seen_lately(run: Run, patience: float, now: float) -> set[int]:
    """Steps of a plan of the scheduler that need not be looked at now: they are under way for a while, and
    were looked at a moment ago. There may be thousands.

    :param patience: how long they are waited for, s; now: steady clock, s
    """
    if not run.plan.scheduled or run.heading() == ROLLING_BACK:
        return set()
    memory, records = run.memory, tuple(run.records.items())  # polls that were left may add to all of these
    going = {i for i, record in records if record.state == INTENT and i not in memory.troubles}
    asked = {i: at for i, at in tuple(memory.asked.items()) if i in going and now - at < RARELY}
    since = {i: memory.since.get(i, at) for i, at in asked.items()}
    return {i for i, at in asked.items() if at - since[i] > SETTLED and now - since[i] <= patience}


class Overruled(Exception):
    """An operator changed the plan's state during the tick: nothing more is begun."""


class Polls:
    """Those that were not answered in time."""

    def __init__(self) -> None:
        self._left: dict[int, dict[tuple[str, int], Future[PartitionerError | None]]] = {}  # by fscid

    def answered(self, run: Run) -> Met:
        """What those of a plan met that were answered since; of those that an order overruled, nothing.

        :raises JournalError: any of them did
        """
        left = self._left.setdefault(run.plan.fscid, {})
        ended = [key for key, poll in left.items() if key[0] == run.id and poll.done()]
        polls = {i: left.pop((id_, i)) for id_, i in ended}
        return {i: poll.result() for i, poll in polls.items() if not isinstance(poll.exception(), Overruled)}

    def away(self, run: Run, abreast: bool) -> set[int]:
        """Steps of a plan that are not looked at now: they were not answered yet, or too many others were
        not. Those that are made one by one take no thread."""
        left = self._left[run.plan.fscid]
        many = abreast and sum(not poll.done() for poll in left.values()) >= MOST
        return {i for id_, i in left if id_ == run.id} | (set(run.records) if many else set[int]())

    def met(
        self, run: Run, begun: Mapping[int, Future[PartitionerError | None]], looked_at: Collection[int]
    ) -> Met:
        """What these met; of those that are only looked at, if it is answered in time.

        :raises Exception: any of them did
        """
        wait([future for i, future in begun.items() if i not in looked_at])
        wait(begun.values(), WITHIN)
        late = {i: future for i, future in begun.items() if i in looked_at and not future.done()}
        self._left[run.plan.fscid].update({(run.id, i): future for i, future in late.items()})
        return {i: future.result() for i, future in begun.items() if i not in late}
