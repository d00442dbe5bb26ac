# SPDX-License-Identifier: LGPL-2.1-or-later
"""Popularity of directories on a rank (``dump loads``), for sessions mounted above them."""

from collections.abc import Collection, Mapping
from typing import Any

# Weights of IRD, IWR, READDIR, FETCH, STORE in dirfrag_load_vec_t::meta_load (src/mds/mdstypes.h).
WEIGHTS = (1.0, 2.0, 1.0, 2.0, 4.0)


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
