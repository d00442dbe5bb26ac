# SPDX-License-Identifier: LGPL-2.1-or-later
"""Settings that a replaced manager had begun to set: what it has sent may come after they were undone."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass

from ..ceph.host import Host
from ..clock import Now
from ..errors import PartitionerError
from ..model import FsState
from ..plan.plan import CONFIG_STEP
from ..policy.switch import policy_in_force
from .changes import Whereabouts, bind
from .core import same
from .registry import Plans
from .run import IN_FORCE, UNDONE, Run, user_of

LATE = 900.0  # s, in which what a manager that was cut off and replaced had sent to the mon comes, if ever
EVERY = 10.0  # s between two looks


@dataclass
class _Sent:
    """Perhaps. ``until`` when it may come, and when it is looked at ``next``: steady clock, s"""

    run: Run
    step: int
    until: float
    next: float = -math.inf


class LateSettings:
    """The mon fences no manager. So who takes over watches for a while what it has undone of these, and puts
    it back once: a second time it is an operator's."""

    def __init__(
        self, host: Host, where: Whereabouts, plans: Plans, log: logging.Logger, now: Callable[[], Now]
    ) -> None:
        self._host, self._where, self._plans, self._log, self._now = host, where, plans, log, now
        self._sent: list[_Sent] | None = None

    def due(self) -> set[int]:
        """File systems of which something is to be looked at."""
        now = self._now().steady
        if self._sent is None:
            if self._plans.begun is None:
                return set()
            self._sent = [_Sent(run, i, now + LATE) for run, i in self._plans.begun]
        self._sent = [sent for sent in self._sent if now < sent.until]
        return {sent.run.plan.fscid for sent in self._sent if now >= sent.next}

    def look(self, fscid: int) -> None:
        """At those of a file system. What fails is tried again."""
        now = self._now().steady
        for sent in self._sent or ():
            if sent.run.plan.fscid == fscid and sent.next <= now < sent.until:
                sent.next = now + EVERY
                try:
                    self._look(sent, self._host.fs_unless_removed(fscid))
                except PartitionerError as e:
                    self._log.debug("plan %s, step %d: %s", sent.run.plan.name, sent.step, e)

    def _look(self, sent: _Sent, fs: FsState | None) -> None:
        step, record = sent.run.plan.steps[sent.step], sent.run.records[sent.step]
        if record.state != UNDONE or self._wanted(sent):
            return
        if step.kind != CONFIG_STEP and fs is not None and policy_in_force(self._host.store, fs):
            return
        change = bind(step, user_of(sent.run), self._host, self._where, fs)
        value = "" if change.in_doubt() else change.read()
        if same(step, value, step.value):
            change.write(record.old, value, lambda: not self._wanted(sent))
            sent.until = -math.inf
            self._log.warning("%s came late and is put back to %r", step.target, record.old)

    def _wanted(self, sent: _Sent) -> bool:
        """Does a plan need the value?"""
        plan, step = sent.run.plan, sent.run.plan.steps[sent.step]
        return any(
            (other.kind, other.target, other.value) == (step.kind, step.target, step.value)
            for run in self._plans.known()
            if run.plan.fscid == plan.fscid
            for i, record in tuple(run.records.items())
            if record.state in IN_FORCE
            for other in (run.plan.steps[i],)
        )
