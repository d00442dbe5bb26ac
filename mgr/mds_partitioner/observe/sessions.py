# SPDX-License-Identifier: LGPL-2.1-or-later
"""The client sessions of a rank (``session ls``)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..ceph.host import Host
from ..errors import PartitionerError
from ..model import Address, FsState, Reading, Session
from .attribution import owner
from .roots import PATIENCE, called_soon
from .subtrees import ancestors

HALF_LIFE = 60.0  # s: mds_request_load_average_decay_rate
APART = 10.0  # s that a rate is measured over, at least: readings are whole numbers


def address(entry: Mapping[str, Any]) -> Address:
    """Where a session comes from."""
    where = entry["entity"]["addr"]
    return str(where["addr"]), int(where["nonce"])


def parse_sessions(
    rank: int,
    answer: Iterable[Mapping[str, Any]],
    managers: Collection[Address],
    before: Iterable[Session] = (),
) -> list[Session]:
    """One rank's clients: not who is about to come or go. One that does not say what it mounted is taken to
    have mounted ``/``.

    :param before: the same rank's, as they were read last
    """
    known = {session.client: session.read for session in before}
    return [
        _session(rank, entry, managers, known.get(int(entry["id"]), Reading()))
        for entry in answer
        if "request_load_avg" in entry  # told of open and stale ones alone (``Session::dump``)
    ]


def _session(rank: int, entry: Mapping[str, Any], managers: Collection[Address], before: Reading) -> Session:
    now = Reading(float(entry["request_load_avg"]), float(entry["uptime"]))
    if before.uptime >= now.uptime:
        before = Reading()  # the rank, or the client, began anew
    return Session(
        rank=rank,
        client=int(entry["id"]),
        root=_clean(str(entry.get("client_metadata", {}).get("root") or "/")),
        caps=int(entry["num_caps"]),
        load=_rate(before, now),
        ours=address(entry) in managers,
        read=now if now.uptime - before.uptime >= APART else before,
    )


def _rate(before: Reading, now: Reading) -> float:
    """req/s between two readings. The decayed counts themselves cannot be compared with each other: a client
    of twenty seconds has a fifth of what one has that did the same for many minutes."""
    left = math.pow(0.5, (now.uptime - before.uptime) / HALF_LIFE)
    came = max(0.0, now.decayed - before.decayed * left)
    # A session of a moment may have made its first requests in it: it does not make so many a second.
    shortest = 0.0 if before.uptime else APART
    return came * math.log(2.0) / HALF_LIFE / max(1.0 - left, 1.0 - math.pow(0.5, shortest / HALF_LIFE), 1e-9)


def clients_at(host: Host, fs: FsState, places: Mapping[str, int | None]) -> dict[str, int | None]:
    """How many clients are mounted at a directory or in it; None: not known, or it is on several ranks.

    :param places: the rank of each directory, by path
    """
    names = {m.rank: m.name for m in fs.active() if m.rank in places.values()}
    answers = host.tell_each(fs, list(names.values()), "session ls", within=PATIENCE) if names else {}
    managers = host.manager_addresses()
    sessions = {
        rank: [s for s in parse_sessions(rank, answers[name], managers) if not s.ours]
        for rank, name in names.items()
        if not isinstance(answers[name], PartitionerError)
    }
    roots = {s.root for of_rank in sessions.values() for s in of_rank}
    known = called_soon(host, fs, (root for root in roots if owner(root, places) is None))
    return {
        path: sum(path in ancestors(known.get(s.root, s.root)) for s in sessions[rank])
        if rank is not None and rank in sessions
        else None
        for path, rank in places.items()
    }


def _clean(root: str) -> str:
    """A mount root as the MDSs name it: clients tell theirs as it was typed, ``//volumes//a/`` for one."""
    return "/" + "/".join(name for name in root.split("/") if name not in ("", "."))
