# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who decides what moves. A file each, all by one interface (base.py)."""

from collections.abc import Mapping

from sim.errors import SimError
from sim.policies.base import Context, Policy
from sim.policies.builtin import BuiltIn
from sim.policies.ephemeral import Ephemeral
from sim.policies.mantle import GreedySpill, Lunule
from sim.policies.nothing import Nothing
from sim.policies.oracle import Oracle
from sim.policies.plan import Plan

POLICIES: Mapping[str, type[Policy]] = {
    p.name: p for p in (Nothing, BuiltIn, Ephemeral, GreedySpill, Lunule, Plan, Oracle)
}


def make(name: str, context: Context) -> Policy:
    """A policy at the begin of a run. :raises SimError: there is none of that name"""
    if name not in POLICIES:
        raise SimError(f"'{name}' is no policy; allowed: {', '.join(POLICIES)}")
    return POLICIES[name](context)
