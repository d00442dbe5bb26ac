# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which rank clients ask first (Client::choose_target_mds), and whether it answers.

Only lookups go to another rank than the one that has the authority (MetaRequest::auth_is_best). Of a
subtree's root clients are told its replicas, and draw one; of what is below it they are told nothing, and ask
the lowest rank that they have a capability from (docs/benchmarking.md, Forwards). With
mds_forward_all_requests_to_auth they are told of no replica: of a root they have capabilities from the rank
of its own inode and from its own rank, and ask the lower one, which passes all on if it is the former.
"""

import math
from dataclasses import dataclass

import numpy as np

from sim.load.crowd import Crowd
from sim.model.arrays import Bools, Floats, Ints
from sim.model.lanes import Asks
from sim.model.namespace import Namespace
from sim.model.physics import Physics
from sim.model.tree import VOLUMES


@dataclass(frozen=True)
class Asking:
    """What it depends on. reads: (directories,), popularity of lookups; direct: clients know who answers."""

    crowd: Crowd
    names: Namespace
    physics: Physics
    reads: Floats
    to_auth: bool
    direct: bool


@dataclass(frozen=True)
class First:
    """(entries,) or (directories,) each: a rank, the part of the requests that goes there, and the part for
    which one of all ranks is drawn."""

    rank: Ints
    part: Floats
    drawn: Floats


def asks(asking: Asking, rank: Ints, up: Bools) -> Asks:
    """Requests that go elsewhere. rank: (entries,) that has the authority; up: (ranks,)."""
    crowd, names = asking.crowd, asking.names
    first = _first(asking, rank)
    one = np.flatnonzero((first.rank != rank) & (first.part > 0.0) & crowd.looks_up & up[first.rank])
    some, ranks = np.flatnonzero((first.drawn > 0.0) & crowd.looks_up), np.flatnonzero(up)
    entry, other = np.repeat(some, ranks.size), np.tile(ranks, some.size)
    kept = other != rank[entry]
    entries = np.concatenate([one, entry[kept]])
    asked = np.concatenate([first.rank[one], other[kept]])
    parts = np.concatenate([first.part[one], first.drawn[entry[kept]] / max(1, ranks.size)])
    if asking.to_auth:  # what has replicas only passes on all the same
        holds = np.zeros(entries.size)
    else:
        holds = names.holds(asked, crowd.directory[entries], crowd.name[entries])
    return Asks(
        entry=np.tile(entries, 2),
        rank=np.tile(asked, 2),
        part=np.concatenate([parts * (1.0 - holds), parts * holds]),
        answered=np.repeat([False, True], entries.size),
    )


def _first(asking: Asking, rank: Ints) -> First:
    """(entries,)"""
    crowd = asking.crowd
    if asking.direct:
        return First(rank, np.zeros(rank.size), np.zeros(rank.size))
    told = asking.names.home(crowd.directory) != rank
    known = _remembered(asking, rank, told)
    if crowd.remembers.all():
        return known
    fresh = _fresh(asking)
    learnt = _learnt(asking, fresh, rank, told)
    return First(
        *(np.where(crowd.remembers, a, b) for a, b in zip(_fields(known), _fields(learnt), strict=True))
    )


def _fields(first: First) -> tuple[Ints, Floats, Floats]:
    return first.rank, first.part, first.drawn


def _remembered(asking: Asking, rank: Ints, told: Bools) -> First:
    """(entries,) of clients who remember their directories.

    A directory that was replicated to all ranks is known to that of its parent's own inode, too, which
    clients draw half of the time to look its name up, and always in a fragment, as no answer of it tells them
    whose the fragment is. It answers, and gives a capability: to those who begin with the directory then.
    Others have looked its name up before (Client::choose_target_mds goes by the capabilities that it has).
    """
    crowd, names = asking.crowd, asking.names
    if asking.to_auth:
        # Below a root nothing was forwarded on the lab (zipf, leaving): its capabilities went along.
        return First(names.home(crowd.directory), _through(asking, rank, told), np.zeros(rank.size))
    replicated = names.replicated[crowd.directory]
    lowest = np.minimum(rank, names.lowest[crowd.directory])
    parent = np.maximum(names.tree.parent[crowd.directory], VOLUMES)
    taught = np.where(crowd.met_hot, names.home(parent), rank)
    always = ~told & ((lowest < rank) | np.isin(parent, list(names.distributed)))
    first = np.where(told, names.home(crowd.directory), np.minimum(lowest, taught))
    part = np.where(always, 1.0, asking.physics.forwards)
    return First(first, np.where(told & replicated, 0.0, part), np.where(told & replicated, 1.0, 0.0))


def _through(asking: Asking, rank: Ints, told: Bools) -> Floats:
    """(entries,): 1 where the rank of the directory's own inode is below its own."""
    return np.asarray(told & (asking.names.home(asking.crowd.directory) < rank), dtype=np.float64)


def _fresh(asking: Asking) -> Floats:
    """(directories,): of the lookups that a client who forgets makes in each, the part for which it has just
    learnt what the directory is. It drops those that it does not use on a tick."""
    crowd = asking.crowd
    clients = float(crowd.clients[~crowd.remembers[crowd.starts]].sum())
    rate = asking.reads * math.log(2.0) / asking.physics.half_life
    each = rate * asking.physics.forgets / clients
    return np.divide(-np.expm1(-each), each, out=np.ones(each.size), where=each > 0.0)


def _learnt(asking: Asking, fresh: Floats, rank: Ints, told: Bools) -> First:
    """(entries,) of clients who forget their directories. Each time that they look a directory's name up anew
    they get a capability of it from the rank that answers, and ask that one. Those who go through all of it
    look it up once: if it became hot later, the rank that has it had answered. fresh: (directories,)"""
    crowd, names = asking.crowd, asking.names
    anew = np.where(crowd.files > 0, crowd.begun, fresh[crowd.directory])
    home = names.home(crowd.directory)
    if asking.to_auth:
        part = np.where(told, np.maximum(anew, _through(asking, rank, told)), 0.0)
        return First(home, part, np.zeros(rank.size))
    ranks, parts = _below(asking, fresh)
    first = np.where(told, home, ranks[crowd.directory])
    drawn = np.where(told & names.replicated[crowd.directory], 1.0 - anew, 0.0)
    later = (crowd.files > 0) & names.replicated[crowd.directory] & ~crowd.met_hot
    below = np.where(later, 0.0, parts[crowd.directory])
    part = np.where(told, anew + (1.0 - anew) * asking.physics.forwards, below)
    return First(first, np.where(drawn > 0.0, anew, part), drawn)


def _below(asking: Asking, fresh: Floats) -> tuple[Ints, Floats]:
    """(directories,) each: the rank that answers some lookups of a directory's name, because clients ask it
    about the parent and it has a replica; and for which part."""
    names = asking.names
    tree = names.tree
    first = names.home(np.maximum(np.arange(tree.size), VOLUMES))
    told = first != names.auth
    told[list(names.distributed)] = True
    part = np.where(told, fresh + (1.0 - fresh) * asking.physics.forwards, 0.0)
    for level in tree.levels[VOLUMES + 1 :]:
        inner = level[~told[level]]
        above = tree.parent[inner]
        first[inner] = first[above]
        part[inner] = part[above] * names.stays_at(inner, first[above])
    return first, part
