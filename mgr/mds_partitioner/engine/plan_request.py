# SPDX-License-Identifier: LGPL-2.1-or-later
"""The arguments of the `plan` call, checked, and as the planner's problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats
from .bad_input import BadInputError
from .demand import COLUMNS, asked, room
from .inputs import (
    Args,
    Json,
    amounts,
    array,
    check_names,
    choice,
    columns,
    mapping,
    number,
    number_or_none,
    rank_list,
    rank_sets,
    ranks_or_none,
    required,
    shown,
    some_ranks,
)
from .names import HEAVY, LIGHT, MODERATE, MODES
from .placement.instance import GONE, SEVERAL, Instance, Placement
from .placement.spread import Children
from .workload import workload

NAMES = (
    *("ranks", "all_ranks", "cache_inodes", "subvolumes", "heavy_mode", "children", "current_mask"),
    *("saturated", "smoothness", "capacity", "threshold", "min_gain"),
)

FAMILY = ("weights", "hottest", "current", "staying", "parent", "fragments", "scattered")


@dataclass(frozen=True)
class PlanRequest:
    """ranks: usable ones ascending, then the other existing ones: the rank of each of the planner's rank
    numbers."""

    ranks: tuple[int, ...]
    instance: Instance
    reqs: Floats
    current: list[list[int]]
    fixed: list[str | None]
    children: Mapping[int, Children]
    capacity: float | None  # req/s a rank; None: unknown
    smoothness: float
    threshold: float

    @property
    def number_of(self) -> dict[int, int]:
        return {rank: at for at, rank in enumerate(self.ranks)}


def read_ranks(args: Args) -> tuple[list[int], tuple[int, ...]]:
    """(usable ranks ascending, all existing ranks with the usable ones first)."""
    usable, existing = sorted(some_ranks(args, "ranks")), some_ranks(args, "all_ranks")
    extra = sorted(set(usable) - set(existing))
    if extra:
        raise BadInputError(f"ranks holds {extra[0]}; allowed: ranks of all_ranks, {shown(sorted(existing))}")
    return usable, (*usable, *sorted(set(existing) - set(usable)))


def read_fixed(value: Json, rows: int) -> list[str | None]:
    codes = array(value, "subvolumes.fixed")
    if len(codes) != rows:
        raise BadInputError(f"subvolumes.fixed has {len(codes)} values; allowed: one a subvolume, {rows}")
    good = [c for c in codes if c is None or isinstance(c, str)]
    if len(good) != rows:
        bad = next(c for c in codes if not (c is None or isinstance(c, str)))
        raise BadInputError(f"subvolumes.fixed holds {shown(bad)}; allowed: null or a reason code")
    return good


def read_heavy(value: Json, rows: int) -> Bools:
    """(subvolumes,): of class heavy."""
    names = array(value, "subvolumes.class")
    if len(names) != rows:
        raise BadInputError(f"subvolumes.class has {len(names)} values; allowed: one a subvolume, {rows}")
    for name in names:
        if name not in (HEAVY, MODERATE, LIGHT):
            raise BadInputError(
                f"subvolumes.class holds {shown(name)}; allowed: {HEAVY}, {MODERATE}, {LIGHT}"
            )
    return np.array([name == HEAVY for name in names], dtype=np.bool_).reshape(-1)


def read_placement(current: Sequence[Sequence[int]], number_of: Mapping[int, int], heavy: Bools) -> Placement:
    """The current ranks as the planner's rank numbers."""
    single = np.array(
        [number_of.get(own[0], GONE) if len(own) == 1 else SEVERAL for own in current], dtype=np.int64
    ).reshape(-1)
    single[heavy] = SEVERAL
    several = {
        i: tuple(number_of.get(r, GONE) for r in current[i])
        for i in np.flatnonzero(single == SEVERAL).tolist()
    }
    return Placement(single, several)


def read_closed(args: Args, usable: Sequence[int]) -> frozenset[int]:
    """The saturated ranks among the usable ones, as the planner's rank numbers; none where all are."""
    full = rank_list(required(args, "saturated"), "saturated")
    closed = frozenset(at for at, rank in enumerate(usable) if rank in full)
    return closed if len(closed) < len(usable) else frozenset()


