# SPDX-License-Identifier: LGPL-2.1-or-later
"""One epoch's observation of one file system."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..ceph.compat import HOOK_COMMAND
from ..ceph.host import Host
from ..errors import PartitionerError
from ..model import (
    Address,
    Directory,
    DirectoryFacts,
    FsState,
    Observation,
    RankSample,
    Session,
    Subtree,
    SubtreeSample,
)
from ..options import Settings
from .attribution import Share, attribute, needs_heat, of_managers, owner
from .directories import Rotation
from .heat import ALL, Heat, depth, rank_heat, requests_below, too_long
from .roots import called, may_differ
from .sessions import parse_sessions
from .subtrees import SubtreeMap, above, parse_subtrees, with_news
from .turnover import Turnover
from .working_sets import parse_working_sets

INSIDE = 2  # epochs
LOOKED_INTO = 8  # of the busiest, at least: a plan may be for more ranks than there are
SPARED = 6  # epochs
# Read at once, each some 1.5 KB of text and 4 KB of objects; and an MDS serves nobody while it tells them.
MOST_SESSIONS = 10_000
DEEPER = 3  # levels: an MDS tells the heat of all that it has down to where it is asked for any


class Observer:
    """Observes one file system; keeps what is refreshed in rotation between epochs."""

    def __init__(self, host: Host, extra: Sequence[str]) -> None:
        """``extra``: directories that the operator named in place of the subvolumes."""
        self._host = host
        self._rotation = Rotation(extra)
        self._sessions: dict[int, list[Session]] = {}
        self._roots: dict[str, str] = {}  # that sessions told, and as MDSs have them
        self._subtrees_of: dict[int, list[Subtree]] = {}  # by rank
        self._heat_of: dict[tuple[int, str], Heat] = {}  # by rank and MDS
        self._turn: list[int] = []
        self._requests: dict[str, float] = {}  # req/s by path, in the last epoch
        self._turnover = Turnover()
        self._lowest: dict[str, str] = {}  # of the busiest: where each could be divided, by path
        self._epochs = 0
        self._long: dict[str, int] = {}  # epoch in which an MDS had too much to tell of its heat, by what for

    def observe(
        self, fs: FsState, settings: Settings, ranks: Sequence[RankSample], full: Collection[int] = ()
    ) -> Observation:
        """Look at the directories. :raises PartitionerError: the file system is gone or does not answer.

        :param fs: the file system as it is now; always the same one
        :param ranks: this epoch's samples, whose requests are shared out over the directories
        :param full: ranks that serve as much as they can
        """
        limit = settings.rentries_per_epoch
        self._host.on_fs(fs, lambda mount: self._rotation.refresh(mount, limit, self._requests))
        directories = self._rotation.directories()
        paths = {d.path for d in directories}
        missing = self._read_sessions(fs, settings.ranks_per_epoch, {r.rank: r.sessions for r in ranks})
        sessions = self._rooted(fs, [s for of_rank in self._sessions.values() for s in of_rank], paths)
        # Of roots above the directories alone: an MDS tells of all that it has down to the lowest asked for.
        roots = above(paths).intersection(s.root for s in sessions if not s.ours)
        rates = {r.rank: r.requests for r in ranks}
        listings = {r.rank: r.listings for r in ranks}
        heat = self._heat(fs, paths | roots, listings) if needs_heat(sessions, paths) else {}
        inodes = {r.rank: min(1.0, r.inodes / r.caps) for r in ranks if r.caps and r.inodes}
        waits = {r.rank: r.latency for r in ranks if r.rank in full}
        shares = attribute(sessions, rates, heat, paths, inodes, waits)
        self._requests = {path: share.requests for path, share in shares.items()}
        where = self._subtrees(fs, paths)
        counted = self._working_sets(fs, paths)
        busiest = _busiest(shares, max(LOOKED_INTO, len(fs.ranks_in)))
        found = self._lowest | self._look_below(fs, busiest)  # not all are listed in each epoch
        self._lowest = {path: found[path] for path in busiest if path in found}
        return Observation(
            fs=fs.name,
            directories=tuple(
                _directory_sample(d, shares.get(d.path, Share()), where, counted) for d in directories
            ),
            missing=missing,
            gone=self._rotation.gone,
            unlisted=self._rotation.unlisted,
            churning=self._turnover.churning(),
            unmapped=where.silent,
            inside=self._inside(fs, self._lowest, ranks, where),
            managers=of_managers(sessions, rates),
        )

    def _look_below(self, fs: FsState, busiest: list[str]) -> dict[str, str]:
        """Remember what is in the busiest directories; one that cannot be listed costs no epoch. By path:
        where each could be divided."""
        with suppress(PartitionerError):
            return self._host.on_fs(fs, lambda mount: self._turnover.look(mount, busiest))
        return {}

    def _inside(
        self, fs: FsState, lowest: Mapping[str, str], samples: Sequence[RankSample], where: SubtreeMap
    ) -> dict[str, dict[str, float]]:
        """req/s of what these could be divided into, in each INSIDE-th epoch: an MDS that is asked for its
        heat serves nobody else meanwhile. Not any more where one had too much to tell."""
        self._epochs += 1
        lowest = {path: at for path, at in lowest.items() if at.count("/") - path.count("/") <= DEEPER}
        if not lowest or self._epochs % INSIDE != 1 or "inside" in self._long:
            return {}
        ranks = {rank for path in lowest for rank in where.ranks(path)}
        names = {m.rank: m.name for m in fs.active() if m.rank in ranks}
        told = self._host.tell_each(fs, list(names.values()), "dump loads", depth=depth(lowest.values()) + 1)
        answers = {r: a for r, n in names.items() if not isinstance(a := told[n], PartitionerError)}
        self._note("inside", answers)
        rates, listings = {s.rank: s.requests for s in samples}, {s.rank: s.listings for s in samples}
        below = requests_below(answers, rates, listings, set(lowest.values()))
        return {path: below[parent] for path, parent in lowest.items()} if answers.keys() == ranks else {}

    def facts(self) -> dict[str, DirectoryFacts]:
        """rentries and pins as last read, by path."""
        return self._rotation.facts()

    def _read_sessions(self, fs: FsState, limit: int, sessions: Mapping[int, int]) -> tuple[int, ...]:
        """Refresh the sessions of the ranks whose turn it is, and of those that never told any: what they
        serve would count as nothing. The ranks that did not answer.

        A rank's requests are those of this epoch whenever its sessions were read: see ``attribute``.

        :param limit: ranks; sessions: how many, by rank: of those whose turn it is MOST_SESSIONS are read
        """
        active = {m.rank: m for m in fs.active()}
        self._sessions = {rank: s for rank, s in self._sessions.items() if rank in active}
        self._turn = [r for r in self._turn if r in active] + [r for r in active if r not in self._turn]
        new = [r for r in self._turn if r not in self._sessions]
        known = [r for r in self._turn if r in self._sessions]
        turn = next(iter(_groups(known[:limit], sessions)), [])
        self._turn = known[len(turn) :] + turn + new
        managers, missing = self._host.manager_addresses(), list[int]()
        for group in _groups(new + turn, sessions):
            missing += self._read_group(fs, {rank: active[rank].name for rank in group}, managers)
        return tuple(missing)

    def _read_group(self, fs: FsState, names: Mapping[int, str], managers: Collection[Address]) -> list[int]:
        """Refresh the sessions of these. Those that did not answer."""
        answers = self._host.tell_each(fs, list(names.values()), "session ls")
        told = {r: a for r, n in names.items() if not isinstance(a := answers[n], PartitionerError)}
        for rank, answer in told.items():
            before = self._sessions.get(rank, ())
            self._sessions[rank] = parse_sessions(rank, answer, managers, before)
        return [rank for rank in names if rank not in told]

    def _rooted(self, fs: FsState, sessions: list[Session], paths: Collection[str]) -> list[Session]:
        """By what MDSs call their roots: a client tells its own as it was typed, also where case does not
        count. Each is looked for until it could be asked about, and those alone that are in no directory."""
        roots = {s.root for s in sessions if owner(s.root, paths) is None}
        new = may_differ(roots - self._roots.keys())
        if new:
            self._roots |= self._host.on_fs(fs, lambda mount: called(mount, new))
        return [replace(s, root=self._roots[s.root]) if s.root in self._roots else s for s in sessions]

    def _heat(self, fs: FsState, paths: AbstractSet[str], listings: Mapping[int, float]) -> dict[int, Heat]:
        """Of a rank that does not answer, as the full one may not, what it told last; of all, for some epochs
        after one had too much to tell."""
        spared = self._epochs - self._long.get("heat", -SPARED) < SPARED
        answers = {} if spared else self._answers(fs, "dump loads", depth=depth(paths))
        self._note("heat", answers)
        asked = frozenset(paths)
        active = {m.rank: (m.rank, m.name) for m in fs.active()}
        heat = {r: rank_heat(a, asked, ALL).listing(listings.get(r, 0.0)) for r, a in answers.items()}
        known = self._heat_of | {active[rank]: of for rank, of in heat.items()}
        self._heat_of = {at: known[at] for at in active.values() if at in known}
        return {rank: of for (rank, _), of in self._heat_of.items()}

    def _note(self, what: str, answers: Mapping[int, Any]) -> None:
        if any(map(too_long, answers.values())):
            self._long[what] = self._epochs

    def _working_sets(self, fs: FsState, paths: Collection[str]) -> dict[str, float] | None:
        """As the MDSs counted them; None unless all of them do."""
        answers = self._answers(fs, HOOK_COMMAND, path="/", depth=depth(paths))
        return parse_working_sets([answers.get(m.rank) for m in fs.active()], paths)

    def _subtrees(self, fs: FsState, paths: Collection[str]) -> SubtreeMap:
        """Of a rank that does not answer those that it told last; silent is one that never told any."""
        answers = self._answers(fs, "get subtrees")
        new = {rank: parse_subtrees(rank, answer) for rank, answer in answers.items()}
        active = {m.rank for m in fs.active()}
        old = {rank: found for rank, found in self._subtrees_of.items() if rank in active}
        self._subtrees_of = with_news(old, new)
        known = (subtree for found in self._subtrees_of.values() for subtree in found)
        return SubtreeMap(known, paths, sorted(active - self._subtrees_of.keys()))

    def _answers(self, fs: FsState, prefix: str, **arguments: Any) -> dict[int, Any]:
        answers = self._host.tell_each(fs, [m.name for m in fs.active()], prefix, **arguments)
        return {m.rank: a for m in fs.active() if not isinstance(a := answers[m.name], PartitionerError)}


def _groups(ranks: Sequence[int], sessions: Mapping[int, int]) -> list[list[int]]:
    """In this order, each of MOST_SESSIONS or one rank. sessions: how many, by rank"""
    found, room = list[list[int]](), 0
    for rank in ranks:
        room -= sessions.get(rank, 0)
        if not found or room < 0:
            found.append([])
            room = MOST_SESSIONS - sessions.get(rank, 0)
        found[-1].append(rank)
    return found


def _busiest(shares: Mapping[str, Share], most: int) -> list[str]:
    """Paths of the directories with the most requests: those that a plan may want to split."""
    order = sorted(shares, key=lambda path: -shares[path].requests)
    return [path for path in order[:most] if shares[path].requests > 0.0]


def _directory_sample(
    directory: Directory, share: Share, where: SubtreeMap, counted: Mapping[str, float] | None
) -> SubtreeSample:
    ranks = where.ranks(directory.path)
    return SubtreeSample(
        directory=directory,
        wss=share.caps if counted is None else counted.get(directory.path, 0.0),
        requests=share.requests,
        sessions=len(share.clients),
        ranks=ranks,
        ephemeral=where.ephemeral(directory.path),
        shared=share.shared,
        counted=counted is not None,
        served=tuple(share.by_rank.get(rank, 0.0) for rank in ranks),
        held_back=share.held_back,
    )
