# SPDX-License-Identifier: LGPL-2.1-or-later
"""Heavy subvolumes taken apart: each child, and what stays with the parent, is an item with one rank, and is
placed with all that is beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .arrays import Floats, Ints
from .fanout import Fanout
from .placement.bounds import badness, room_a_rank, worth
from .placement.instance import GONE, SEVERAL, Instance, Placement, rank_loads
from .placement.rebalance import homes, rebalance
from .placement.relabel import fewest_inodes
from .placement.spread import Children, shares
from .placement.task import Task, fullest

Families = Mapping[int, Children]  # by heavy


def placed_apart(instance: Instance, families: Families) -> tuple[Placement, Fanout]:
    """Where everything goes, these heavies on the ranks of their children."""
    rows, sizes = instance.w.size, [_pieces(family).size for family in families.values()]
    found = _stayed(_apart(instance, families))
    children, parent, parts = {}, {}, {}
    for (heavy, family), given in zip(families.items(), np.split(found.single[rows:], np.cumsum(sizes)[:-1])):
        count = family.weights.size
        children[heavy] = given[:count]
        # Among equals the highest: clients ask the lowest rank that they know a directory from.
        parent[heavy] = int(given[count] if given.size > count else given.max())
        if count:
            parts[heavy] = shares(family, children[heavy], parent[heavy], instance.ranks)
    single = found.single[:rows].copy()
    single[list(families)] = SEVERAL
    own = {h: tuple(sorted({parent[h], *children[h].tolist()})) for h in families}
    return Placement(single, {**found.several, **own}), Fanout(parent, children, parts)


def _stayed(instance: Instance) -> Placement:
    """Rebalanced while that gains enough, and what is put together is where most inodes of it were."""
    found = rebalance(instance)
    again = rebalance(replace(instance, current=found))
    while worth(badness(instance, found), badness(instance, again), instance):
        found = again
        again = rebalance(replace(instance, current=found))
    items = np.flatnonzero(~instance.fixed & ~instance.heavy)
    rest = replace(found, single=np.where(instance.fixed, found.single, SEVERAL))
    base_w, base_s = (
        rank_loads(rest, values, instance.ranks)[: instance.usable] for values in (instance.w, instance.s)
    )
    task = Task(
        w=instance.w[items],
        s=instance.s[items],
        cur=homes(instance)[items],
        base_w=base_w,
        base_s=base_s,
        room=room_a_rank(instance),
    )
    placed = found.single[items]
    single = found.single.copy()
    single[items] = fewest_inodes(task, placed, fullest(task, placed), instance.closed)
    return replace(found, single=single)


def _apart(instance: Instance, families: Families) -> Instance:
    """The same problem, the heavies without anything and their pieces behind the others, one item each."""
    heavies = list(families)
    pieces = [_pieces(family) for family in families.values()]
    number = sum(piece.size for piece in pieces)

    def split(values: Floats) -> Floats:
        whole = values.copy()
        whole[heavies] = 0.0
        return np.concatenate((whole, *(values[h] * piece for h, piece in zip(heavies, pieces))))

    heavy, fixed = instance.heavy.copy(), instance.fixed.copy()
    heavy[heavies], fixed[heavies] = False, True
    none = np.zeros(number, dtype=np.bool_)
    single = (instance.current.single, *(_now(family, instance.usable) for family in families.values()))
    several = {**instance.current.several, **dict.fromkeys(heavies, ())}
    return replace(
        instance,
        w=split(instance.w),
        q=split(instance.q),
        s=split(instance.s),
        fixed=np.append(fixed, none),
        heavy=np.append(heavy, none),
        current=Placement(np.concatenate(single), several),
    )


def _pieces(family: Children) -> Floats:
    """(children,), or one more for what stays with the parent: parts of the subvolume; they sum to 1."""
    weights, staying = family.weights, family.staying
    if not weights.size:
        return np.ones(1)
    parts = weights / float(weights.sum()) * (1.0 - staying)
    return np.append(parts, staying) if staying > 0.0 else parts


def _now(family: Children, usable: int) -> Ints:
    """The usable rank of each piece, or GONE; of a child without one the parent's."""
    own = np.where(family.current == GONE, family.parent, family.current)
    ranks = np.append(own, family.parent)[: _pieces(family).size]
    return np.where(ranks < usable, ranks, GONE)
