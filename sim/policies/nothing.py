# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nothing is moved."""

from sim.model.cluster import Cluster
from sim.policies.base import NOTHING, Orders, Policy


class Nothing(Policy):
    """What is there stays there."""

    name = "nothing"

    def decide(self, cluster: Cluster) -> Orders:
        """Never anything."""
        return NOTHING
