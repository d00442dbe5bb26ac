# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module's health checks. A check is raised as long as its reason lasts, and clears itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..act.journal import Unreadable
from ..act.run import ACTIVE, Run
from ..clock import lasting, told
from ..engine.names import DEBIANS
from ..judge.verdict import Verdict
from ..plan.anew import suggested
from ..plan.caveats import FRESH, unlike
from ..policy.beats import Fallback
from ..report.imbalance import hot_told
from ..report.text import printable
from ..schedule.record import ACT, OFF
from .endpoint import Failed
from .state import LATE, FsSample, SchedulerState, Snapshot

PAUSED = "MDS_PARTITIONER_PAUSED"
JOURNAL = "MDS_PARTITIONER_JOURNAL"
FALLBACK = "MDS_PARTITIONER_FALLBACK"
IMBALANCE = "MDS_PARTITIONER_IMBALANCE"
SCHEDULER_STUCK = "MDS_PARTITIONER_SCHEDULER_STUCK"
SCHEDULER_ADVISES = "MDS_PARTITIONER_SCHEDULER_ADVISES"
SCHEDULER_MISJUDGES = "MDS_PARTITIONER_SCHEDULER_MISJUDGES"
STALE = "MDS_PARTITIONER_STALE"
UNJUDGED = "MDS_PARTITIONER_UNJUDGED"
ENGINE_DOWN = "MDS_PARTITIONER_ENGINE_DOWN"
ENDPOINT_DOWN = "MDS_PARTITIONER_ENDPOINT_DOWN"
# What each means, and when it clears where that is not plain: docs/commands.md shows it.
MEANINGS = {
    PAUSED: "a plan waits for the file system to recover; the detail says for what. "
    "It clears when the plan goes on or is stopped.",
    JOURNAL: "a plan, or the record of a policy or a scheduler, cannot be read, or a later version of the "
    "module wrote it. It is put aside, what it set stays, all others go on.",
    FALLBACK: "an MDS used the built-in balancer in place of the policy that 'balance on' put in force; "
    "the detail has its reason. It clears when the MDS follows the policy again.",
    IMBALANCE: "a file system was uneven for imbalance_epochs epochs in a row; "
    "the detail says what to type next. An epoch in which the scheduler acts and finds each rank with its "
    "share, by what that rank can serve, is even. It clears with the first even epoch, or after "
    "imbalance_epochs epochs in which ranks were away; one that cannot be judged does not clear it.",
    SCHEDULER_STUCK: "a file system is uneven for imbalance_epochs epochs, and there is nothing that the "
    "scheduler could move; the detail says why, and what it leaves alone. Or each of its looks, or of its "
    "readings of directories, has failed for so long; the detail has the error. What it undoes does not go "
    "on then, or what it has not read is not moved. It clears when the load is even, something can be "
    "moved, or that does not fail any more.",
    SCHEDULER_ADVISES: "for imbalance_epochs epochs the scheduler has advised moves that it would make if "
    "its mode were act, and in these the file system was uneven. It clears when it acts, waits, is paused or "
    "off, or none of so many epochs was uneven.",
    SCHEDULER_MISJUDGES: "five or more decisions of the scheduler within an hour were to relieve full ranks "
    "and, taken together, did not. It clears when those of the last hour did, or the scheduler acts no "
    "more.",
    STALE: "an epoch of the active manager is overdue by five minutes: its monitoring hangs, or fails each "
    "time. What other checks say of loads may be over, and what came since is not told. It clears when an "
    "epoch ends.",
    UNJUDGED: "a file system was not judged for two minutes, by no fault of the engine: an option has a "
    "value that is not allowed, its MDSs tell nothing, or the manager cannot be asked; the detail says "
    "which. It clears with the first epoch in which it is judged, or has no active rank.",
    ENGINE_DOWN: "the engine gave no judgement of a file system in the last epoch; the detail has its "
    "name, and the last words. It clears when each is judged.",
    ENDPOINT_DOWN: "the active manager cannot listen on its address and port; the detail has both, the "
    "error, and the option to set or the packages to install. It is tried again every epoch.",
}
MOST_HELD = 3  # reasons that are named
UNTOLD = 120.0  # s: after a fail-over MDSs have told long before what they serve
JUDGED = 5  # decisions: fewer may be bad luck


