# SPDX-License-Identifier: LGPL-2.1-or-later
"""Metadata placed by the hash of the full path: what Vesta and LH3 share."""

from sim.papers.ilt.cluster import Cluster
from sim.papers.ilt.server import Server


class Placement:
    """Where metadata should be, and where it is."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._where: list[int] = []
        for _ in range(cluster.namespace.files):
            self.add(len(self._where))

    def home(self, file: int) -> int:
        """The server that the hash names."""
        return self._cluster.namespace.file_hash(file) % len(self._cluster.servers)

    def home_of_directory(self, directory: int) -> Server:
        servers = self._cluster.servers
        return servers[self._cluster.namespace.directory_hash(directory) % len(servers)]

    def where(self, file: int) -> int:
        """The server that has it."""
        return self._where[file]

    def add(self, file: int) -> None:
        """A new one, where its hash says."""
        self._where.append(self.home(file))
        self._cluster.servers[self._where[file]].held.add(file)

    def moved(self, file: int, target: int) -> None:
        """It is stored at the target, and no longer where it was. KeyError when it was not there."""
        servers = self._cluster.servers
        servers[self._where[file]].held.remove(file)
        servers[target].held.add(file)
        self._where[file] = target
        self._cluster.counts.metadata_moved += 1
