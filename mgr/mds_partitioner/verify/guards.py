# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is the cluster well enough to change it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..model import POOL_FULL, FsState, HealthCheck
from ..plan.ranks import format_ranks

# Health checks that mean: the MDSs have enough to do as it is, or must not write what they need not. Clients
# are refused when pools are full, but MDSs write on, as they do for each export.
STOP_CHECKS = (
    "FS_DEGRADED",
    "FS_WITH_FAILED_MDS",
    "MDS_ALL_DOWN",
    "MDS_DAMAGE",
    "MDS_READ_ONLY",
    "MDS_SLOW_METADATA_IO",
    "MDS_SLOW_REQUEST",
    "MDS_CACHE_OVERSIZED",
    POOL_FULL,
    "OSD_FULL",
)

# Of these: what was moved may be why. It may be put back, and be rolled back.
BUSY_CHECKS = ("MDS_SLOW_REQUEST", "MDS_CACHE_OVERSIZED")

FOLLOWS_PINS = "mds_bal_export_pin"  # without it MDSs look at no pin, nor ephemeral pin (MDBalancer.cc, tick)
JOINABLE = "ceph fs set {} joinable true"  # of what 'ceph fs fail' has taken down
PLAN, SCHEDULER = "the plan", "the scheduler"  # who waits


@dataclass(frozen=True)
class Hold:
    """Why a plan begins nothing now, and what to do, as one sentence.

    :ivar back: what was begun goes on, is put back when it is late, and may be rolled back
    """

    why: str
    back: bool = False


def hold(
    fs: FsState, health: Mapping[str, HealthCheck], silent: Mapping[int, float], *, pins: bool = True
) -> Hold | None:
    """What a plan is to wait for; None when all is well. ``silent``, ``pins`` as in ``why_wait``."""
    why = why_wait(fs, health, silent, PLAN, pins=pins)
    if why is None:
        return None
    others = {code: check for code, check in health.items() if code not in BUSY_CHECKS}
    begun = replace(fs, max_mds=min(fs.max_mds, len(fs.ranks_in)))  # it never had the ranks that it lacks
    return Hold(why, why_wait(begun, others, silent, PLAN, pins=pins) is None)


def why_wait(
    fs: FsState,
    health: Mapping[str, HealthCheck],
    silent: Mapping[int, float],
    who: str,
    *,
    pins: bool = True,
) -> str | None:
    """One sentence that says why nothing should be changed now and what to do; None when all is well.

    :param silent: ranks that have not reported to the manager for longer than so many seconds; 0: the mon
        misses them
    :param who: waits, as it is called in the sentence
    :param pins: do MDSs follow them?
    """
    away = inactive(fs) or _rankless(fs)
    if away is not None:
        return f"{away}; {who} then goes on"
    there = len(fs.ranks_in)
    if there < fs.max_mds:
        return (
            f"'{fs.name}' has MDSs for {there} of {fs.max_mds} ranks: start {fs.max_mds - there} more, or "
            f"run 'ceph fs set {fs.name} max_mds {there}': {who} goes on then"
        )
    if there > fs.max_mds:
        return (
            f"'{fs.name}' is being resized from {there} to {fs.max_mds} ranks: "
            f"{who} goes on when that is done"
        )
    quiet = silence(fs, silent)
    if quiet:
        return f"{quiet}: {who} goes on when it or a standby answers"
    if not pins:
        cure = f"run 'ceph config set mds {FOLLOWS_PINS} true'"
        return f"{FOLLOWS_PINS} is false, and MDSs follow no pin: {cure}: {who} goes on within a minute then"
    for code in STOP_CHECKS:
        if code in health and (about := _about(fs, health[code])):
            return f"{code}: {about}: {who} goes on when it is gone (ceph health detail)"
    return None


def inactive(fs: FsState) -> str | None:
    """Which ranks are not active, and what to do, as one sentence; None: all are."""
    if fs.damaged:
        return f"rank {format_ranks(fs.damaged)} is damaged: repair it"
    if fs.failed:
        start = "start its MDS or a standby" if fs.joinable else f"run '{JOINABLE.format(fs.name)}'"
        return f"rank {format_ranks(fs.failed)} has failed: {start}"
    waiting = [m for m in fs.mds if m.state != "up:active"]
    if waiting:
        who = ", ".join(f"rank {m.rank} (mds.{m.name}) is {m.state}" for m in waiting)
        return f"{who}: wait until every rank is active"
    absent = sorted(set(fs.ranks_in) - {m.rank for m in fs.mds})
    return f"rank {format_ranks(absent)} has no MDS: start one" if absent else None


def _rankless(fs: FsState) -> str | None:
    """The same of a file system without ranks; None: it has some. Of one that was taken down no health check
    tells (MDSMap.cc, MDS_ALL_DOWN)."""
    if fs.ranks_in:
        return None
    down = f"'{fs.name}' is down: run 'ceph fs set {fs.name} down false'"
    return f"'{fs.name}' has no MDS: start one" if fs.max_mds else down


def silence(fs: FsState, silent: Mapping[int, float]) -> str:
    """Which MDSs say nothing; "": none. ``silent`` as in ``why_wait``."""
    quiet = (m for m in fs.active() if m.rank in silent)
    return ", ".join(f"rank {m.rank} (mds.{m.name}) has said nothing {_since(silent[m.rank])}" for m in quiet)


def _since(seconds: float) -> str:
    return f"for over {seconds:.0f} s" if seconds else "to the mon (laggy)"


def late_clients(mds: str, health: Mapping[str, HealthCheck]) -> list[str]:
    """What an MDS says of clients that keep capabilities which it has asked them for. What waits for these
    cannot be moved."""
    check = health.get("MDS_CLIENT_LATE_RELEASE")
    lines = check.detail if check is not None else ()
    return [line.partition(": ")[2] for line in lines if mds and line.startswith(f"mds.{mds}(")]


def _about(fs: FsState, check: HealthCheck) -> str | None:
    """What a check says of this file system; None when it speaks of others only."""
    ours = [line for line in check.detail if not _of_another(fs, line)]
    return None if check.detail and not ours else (ours[0] if ours else check.summary)


def _of_another(fs: FsState, line: str) -> bool:
    """Details begin with "fs NAME " (MDSMap.cc, FSMap.cc) or "mds.NAME(mds.RANK): " (MDSMonitor.cc)."""
    if line.startswith("fs "):
        return not line.startswith(f"fs {fs.name} ")
    daemon, bracket, _ = line.partition("(")
    if not (line.startswith("mds.") and bracket):
        return False
    return daemon not in {f"mds.{m.name}" for m in fs.mds}
