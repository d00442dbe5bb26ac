# SPDX-License-Identifier: LGPL-2.1-or-later
"""Popularity of directories on a rank (``dump loads``): whose the rank's requests are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .subtrees import ancestors

# Weights of IRD, IWR, READDIR, FETCH, STORE in dirfrag_load_vec_t::meta_load (src/mds/mdstypes.h).
WEIGHTS = (1.0, 2.0, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Heat:
    """Popularity on one rank, as ``meta_load``.

    :ivar total: of all that the rank is the authority of
    :ivar of: by path; a subtree of its own below a directory does not count for it
    """

    total: float = 0.0
    of: Mapping[str, float] = field(default_factory=dict)


def depth(paths: Collection[str]) -> int:
    """Levels of directories from the root down to the lowest of them."""
    return max((len(list(ancestors(path))) - 1 for path in paths), default=0)


def meta_load(counters: Mapping[str, Any]) -> float:
    """The MDS's own sum of a dirfrag's decaying counters."""
    values = (float(c["value"]) for c in counters["Decay Counters"])
    return sum(weight * value for weight, value in zip(WEIGHTS, values, strict=False))


def parse_heat(answer: Mapping[str, Any], directories: Collection[str]) -> dict[str, float]:
    """Heat, on this rank, of those of ``directories`` it has in cache; fragments of one are summed."""
    heat: dict[str, float] = {}
    for dirfrag in answer["dirfrags"]:
        path = str(dirfrag["path"])
        if path in directories:
            heat[path] = heat.get(path, 0.0) + meta_load(dirfrag["pop_auth_subtree"])
    return heat


def rank_heat(answer: Mapping[str, Any], directories: Collection[str]) -> Heat:
    """All of ``dump loads`` that the scheduler needs. MDBalancer::hit_dir adds each hit to the nested counter
    of every ancestor, so the root's is that of the whole rank."""
    roots = (d["pop_auth_subtree_nested"] for d in answer["dirfrags"] if str(d["path"]) in ("", "/"))
    return Heat(sum(map(meta_load, roots)), parse_heat(answer, directories))
