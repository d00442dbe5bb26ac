# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who decides what moves. A file each, all by one interface (base.py)."""

from collections.abc import Mapping

from sim.errors import SimError
from sim.papers.ilt.ilt_policy import ContentBased
from sim.papers.ilt.lazy_hybrid_policy import LazyHybrid
from sim.papers.ilt.vesta_policy import Vesta
from sim.papers.line.masked_policy import LineMasked
from sim.papers.line.static_policy import LineStatic
from sim.papers.lunule.balancers import LunuleLight, LunulePaper
from sim.papers.lunule.vanilla import Vanilla
from sim.papers.tpps.hash_policy import ByHash
from sim.papers.tpps.parc_policy import ParcLayer
from sim.papers.tpps.subtree_policy import BySubtree
from sim.policies.base import Context, Policy
from sim.policies.builtin import BuiltIn
from sim.policies.ephemeral import Ephemeral
from sim.policies.mantle import GreedySpill, Lunule
from sim.policies.nothing import Nothing
from sim.policies.oracle import Oracle
from sim.policies.plan import Plan
from sim.policies.scheduler import Schedule

POLICIES: Mapping[str, type[Policy]] = {
    p.name: p
    for p in (
        *(Nothing, BuiltIn, Ephemeral, GreedySpill, Lunule, Plan, Schedule, Oracle),
        *(Vanilla, LunuleLight, LunulePaper),
        *(LineStatic, LineMasked),
        *(ContentBased, Vesta, LazyHybrid),
        *(BySubtree, ByHash, ParcLayer),
    )
}


def make(name: str, context: Context) -> Policy:
    """A policy at the begin of a run. :raises SimError: there is none of that name"""
    if name not in POLICIES:
        raise SimError(f"'{name}' is no policy; allowed: {', '.join(POLICIES)}")
    return POLICIES[name](context)