@dataclass(frozen=True)
class Check:
    """One health check: a code, one line for ``ceph health``, one a case for ``ceph health detail``."""

    code: str
    summary: str
    detail: tuple[str, ...]


Source = Callable[[], Sequence[Check]]


def apart(source: Source, log: logging.Logger) -> Source:
    """A source that takes no other's checks with it when it fails; its own are not raised then."""

    def checks() -> Sequence[Check]:
        try:
            return source()
        except Exception:  # whatever it met, the others have something to say
            log.exception("a health check cannot be told")
            return []

    return checks


def collect(sources: Iterable[Source]) -> dict[str, dict[str, Any]]:
    """What ``set_health_checks`` takes. All are warnings: nothing of this module's stops a file system.

    A manager dies of a text that is not UTF-8 (ceph_set_health_checks in BaseMgrModule.cc).
    """
    return {
        check.code: {
            "severity": "warning",
            "summary": printable(check.summary),
            "count": len(check.detail),
            "detail": [printable(line) for line in check.detail],
        }
        for source in sources
        for check in source()
    }


def paused(waiting: Sequence[Run], names: Mapping[int, str]) -> list[Check]:
    """Plans that wait for the cluster, not for the operator. ``names``: of the file systems, by id."""
    detail = tuple(
        f"plan '{run.plan.name}' on '{fs}': {run.head.why}: it goes on by itself; see 'ceph mds_partitioner "
        f"partition status {fs} {run.plan.name}'"
        for run in waiting
        for fs in (names.get(run.plan.fscid, run.plan.fs),)
    )
    summary = f"{len(waiting)} plan(s) of mds_partitioner wait for the file system"
    return [Check(PAUSED, summary, detail)] if detail else []


def unreadable(
    plans: Sequence[Unreadable], policies: Mapping[str, str], schedulers: Mapping[str, str]
) -> list[Check]:
    """What the journal has, and nobody can read. ``policies``, ``schedulers``: why, by file system."""
    detail = (
        *(
            f"plan '{bad.name}': {bad.why}: what it pinned stays as it is; to forget the plan, run "
            f"'ceph mds_partitioner partition rm {bad.name}'"
            for bad in plans
        ),
        *(
            f"policy of '{fs}': {why}: what it set stays as it is; to take that out, run "
            f"'ceph mds_partitioner balance off {fs}'"
            for fs, why in policies.items()
        ),
        *(
            f"scheduler of '{fs}': {why}: it is off, and what it set stays as it is; to begin anew, run "
            f"'ceph mds_partitioner scheduler start {fs}'"
            for fs, why in schedulers.items()
        ),
    )
    summary = f"{len(detail)} record(s) of mds_partitioner cannot be read"
    return [Check(JOURNAL, summary, detail)] if detail else []


def fallen_back(daemons: Mapping[str, Sequence[Fallback]]) -> list[Check]:
    """MDSs that use the built-in balancer in place of our policy, by file system."""
    detail = tuple(
        f"'{fs}': {who}; see 'ceph mds_partitioner balance status {fs}', or switch it off"
        for fs, told in daemons.items()
        for who in told
    )
    summary = "MDSs balance by heat in place of the policy of mds_partitioner"
    return [Check(FALLBACK, summary, detail)] if detail else []


def imbalanced(snapshot: Snapshot, epochs: int, now: float) -> list[Check]:
    """File systems that were too uneven for ``epochs`` epochs in a row. ``now``: Unix, s"""
    uneven = [s for s in snapshot.filesystems if s.uneven_epochs >= epochs]
    summary = f"{len(uneven)} file system(s) have unevenly loaded MDS ranks"
    return [Check(IMBALANCE, summary, tuple(_advice(s, now) for s in uneven))] if uneven else []


def _advice(sample: FsSample, now: float) -> str:
    verdict = sample.verdict
    if verdict is None or verdict.factor is None:
        return (
            f"'{sample.fs}': uneven for {sample.uneven_epochs} epochs when it was judged last, and now it "
            f"cannot be: {sample.problem or 'no rank is active'}: see 'ceph fs status {sample.fs}'"
        )
    if not verdict.uneven:
        return (
            f"'{sample.fs}': uneven for {sample.uneven_epochs} epochs when all its ranks were judged last, "
            f"and now some are away: see 'ceph fs status {sample.fs}'"
        )
    fullest = max(sample.ranks, key=lambda rank: rank.load or 0.0)
    part = (fullest.load or 0.0) / sample.load if sample.load else 0.0
    return (
        f"'{sample.fs}': uneven for {sample.uneven_epochs} epochs: imbalance factor {verdict.factor:.3f}, "
        f"{_why(verdict)}; rank {fullest.rank} serves {part:.0%} of {sample.load:.0f} req/s: "
        f"{_next_step(sample, verdict, now)}"
    )


