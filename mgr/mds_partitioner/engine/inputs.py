# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reading a request's arguments: each getter returns a checked value or raises BadInputError."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

import numpy as np

from .arrays import Bools, Floats
from .bad_input import BadInputError

LITTLE = 0.1  # inodes/s for each req/s
Json = object
Args = Mapping[str, Json]


def shown(value: Json) -> str:
    """The value as an error message quotes it, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def check_names(args: Args, allowed: Collection[str]) -> None:
    """Refuse arguments nobody reads: a misspelt one would otherwise be ignored in silence."""
    unknown = sorted(set(args) - set(allowed))
    if unknown:
        raise BadInputError(f"unknown argument {shown(unknown[0])}; allowed: {', '.join(sorted(allowed))}")


def required(args: Args, name: str) -> Json:
    if name not in args:
        raise BadInputError(f"{name} is missing")
    return args[name]


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


def number(args: Args, name: str, low: float = 0.0, above: bool = False) -> float:
    """A finite number >= low (> low when above)."""
    value = required(args, name)
    if isinstance(value, (int, float)) and is_number(value) and (value > low if above else value >= low):
        return float(value)
    raise BadInputError(f"{name} is {shown(value)}; allowed: a number {'above' if above else 'from'} {low:g}")


def number_or_none(args: Args, name: str) -> float | None:
    """null or a finite number > 0."""
    return None if required(args, name) is None else number(args, name, above=True)


def choice(args: Args, name: str, allowed: Sequence[str]) -> str:
    value = required(args, name)
    if isinstance(value, str) and value in allowed:
        return value
    raise BadInputError(f"{name} is {shown(value)}; allowed: {', '.join(allowed)}")


def mapping(args: Args, name: str) -> Args:
    value = required(args, name)
    if isinstance(value, dict):
        return value
    raise BadInputError(f"{name} is {shown(value)}; allowed: an object")


def array(value: Json, name: str) -> list[Json]:
    if isinstance(value, list):
        return value
    raise BadInputError(f"{name} is {shown(value)}; allowed: a list")


def rank_list(value: Json, name: str) -> list[int]:
    """Distinct ranks: whole numbers from 0."""
    ranks = array(value, name)
    good = [r for r in ranks if isinstance(r, int) and not isinstance(r, bool) and r >= 0]
    if len(good) != len(ranks) or len(set(good)) != len(good):
        raise BadInputError(f"{name} is {shown(value)}; allowed: distinct ranks, whole numbers from 0")
    return good


def some_ranks(args: Args, name: str) -> list[int]:
    ranks = rank_list(required(args, name), name)
    if not ranks:
        raise BadInputError(f"{name} is []; allowed: at least one rank")
    return ranks


def ranks_or_none(args: Args, name: str) -> list[int] | None:
    value = required(args, name)
    return None if value is None else rank_list(value, name)


def amounts(value: Json, name: str) -> Floats:
    """A vector of finite numbers from 0; the message of a bad one names its position."""
    items = array(value, name)
    try:
        vector = np.asarray(items) if items else np.zeros(0)
    except ValueError:
        vector = np.asarray(["ragged"])
    if vector.ndim == 1 and vector.dtype.kind in "iuf":
        vector = vector.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(vector) | (vector < 0))
        if not bad.size:
            return vector
        at = int(bad[0])
    else:
        at = next((i for i, item in enumerate(items) if not is_number(item)), 0)
    raise BadInputError(f"{name}[{at}] is {shown(items[at])}; allowed: a finite number from 0")


def amounts_or_none(value: Json, name: str) -> Floats:
    """As ``amounts``; null where a number is not known, NaN in the vector."""
    items = array(value, name)
    known = amounts([0.0 if item is None else item for item in items], name)
    known[[item is None for item in items]] = np.nan
    return known


def series(value: Json, name: str, rows: int) -> Floats:
    """A table (rows, epochs) of finite numbers from 0, at least one epoch, the rows of one length."""
    table = array(value, name)
    if len(table) != rows:
        raise BadInputError(f"{name} has {len(table)} rows; allowed: one a rank, {rows}")
    vectors = [amounts(row, f"{name}[{i}]") for i, row in enumerate(table)]
    lengths = {v.size for v in vectors}
    if len(lengths) != 1 or lengths == {0}:
        raise BadInputError(
            f"{name} has rows of {shown(sorted(lengths))} epochs; allowed: one length, at least 1"
        )
    return np.vstack(vectors)


def rank_series(args: Args) -> tuple[list[int], Floats, Floats, Floats]:
    """The ranks, and their loads (req/s), latency (s) and fetches (1/s): (ranks, epochs) each."""
    ranks = some_ranks(args, "ranks")
    loads = series(required(args, "loads"), "loads", len(ranks))
    latency, fetches = (of_epochs(args, name, loads) for name in ("latency", "fetches"))
    return ranks, loads, latency, fetches


def work_of(args: Args, loads: Floats) -> Floats | None:
    """``work``, of the same shape as the loads; None where it is not told: all requests take as long."""
    return of_epochs(args, "work", loads) if "work" in args else None


def served_of(args: Args, loads: Floats) -> Floats:
    """``served``, req/s, of the same shape as the loads, 0 where a rank had not told it; the loads where it
    is not there: nothing was filled in."""
    return of_epochs(args, "served", loads) if "served" in args else loads


def of_epochs(args: Args, name: str, loads: Floats) -> Floats:
    """A table of the same ranks and epochs as the loads, (ranks, epochs).

    :raises BadInputError: it is missing, or of another shape
    """
    table = series(required(args, name), name, loads.shape[0])
    if table.shape != loads.shape:
        raise BadInputError(f"{name} has {table.shape[1]} epochs; allowed: {loads.shape[1]}, as loads")
    return table


def undisturbed(args: Args, loads: Floats) -> Bools:
    """(ranks, epochs): little was exported or imported (``moved``, inodes/s). What a rank serves meanwhile is
    not all that it can."""
    moved = of_epochs(args, "moved", loads)
    return np.asarray(moved <= LITTLE * loads)


def rank_sets(value: Json, name: str, rows: int) -> list[list[int]]:
    """One list of ranks a row (rows of them), possibly empty."""
    sets = array(value, name)
    if len(sets) != rows:
        raise BadInputError(f"{name} has {len(sets)} rows; allowed: one a subvolume, {rows}")
    lists = [s for s in sets if isinstance(s, list)]
    if len(lists) == rows and set(map(type, chain.from_iterable(lists))) <= {int}:
        return lists
    at = next(i for i, s in enumerate(sets) if not isinstance(s, list) or not set(map(type, s)) <= {int})
    raise BadInputError(f"{name}[{at}] is {shown(sets[at])}; allowed: a list of ranks")


def columns(table: Args, names: Sequence[str], where: str) -> list[Floats]:
    """The named vectors of a columnar table, all of the first one's length."""
    vectors = [amounts(required(table, name), f"{where}.{name}") for name in names]
    for name, vector in zip(names, vectors):
        if vector.size != vectors[0].size:
            raise BadInputError(
                f"{where}.{name} has {vector.size} values; allowed: {vectors[0].size}, as {where}.{names[0]}"
            )
    return vectors
