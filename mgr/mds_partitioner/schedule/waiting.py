# SPDX-License-Identifier: LGPL-2.1-or-later
"""Why the scheduler of a file system waits: one sentence each, "" when it need not.

Three functions, as what Ceph is asked for the last is asked only where nothing else stands in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from .. import clock
from ..act.choice import live
from ..act.run import ACTIVE, Run, balancing
from ..clock import Now
from ..model import FsState, HealthCheck
from ..verify.guards import SCHEDULER, why_wait
from .hours import closed
from .options import SchedulerSettings
from .record import Kept

UNHEARD = "rank {} has not told this manager twice yet what it serves"


def paused(fs: str, kept: Kept, now: Now) -> str:
    """An operator's order. ``kept.until`` is by the steady clock here; ``fs``: its file system's name"""
    if not kept.paused:
        return ""
    end = "" if kept.until is None else f" until {clock.told(kept.until + now.wall - now.steady)}"
    return f"an operator paused it{end}: 'ceph mds_partitioner partition resume {fs}' goes on"


def kept_out(
    fs: FsState,
    runs: Sequence[Run],
    settings: SchedulerSettings,
    policy: Callable[[FsState], bool],
    left: Callable[[FsState], str],
    now: float,
) -> str:
    """The hours, or who else moves directories.

    :param runs, policy: as ``automate``
    :param left: which MDS goes on without that policy, and why; "": none does
    :param now: Unix, s
    """
    return (
        closed(datetime.fromtimestamp(now), settings)
        or _executing(runs)
        or automate(policy, runs, fs)
        or _without_policy(left(fs), fs)
    )


def unready(
    fs: FsState,
    health: Mapping[str, HealthCheck],
    silent: Mapping[int, float],
    unheard: Collection[int],
    *,
    pins: bool = True,
) -> str:
    """What the cluster lacks.

    :param silent, pins: as in ``why_wait``
    :param unheard: ranks of which it is not known yet what they serve
    """
    untold = next((UNHEARD.format(rank) for rank in unheard), "")
    return why_wait(fs, health, silent, SCHEDULER, pins=pins) or untold


def automate(policy: Callable[[FsState], bool], runs: Sequence[Run], fs: FsState) -> str:
    """Why the scheduler may not act beside the built-in balancer; "" when that is off.

    :param policy: does a Mantle policy of ours balance a file system?
    :param runs: of the file system. A plan's balancer goes with the plan, or its mask would stay and confine
        the scheduler; one that others were made after cannot be rolled back alone
    """
    if not fs.balance_automate or policy(fs):
        return ""
    plan, switched_on = balancing(runs, fs.fscid), ""
    cure = f"ceph fs set {fs.name} balance_automate false"
    if plan is not None and max(live(runs), key=lambda run: run.plan.created).plan.name == plan:
        switched_on = f"plan '{plan}' switched it on: "
        cure = f"ceph mds_partitioner partition rollback {fs.name} {plan}"
    return (
        f"'{fs.name}' has balance_automate on: its balancer would move what the scheduler moves; "
        f"{switched_on}run '{cure}' first"
    )


def _without_policy(left: str, fs: FsState) -> str:
    return left and (
        f"'{fs.name}' has MDSs that use the built-in balancer in place of its policy ({left}), and it would "
        f"move what the scheduler moves: see 'ceph mds_partitioner balance status {fs.name}', or run "
        f"'ceph mds_partitioner balance off {fs.name}'"
    )


def _executing(runs: Iterable[Run]) -> str:
    """An operator's plan that is under way."""
    running = (run for run in runs if run.head.state in ACTIVE and not run.plan.scheduled)
    return next((f"plan '{run.plan.name}' is {run.head.state}" for run in running), "")
