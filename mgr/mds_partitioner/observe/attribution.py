# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whose requests and capabilities are these: from sessions to directories.

A session mounted at or below a directory is wholly that directory's. One mounted above is shared out over
the directories below its mount root by their heat on that rank, in parts of all heat that is below that
root. A rank's measured req/s is shared out over its sessions by their decayed request counts, so that the
sum agrees with the rank's own counter. What the managers' own mounts (this module's, the volumes module's)
ask for is no workload, and is taken out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..model import Session
from .heat import Heat
from .held_back import held_back
from .subtrees import above, ancestors


@dataclass(frozen=True)
class Share:
    """What one directory gets of one epoch."""

    caps: float = 0.0  # held, no more of a rank than it has inodes in its cache
    requests: float = 0.0  # req/s
    clients: frozenset[int] = frozenset()
    shared: bool = False  # some of it came by heat
    by_rank: Mapping[int, float] = field(default_factory=dict)  # req/s
    held_back: float = 0.0  # of the requests, req/s: of clients that would ask for more


@dataclass
class _Sum:
    """A share while it is added up."""

    caps: float = 0.0
    requests: float = 0.0  # req/s
    clients: set[int] = field(default_factory=set)
    shared: bool = False
    by_rank: dict[int, float] = field(default_factory=dict)  # req/s
    held_back: float = 0.0  # of the requests, req/s

    def add(
        self,
        rank: int,
        caps: float,
        requests: float,
        held: float,
        clients: Iterable[int],
        shared: bool = False,
    ) -> None:
        self.caps += caps
        self.requests += requests
        self.held_back += held
        self.by_rank[rank] = self.by_rank.get(rank, 0.0) + requests
        self.clients.update(clients)
        self.shared = self.shared or shared

    def share(self) -> Share:
        clients = frozenset(self.clients)
        return Share(self.caps, self.requests, clients, self.shared, self.by_rank, self.held_back)


def owner(root: str, directories: Collection[str]) -> str | None:
    """The nearest of ``directories`` at or above a mount root."""
    return next((path for path in ancestors(root) if path in directories), None)


def needs_heat(sessions: Iterable[Session], directories: Collection[str]) -> bool:
    """Is more than 1 % of the sessions' load, or of their capabilities, mounted above the directories?

    Of what is mounted beside them heat tells nothing.
    """
    over = above(directories)  # who mounts one of these may use any that is below it
    above_load = above_caps = load = caps = 0.0
    for s in sessions:
        if s.ours:
            continue
        load, caps = load + s.load, caps + s.caps
        if s.root in over and owner(s.root, directories) is None:
            above_load, above_caps = above_load + s.load, above_caps + s.caps
    return above_load > 0.01 * load or above_caps > 0.01 * caps


def _heat_parts(root: str, heat: Heat, directories: Collection[str]) -> dict[str, float]:
    """By directory; what is left of a session's is of what lies elsewhere below its mount root."""
    prefix = root.rstrip("/") + "/"
    hot = {path: value for path, value in heat.of.items() if path in directories and value > 0}
    below = {path: value for path, value in hot.items() if path.startswith(prefix)}
    all_of_it = heat.total if root == "/" else heat.of.get(root, 0.0)
    total = max(sum(below.values()), all_of_it)
    return {path: value / total for path, value in below.items()}


def attribute(
    sessions: Iterable[Session],
    rates: Mapping[int, float],
    heat: Mapping[int, Heat],
    directories: Collection[str],
    inodes: Mapping[int, float] = {},
    full: Mapping[int, float] = {},
) -> dict[str, Share]:
    """One share a directory that any session touches.

    :param rates: req/s a rank
    :param inodes: by rank, that a capability stands for: 1, or less where clients share what they hold
    :param heat: by rank, of the directories and of mount roots above them; ranks may not have been asked
    :param full: latency of the ranks that are full, s
    """
    known = list(sessions)
    totals = _totals(known)
    served = [_requests(s, rates, totals) for s in known]
    by_key = {(s.rank, s.client): requests for s, requests in zip(known, served) if s.rank in full}
    more = held_back(by_key, full)
    mounted: dict[tuple[int, str], _Sum] = {}  # by rank and mount root: clients of one are treated alike
    for s, requests in zip(known, served):
        if not s.ours:
            caps, waits = s.caps * inodes.get(s.rank, 1.0), (s.rank, s.client) in more
            of_root = mounted.setdefault((s.rank, s.root), _Sum())
            of_root.add(s.rank, caps, requests, requests * waits, (s.client,))
    sums: dict[str, _Sum] = {}
    for (rank, root), of in mounted.items():
        own = owner(root, directories)
        parts = {own: 1.0} if own is not None else _heat_parts(root, heat.get(rank, Heat()), directories)
        for path, part in parts.items():
            found = sums.setdefault(path, _Sum())
            amounts = of.caps * part, of.requests * part, of.held_back * part
            found.add(rank, *amounts, of.clients, own is None)
    return {path: found.share() for path, found in sums.items()}


def of_managers(sessions: Iterable[Session], rates: Mapping[int, float]) -> float:
    """req/s that are no workload. ``rates``: as for ``attribute``."""
    known = list(sessions)
    totals = _totals(known)
    return sum(_requests(s, rates, totals) for s in known if s.ours)


def _totals(sessions: Iterable[Session]) -> dict[int, float]:
    """The load of all sessions, by rank."""
    totals: dict[int, float] = {}
    for s in sessions:
        totals[s.rank] = totals.get(s.rank, 0.0) + s.load
    return totals


def _requests(session: Session, rates: Mapping[int, float], totals: Mapping[int, float]) -> float:
    """req/s of the rank's that are this session's."""
    total = totals[session.rank]
    return rates.get(session.rank, 0.0) * session.load / total if total > 0 else 0.0
