# SPDX-License-Identifier: LGPL-2.1-or-later
"""The arguments of the `plan` call, checked, and as the planner's problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats, Ints
from .bad_input import BadInputError
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
    rank_sets,
    ranks_or_none,
    required,
    shown,
    some_ranks,
)
from .names import HEAVY, LIGHT, MODERATE, MODES
from .placement.instance import GONE, SEVERAL, Instance, Placement
from .workload import workload

NAMES = (
    *("ranks", "all_ranks", "cache_inodes", "subvolumes", "heavy_mode", "children", "current_mask"),
    *("smoothness", "capacity", "threshold", "min_gain"),
)


@dataclass(frozen=True)
class Children:
    """rentries: (children,); current: (children,), rank number or GONE where it has none of its own."""

    rentries: Floats
    current: Ints


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


def read_children(table: Args, rows: int, number_of: Mapping[int, int]) -> dict[int, Children]:
    children = {}
    for key, value in table.items():
        name = f"children.{key}"
        if not key.isascii() or not key.isdigit() or int(key) >= rows:
            raise BadInputError(
                f"children holds {shown(key)}; allowed: indices of subvolumes, 0 to {rows - 1}"
            )
        if not isinstance(value, dict):
            raise BadInputError(f"{name} is {shown(value)}; allowed: an object with rentries and current")
        check_names(value, ("rentries", "current"))
        rentries = amounts(required(value, "rentries"), f"{name}.rentries")
        current = array(required(value, "current"), f"{name}.current")
        ranks = [r for r in current if r is None or (isinstance(r, int) and not isinstance(r, bool))]
        if len(ranks) != len(current) or len(ranks) != rentries.size:
            raise BadInputError(
                f"{name}.current is {shown(current)}; allowed: null or a rank, one a rentries"
            )
        numbers = [GONE if r is None else number_of.get(r, GONE) for r in ranks]
        children[int(key)] = Children(rentries, np.array(numbers, dtype=np.int64))
    return children


def read_plan(args: Args) -> PlanRequest:
    """All arguments of `plan`."""
    check_names(args, NAMES)
    usable, ranks = read_ranks(args)
    number_of = {rank: at for at, rank in enumerate(ranks)}
    table = mapping(args, "subvolumes")
    check_names(table, ("wss", "reqs", "rentries", "class", "current", "fixed"))
    wss, reqs, rentries = columns(table, ("wss", "reqs", "rentries"), "subvolumes")
    current = rank_sets(required(table, "current"), "subvolumes.current", wss.size)
    fixed = read_fixed(required(table, "fixed"), wss.size)
    work = workload(wss, reqs, rentries)
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
        children={i: child.rentries.size for i, child in children.items()},
        cache=number(args, "cache_inodes", above=True),
        min_gain=number(args, "min_gain"),
    )
    capacity, smoothness = number_or_none(args, "capacity"), number(args, "smoothness", above=True)
    threshold = number(args, "threshold")
    return PlanRequest(ranks, instance, reqs, current, fixed, children, capacity, smoothness, threshold)