def read_rank(value: Json, name: str, number_of: Mapping[int, int]) -> int:
    """A rank's number; GONE for null and for one that does not exist."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise BadInputError(f"{name} holds {shown(value)}; allowed: null or a rank")
    return GONE if value is None else number_of.get(value, GONE)


def read_family(value: Json, name: str, number_of: Mapping[int, int]) -> Children:
    """One heavy subvolume's children."""
    if not isinstance(value, dict):
        raise BadInputError(f"{name} is {shown(value)}; allowed: an object with {', '.join(FAMILY)}")
    check_names(value, FAMILY)
    weights = amounts(required(value, "weights"), f"{name}.weights")
    current = array(required(value, "current"), f"{name}.current")
    if len(current) != weights.size:
        raise BadInputError(f"{name}.current has {len(current)} values; allowed: {weights.size}, one a child")
    if weights.size and not weights.sum() > 0.0:
        raise BadInputError(f"{name}.weights are all 0; allowed: at least one above 0")
    staying = number(value, "staying")
    if staying > 1.0 or (weights.size and staying == 1.0):
        raise BadInputError(f"{name}.staying is {staying:g}; allowed: 0 to 1, below 1 with children")
    hottest = number(value, "hottest") if "hottest" in value else 0.0
    if hottest > 1.0:
        raise BadInputError(f"{name}.hottest is {hottest:g}; allowed: 0 to 1")
    listed = value.get("fragments")
    fragments = None
    if listed is not None:
        fragments = tuple(
            read_rank(r, f"{name}.fragments", number_of) for r in array(listed, f"{name}.fragments")
        )
    return Children(
        weights=weights,
        hottest=hottest,
        current=np.array([read_rank(r, f"{name}.current", number_of) for r in current], dtype=np.int64),
        staying=staying,
        parent=read_rank(value.get("parent"), f"{name}.parent", number_of),
        fragments=fragments,
        scattered=value.get("scattered") is True,
    )


def read_children(table: Args, rows: int, number_of: Mapping[int, int]) -> dict[int, Children]:
    for key in table:
        if not key.isascii() or not key.isdigit() or int(key) >= rows:
            raise BadInputError(
                f"children holds {shown(key)}; allowed: indices of subvolumes, 0 to {rows - 1}"
            )
    return {int(key): read_family(value, f"children.{key}", number_of) for key, value in table.items()}


def read_plan(args: Args) -> PlanRequest:
    """All arguments of `plan`."""
    check_names(args, NAMES)
    usable, ranks = read_ranks(args)
    number_of = {rank: at for at, rank in enumerate(ranks)}
    table = mapping(args, "subvolumes")
    check_names(table, (*COLUMNS, "class", "current", "fixed"))
    wss, reqs, rentries, held = columns(table, COLUMNS, "subvolumes")
    current = rank_sets(required(table, "current"), "subvolumes.current", wss.size)
    fixed = read_fixed(required(table, "fixed"), wss.size)
    capacity, smoothness = number_or_none(args, "capacity"), number(args, "smoothness", above=True)
    away = [code is not None and not set(own) & set(usable) for code, own in zip(fixed, current)]
    left = room(len(usable), capacity, float(reqs[~np.array(away, dtype=np.bool_)].sum()))
    work = asked(workload(wss, reqs, rentries), reqs, held, left)
    stays = np.array([code is not None for code in fixed], dtype=np.bool_).reshape(-1)
    heavy = read_heavy(required(table, "class"), wss.size) & ~stays
    children = read_children(mapping(args, "children"), wss.size, number_of)
    mask = ranks_or_none(args, "current_mask")
    instance = Instance(
        usable=len(usable),
        ranks=len(ranks),
        w=work.points,
        q=work.by_requests,
        s=wss,
        fixed=stays,
        heavy=heavy,
        current=read_placement(current, number_of, heavy),
        mode=choice(args, "heavy_mode", MODES),
        mask=tuple(number_of.get(r, GONE) for r in mask) if mask else None,
        children={i: child.pieces for i, child in children.items()},
        cache=number(args, "cache_inodes", above=True),
        min_gain=number(args, "min_gain"),
        closed=read_closed(args, usable),
    )
    threshold = number(args, "threshold")
    return PlanRequest(ranks, instance, reqs, current, fixed, children, capacity, smoothness, threshold)
