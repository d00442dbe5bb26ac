# SPDX-License-Identifier: LGPL-2.1-or-later
"""``ceph.dir.pin.distributed``, set once: where it puts things is computed as MDSs do (plan/ephemeral.py)."""

from sim.model.cluster import Cluster
from sim.model.tree import GROUP
from sim.policies.base import NOTHING, Context, Orders, Policy


class Ephemeral(Policy):
    """On the subvolumes' group, so that each subvolume is on one rank; or ``on = "subvolumes"``: on each of
    them, so that the directories in them are spread. Forwards are avoided as the plan's are."""

    name = "ephemeral"
    every = 1.0

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._done = False

    def decide(self, cluster: Cluster) -> Orders:
        """Once."""
        if self._done:
            return NOTHING
        self._done = True
        subvolumes = self.context.extra.get("on", "group") == "subvolumes"
        directories = cluster.tree.roots.tolist() if subvolumes else [GROUP]
        said = f"{len(directories)} directories distribute what is in them"
        return Orders(distribute=tuple((d, True) for d in directories), to_auth=True, said=(said,))
