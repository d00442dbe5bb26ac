# SPDX-License-Identifier: LGPL-2.1-or-later
"""The balancer's last beat as an MDS knows it, and whether it fell back to the built-in balancer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ..ceph.host import Host
from ..ceph.tick import Ticks, ticks
from ..clock import Now
from ..errors import PartitionerError
from ..model import FsState
from ..observe.heat import meta_load

# MDBalancer::handle_heartbeat, src/mds/MDBalancer.cc
FELL_BACK = "using old balancer; mantle failed for"  # begins the message: file names, in others, may hold it
LOG_LINES = 1000  # of the cluster log, warnings and above: slow requests may be most of them
INTERVAL = "mds_bal_interval"
IN_A_ROW = 1.75  # beats between two that follow each other, at the most: some begin a tick late


@dataclass(frozen=True)
class Beat:
    """What a policy sees, (ranks,), keyed as in Mantle: popularity, req/s, requests, % of a core."""

    metrics: tuple[dict[str, float], ...]


def metrics(auth: float, replicas_too: float, rate: float, queue: float, cpu: float) -> dict[str, float]:
    """Of one rank, keyed as in Mantle: popularity of what it has authority over, and of all that it has;
    req/s, requests, % of a core."""
    return {
        "auth.meta_load": auth,
        "all.meta_load": replicas_too,
        "req_rate": rate,
        "queue_len": queue,
        "cpu_load_avg": cpu,
    }


def _told(load: Mapping[str, Any]) -> dict[str, float]:
    return metrics(
        meta_load(load["auth_dirfrags"]),
        meta_load(load["all_dirfrags"]),
        float(load["request_rate"]),
        float(load["queue_length"]),
        float(load["cpu_load"]),
    )


def parse_beat(answer: Mapping[str, Any], ranks: int) -> Beat | None:
    """The loads that ``dump loads`` tells; None while they are not those of all ranks."""
    loads = {int(name.removeprefix("mds.")): load for name, load in answer["mds_load"].items()}
    if set(loads) != set(range(ranks)) or not ranks:
        return None
    return Beat(tuple(_told(loads[rank]) for rank in range(ranks)))


def last_beat(host: Host, fs: FsState) -> Beat | None:
    """The last beat as rank 0 knows it; every rank gets the same loads. None: there was none yet.

    Popularity goes on decaying after the beat; req_rate, queue_len and cpu_load_avg are those of the beat.
    """
    first = next((m for m in fs.active() if m.rank == 0), None)
    if first is None:
        return None
    return parse_beat(host.tell(fs, first.name, "dump loads", depth=0), len(fs.ranks_in))


def beat_interval(host: Host, fs: FsState, before: int | None) -> int:
    """s that rank 0 waits before it begins the next beat: an operator may have set it for one daemon.

    :param before: as it was, for when that does not answer; None: as the mon has it then
    """
    first = _rank_0(fs)
    if first is not None:
        with suppress(PartitionerError, KeyError, ValueError):
            return int(host.tell(fs, first, "config get", var=INTERVAL)[INTERVAL])
    return int(host.config(INTERVAL)) if before is None else before


def tick_interval(host: Host, fs: FsState, before: float) -> float:
    """s between two ticks of rank 0, as an operator has it: the scheduler makes them short for a while.

    :param before: as it was, for when that does not answer
    """
    first = _rank_0(fs)
    found = None if first is None else ticks(host, fs, (first,)).get(first)
    return found.operators if isinstance(found, Ticks) else before


def _rank_0(fs: FsState) -> str | None:
    return next((m.name for m in fs.active() if m.rank == 0), None)


def unreadable_in(interval: int) -> str:
    """Why no MDS can read a policy, by its mds_bal_interval, s; "": it can. It waits for half of it, in
    whole seconds (MDBalancer::localize_balancer)."""
    return "mds_bal_interval is 1, and MDSs wait 0 s for a policy then" if interval == 1 else ""


@dataclass(frozen=True)
class Fallback:
    """An MDS ("mds.NAME") that used the built-in balancer in place of our policy, its newest reason, when by
    the log (Unix, s), until when it is told (steady clock, s), and when it had done so before (Unix, s)."""

    daemon: str
    reason: str
    at: float = field(default=0.0, compare=False)
    until: float = field(default=0.0, compare=False)
    before: float = field(default=0.0, compare=False)

    def goes_on(self, beat: float) -> bool:
        """Did it in two beats in a row? One alone is a policy that was read too late, and passes by itself.

        :param beat: s between two
        """
        return self.at - self.before < IN_A_ROW * beat

    def __str__(self) -> str:
        return f"{self.daemon}: {self.reason}"


def fallbacks(host: Host, objects: frozenset[str], since: float) -> list[Fallback]:
    """Of those that did in place of one of our ``objects`` since a time (Unix, s), one each."""
    # Warnings about slow requests have the names of files as they are.
    said = host.ask_mon("log last", num=LOG_LINES, level="warn", channel="cluster", format="json")
    return parse_fallbacks(json.loads(said), objects, since)


def parse_fallbacks(lines: list[Mapping[str, Any]], objects: frozenset[str], since: float) -> list[Fallback]:
    """``log last``'s entries; see ``fallbacks``."""
    found: dict[str, Fallback] = {}
    for line in lines:
        message = str(line["message"])
        balancer, _, reason = message.partition("balancer=")[2].partition(" : ")
        ours = message.startswith(FELL_BACK) and balancer in objects
        if ours and (at := _unix(str(line["stamp"]))) >= since:
            daemon = str(line["name"])
            before = found[daemon].at if daemon in found else 0.0
            found[daemon] = Fallback(daemon, reason, at, before=before)
    return [of for _, of in sorted(found.items())]


def remembered(before: Iterable[Fallback], new: Iterable[Fallback], told: float, now: Now) -> list[Fallback]:
    """Those in the log, and those that it has no more room for and that are still told: for ``told`` s. As
    the clock may be put back, what was seen before is known by its time, and how long is told by the other.
    """
    there = {of.daemon: of for of in new}
    found = {of.daemon: of for of in before if of.until >= now.steady or of.daemon in there}
    for daemon, of in there.items():
        if daemon not in found or found[daemon].at != of.at:
            found[daemon] = replace(of, until=now.steady + told - max(0.0, now.wall - of.at))
    return [of for _, of in sorted(found.items())]


def _unix(stamp: str) -> float:
    # Before Python 3.11 fromisoformat reads no "+0000".
    return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
