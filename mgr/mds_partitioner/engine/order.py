# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `order` call: which moves to make first, so that the load is even soonest for what is moved."""

from __future__ import annotations

import numpy as np

from .arrays import Floats
from .bad_input import BadInputError
from .inputs import Args, Json, amounts, array, check_names, required, shown, some_ranks

NAMES = ("ranks", "loads", "load", "inodes", "source", "target", "after")


def parts(value: Json, name: str, ranks: list[int], moves: int) -> Floats:
    """(moves, ranks): the part of each move on each rank, from a list of ranks a move."""
    lists = array(value, name)
    if len(lists) != moves:
        raise BadInputError(f"{name} has {len(lists)} values; allowed: one a move, {moves}")
    place = {rank: at for at, rank in enumerate(ranks)}
    found = np.zeros((moves, len(ranks)))
    for i, own in enumerate(array(one, name) for one in lists):
        for rank in own:
            if not isinstance(rank, int) or rank not in place:
                raise BadInputError(f"{name} holds {shown(rank)}; allowed: ranks of ranks, {shown(ranks)}")
            found[i, place[rank]] += 1.0 / len(own)
    return found


def read_after(value: Json, moves: int) -> list[int | None]:
    """For each move the earlier one in the list that it comes after."""
    found = array(value, "after")
    if len(found) != moves:
        raise BadInputError(f"after has {len(found)} values; allowed: one a move, {moves}")
    for i, other in enumerate(found):
        if other is not None and (not isinstance(other, int) or not 0 <= other < i):
            raise BadInputError(f"after holds {shown(other)}; allowed: null or an earlier move")
    return [other if isinstance(other, int) else None for other in found]


def greedy(loads: Floats, change: Floats, inodes: Floats, after: list[int | None]) -> list[int]:
    """At each point the move that lowers the sum of the ranks' squared loads most for each inode moved.

    A move that others come after counts with all of them. loads: (ranks,), req/s; change: (moves, ranks),
    req/s; inodes: (moves,). Among equals the first.
    """
    whole, moved = change.copy(), inodes.copy()
    for i, first in enumerate(after):
        if first is not None:
            whole[first] += change[i]
            moved[first] += inodes[i]
    load, weight = loads.copy(), np.maximum(moved, 1.0)
    squares = (whole**2).sum(axis=1)
    blocked = np.array([first is not None for first in after], dtype=np.bool_)
    followers: dict[int, list[int]] = {}
    for i, first in enumerate(after):
        if first is not None:
            followers.setdefault(first, []).append(i)
    done = np.zeros(len(after), dtype=np.bool_)
    order: list[int] = []
    for _ in after:
        drop = -(2.0 * (whole @ load) + squares) / weight
        drop[done | blocked] = -np.inf
        at = int(np.argmax(drop))
        order.append(at)
        done[at] = True
        load += change[at]
        for i in followers.get(at, ()):
            blocked[i] = False
    return order


def order(args: Args) -> dict[str, Json]:
    """Order moves.

    Each moves `load` (req/s) and `inodes` from the ranks in `source` to those in `target`, in equal parts,
    and comes after the move `after`; `loads`: req/s of `ranks` before.
    """
    check_names(args, NAMES)
    ranks = sorted(some_ranks(args, "ranks"))
    load, inodes = amounts(required(args, "load"), "load"), amounts(required(args, "inodes"), "inodes")
    loads = amounts(required(args, "loads"), "loads")
    if loads.size != len(ranks) or inodes.size != load.size:
        raise BadInputError(
            f"loads has {loads.size} and inodes {inodes.size} values; allowed: one a rank, a move"
        )
    source = parts(required(args, "source"), "source", ranks, load.size)
    target = parts(required(args, "target"), "target", ranks, load.size)
    known = (source.sum(axis=1) > 0.0) & (target.sum(axis=1) > 0.0)
    change = (target - source) * (load * known)[:, None]
    return {"order": list(greedy(loads, change, inodes, read_after(required(args, "after"), load.size)))}
