# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``ceph progress`` is told of plans."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Optional

from ..ceph.host import Host
from .run import ACTIVE, ROLLED_BACK, ROLLING_BACK, STOPPED, Head, Run, progress

Progress = Callable[[str, str, float, Optional[str]], None]
"""Event id, message, 0 to 1; None while it is under way, else why it failed, or "" if it did not."""


def report(run: Run, host: Host, on_progress: Progress) -> None:
    """How far a plan is; that it has ended, once.

    Of the scheduler's only rollbacks are told: ``ceph progress`` keeps the last 50 events, and a busy
    scheduler would leave no room for others.
    """
    if run.plan.scheduled and run.heading() not in (ROLLING_BACK, ROLLED_BACK):
        return
    present = host.fs_by_id(run.plan.fscid)
    fs = run.plan.fs if present is None else present.name  # it may have been renamed
    head = run.head
    if head.state not in ACTIVE and head.state == run.memory.reported:
        return
    _tell(run, head, fs, on_progress)
    after = run.head
    # Whoever ended it meanwhile may have told that before, and this update has begun the event anew.
    if head.state in ACTIVE and after.state not in ACTIVE:
        _tell(run, after, fs, on_progress)


def _tell(run: Run, head: Head, fs: str, on_progress: Progress) -> None:
    state, part = head.state, progress(run)
    run.memory.reported = state
    event = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{run.plan.name}/{run.plan.created}"))
    message = f"mds_partitioner: plan '{run.plan.name}' on '{fs}' ({state})"
    failed = f"stopped {head.why} when {part:.0%} of its steps had ended" if state == STOPPED else ""
    on_progress(event, message, part, None if state in ACTIVE else failed)