def _next_step(sample: FsSample, verdict: Verdict, now: float) -> str:
    plan = sample.plan
    if sample.problem:
        return f"{sample.problem}: see 'ceph fs status {sample.fs}'"
    if sample.scheduler is not None and sample.scheduler.mode != OFF:
        return f"see 'ceph mds_partitioner scheduler status {sample.fs}'"
    if plan is not None and plan.state in ACTIVE:
        return f"plan '{plan.name}' is {plan.state}: see 'ceph mds_partitioner partition status {sample.fs}'"
    # A plan confines that by default, and is refused.
    if any(rank.fell_back is not None for rank in sample.ranks):
        return f"a policy of 'balance on' is in force: see 'ceph mds_partitioner balance status {sample.fs}'"
    if sample.analyzing is not None:
        return (
            f"it is being analyzed ({sample.analyzing:.0%}): see 'ceph mds_partitioner analyze status "
            f"{sample.fs}', and when that has ended run '{suggested(sample.fs)}'"
        )
    if verdict.saturated and set(verdict.saturated) == set(verdict.full_of_little):
        return unlike(verdict.saturated, sample.fs)
    other = f"or 'ceph mds_partitioner scheduler start {sample.fs}', which tells what it would move"
    if _to_be_analyzed(sample, now):
        return f"run 'ceph mds_partitioner analyze start {sample.fs}', then '{suggested(sample.fs)}'; {other}"
    begin = f"'ceph mds_partitioner partition start {sample.fs}'"
    return f"run '{suggested(sample.fs)}', read it, then {begin}; {other}"


def _to_be_analyzed(sample: FsSample, now: float) -> bool:
    """Is there no analysis of the load as it is now? That of before a plan that ran is of another one. When
    one ran by a clock that was ahead nobody knows."""
    if sample.analysis is None:
        return True
    ended, plan = sample.analysis.ended, sample.plan
    ran = 0.0 if plan is None else max(plan.started or 0.0, plan.finished or 0.0)
    return ended < ran <= now or now - ended > FRESH


def _why(verdict: Verdict) -> str:
    return f"above {verdict.threshold:g}" if verdict.triggered else hot_told(verdict)


def scheduler_stuck(snapshot: Snapshot, lasts: float) -> list[Check]:
    """File systems that stay uneven, as there is nothing that the scheduler could move, or as it fails.
    ``lasts``: for so long, s: a load that passes is no reason to call an operator"""
    schedulers = [(s.fs, s.scheduler) for s in snapshot.filesystems if s.scheduler]
    told = ((fs, _why_stuck(of, lasts)) for fs, of in schedulers)
    detail = tuple(
        f"'{fs}': {why}: see 'ceph mds_partitioner scheduler status {fs}'" for fs, why in told if why
    )
    summary = f"the scheduler cannot make {len(detail)} file system(s) even"
    return [Check(SCHEDULER_STUCK, summary, detail)] if detail else []


def _why_stuck(of: SchedulerState, lasts: float) -> str:
    """Causes first: of directories that it cannot read it finds nothing to move."""
    if of.failing >= lasts:
        return f"each look has failed for {of.failing:.0f} s: {of.problem}"
    if of.unread_for >= lasts:
        return f"directories could not be read for {of.unread_for:.0f} s: {of.unread}"
    if of.stuck >= lasts:
        return f"uneven for {of.stuck:.0f} s: {'; left alone: '.join([of.why, *of.held[:MOST_HELD]])}"
    return ""


def scheduler_advises(snapshot: Snapshot, lasts: float) -> list[Check]:
    """Uneven file systems that the scheduler would make even if it were allowed to. ``lasts``: as above"""
    detail = tuple(
        f"'{s.fs}': {s.scheduler.advised} moves are advised: 'ceph mds_partitioner scheduler history {s.fs}' "
        f"shows them, {f'{s.scheduler.stopped}; then ' if s.scheduler.stopped else ''}"
        f"'ceph mds_partitioner scheduler start {s.fs} --mode act' has them made"
        for s in snapshot.filesystems
        if s.scheduler and s.scheduler.advised_for >= lasts
        if s.uneven_at is not None and s.time - s.uneven_at < lasts
    )
    summary = f"the scheduler would move directories on {len(detail)} file system(s), and only advises"
    return [Check(SCHEDULER_ADVISES, summary, detail)] if detail else []


