# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler finds out of directories that come and go, as schedule/catalogue.py does."""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from mds_partitioner.ceph.filesystem import FileSystem
from mds_partitioner.observe.turnover import Turnover
from mds_partitioner.plan.circumstances import Circumstances
from mds_partitioner.plan.families import lasting
from mds_partitioner.schedule.catalogue import Known
from mds_partitioner.schedule.core.view import Decision, View
from mds_partitioner.schedule.fragments import Fragments, fragments
from mds_partitioner.schedule.insides import several
from mds_partitioner.schedule.owned import Owned
from sim.model.cluster import Cluster
from sim.model.namespace import DISTRIBUTED_FACTOR
from sim.policies.manager import fs_state
from sim.policies.mount import WALL, Mount

EPOCH = 10.0  # s between two listings


class Nursery:
    """Looks at the busiest directories, once an epoch."""

    def __init__(self) -> None:
        self._turnover, self._listed = Turnover(), -EPOCH
        self._found: dict[int, Fragments] = {}
        self._ours: dict[int, str] = {}
        self._outlived: Mapping[int, Collection[int]] = {}

    def look(self, cluster: Cluster, seen: View, split: Collection[int]) -> None:
        """List the busiest directories, once an epoch. split: inode numbers of what is seen as its parts"""
        if cluster.now < self._listed + EPOCH:
            return
        self._listed = cluster.now
        fs, mount = fs_state(cluster, None), cast(FileSystem, Mount(cluster.names))
        busy = sorted((p for p in seen.pieces if p.requests > 0.0), key=lambda p: -p.requests)
        busiest = busy[: len(fs.ranks_in)]
        self._turnover.look(mount, [piece.path for piece in busiest])
        self._outlived = self._turnover.outlived()
        owned = Owned(distributed=self._ours)
        c: Circumstances = Known().circumstances(fs, owned, DISTRIBUTED_FACTOR)
        for piece in busiest:
            self._found.pop(piece.ino, None)
            passing = self._turnover.within(piece.path, split=piece.ino in split)
            found = fragments(mount, piece.path, c, passing, split=piece.ino in split) if passing else None
            if found is not None:
                self._found[piece.ino] = found

    def lasting(self, cluster: Cluster, directory: int, kids: Sequence[int]) -> int:
        """About how many of a directory's children last; 0 where most do not."""
        names, outlived = cluster.names, self._outlived
        old = {kid for kids in outlived.values() for kid in kids}
        lasts = lasting(outlived, WALL, WALL + cluster.now, old)
        born, ino = WALL + float(names.born[directory]), names.ino(directory)

        def stays(kid: int) -> bool:
            return lasts(WALL + float(names.born[kid]), born, ino, names.ino(kid))

        if ino not in outlived:
            return several(kids, stays)
        last = several([kid for kid in kids if names.ino(kid) in outlived[ino]], stays)
        return last + 1 if last else 0

    def scatters(self, ino: int, rank: int | None) -> tuple[int, ...]:
        """Piece.scatters."""
        return () if rank is None or ino not in self._found else self._found[ino].parts(rank)

    def distribute(self, cluster: Cluster, decision: Decision) -> tuple[tuple[int, bool], ...]:
        """Orders.distribute."""
        found = []
        for scatter in decision.scatter:
            at = self._found[scatter.ino]
            directory = Mount(cluster.names).by_ino(at.ino)
            assert directory is not None
            self._ours[at.ino] = "1"
            found.append((directory, True))
        return tuple(found)