def scheduler_misjudges(snapshot: Snapshot) -> list[Check]:
    """Schedulers whose decisions of the last hour, taken together, relieved no full rank."""
    found = [(s.fs, s.scheduler) for s in snapshot.filesystems if s.scheduler and s.scheduler.mode == ACT]
    detail = tuple(
        f"'{fs}': {of.settled} decisions were to take {of.predicted:.0f} req/s from the fullest ranks, and "
        f"took {of.real:.0f}: 'ceph mds_partitioner scheduler history {fs}' shows them, "
        f"'ceph mds_partitioner scheduler stop {fs}' ends it, with --rollback all since it was last started "
        "is undone"
        for fs, of in found
        if of.settled >= JUDGED and of.real <= 0.0 < of.predicted
    )
    summary = f"what the scheduler moved on {len(detail)} file system(s) within an hour has not helped"
    return [Check(SCHEDULER_MISJUDGES, summary, detail)] if detail else []


def stale(late: float, ended: float, manager: str) -> list[Check]:
    """No epoch ends any more.

    :param late: s by which one is overdue
    :param ended: when the last did, Unix, s; 0: none has yet
    :param manager: its name
    """
    if late <= LATE:
        return []
    known = f"what other checks and metrics tell of loads is as it was at {told(ended)}"
    known = known if ended else "nothing is known yet"
    detail = (
        f"mgr.{manager}: an epoch is overdue by {lasting(late)}: {known}; see the manager's log; "
        "'ceph mgr fail' has the next manager go on"
    )
    return [Check(STALE, "mds_partitioner does not observe file systems any more", (detail,))]


def unjudged(snapshot: Snapshot, now: float) -> list[Check]:
    """File systems that have not been judged for a while, but for those that the engine fails at. ``now``:
    steady clock, s"""
    detail = tuple(
        f"'{s.fs}': not judged for {lasting(now - s.unjudged_since)}: {s.problem}; 'ceph mds_partitioner "
        f"imbalance {s.fs}' judges it now, and says what fails then"
        for s in snapshot.filesystems
        if s.unjudged_since is not None and now - s.unjudged_since >= UNTOLD and not s.engine_problem
    )
    summary = f"{len(detail)} of {len(snapshot.filesystems)} file system(s) are not judged by mds_partitioner"
    return [Check(UNJUDGED, summary, detail)] if detail else []


def engine_down(snapshot: Snapshot) -> list[Check]:
    """The engine gave no judgement of some file system in the last epoch."""
    options = "engine_python, engine_memory and engine_deadline"
    detail = tuple(
        f"'{sample.fs}': {sample.engine_problem}: see the manager's log, and the options {options}"
        for sample in snapshot.failed_by_engine
    )
    fails = f"fails for {len(detail)} of {len(snapshot.filesystems)} file systems: these are not judged"
    what = "does not work: nothing is judged" if snapshot.engine_problem else fails
    return [Check(ENGINE_DOWN, f"the engine of mds_partitioner {what}", detail)] if detail else []


def endpoint_down(failed: Failed | None, manager: str) -> list[Check]:
    """The active manager cannot listen where its options say. ``manager``: its name."""
    if failed is None:
        return []
    option = f"mgr/mds_partitioner/{manager}/server_"
    if failed.lacks:
        cure = (
            f"install {' '.join(failed.lacks)} {DEBIANS} on the hosts of the managers and restart them, "
            "or do without: 'ceph config set mgr mgr/mds_partitioner/metrics false'"
        )
    else:
        cure = (
            "it tries again every epoch. Where another manager of this host has the port, give this one "
            f"another with 'ceph config set mgr {option}port PORT'; where the address is not this host's, "
            f"see {option}addr"
        )
    detail = f"mgr.{manager} cannot listen on {failed.at.host} port {failed.at.port}: {failed.why}; {cure}"
    return [Check(ENDPOINT_DOWN, "metrics and the status page of mds_partitioner are not served", (detail,))]
