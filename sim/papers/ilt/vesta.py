# SPDX-License-Identifier: LGPL-2.1-or-later
"""Vesta as the paper has it (2): placed by the hash of the full path; a rename moves the metadata at once."""

from collections import defaultdict

import simpy

from sim.papers.ilt.cluster import Cluster
from sim.papers.ilt.hashed import Placement
from sim.papers.ilt.server import Server, Work
from sim.papers.ilt.workload import Kind, Request


class Vesta:
    """Requests for metadata that is being moved wait for it, at the server that will have it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.placement = Placement(cluster)
        self._moving: dict[int, simpy.Event] = {}

    def handle(self, request: Request) -> Work:
        if request.kind is Kind.RENAME:
            yield from self._rename(request.target)
        elif request.kind is Kind.CREATE:
            file = self._cluster.namespace.create(request.target)
            self.placement.add(file)
            yield from self._server(file).serve(self._cluster.times.update())
        else:
            yield from self._file(request)
        yield self._cluster.hop()

    def _server(self, file: int) -> Server:
        return self._cluster.servers[self.placement.home(file)]

    def _file(self, request: Request) -> Work:
        file, times = request.target, self._cluster.times
        while file in self._moving:
            with self._server(file).waiting():
                yield self._moving[file]
        server = self._server(file)
        if request.kind is Kind.WRITE:
            yield from server.serve(times.update())
        else:
            yield from server.serve(times.lookup())
            if self._cluster.reads_write_access_time():
                self._cluster.env.process(server.serve(times.update()))

    def _rename(self, directory: int) -> Work:
        yield from self.placement.home_of_directory(directory).serve(self._cluster.times.update())
        yield self._rehomed(self._cluster.namespace.rename(directory))

    def add_server(self) -> Work:
        self._cluster.servers.append(Server(self._cluster.env))
        yield self._rehomed(list(range(self._cluster.namespace.files)))

    def _rehomed(self, files: list[int]) -> simpy.Event:
        """Each server sends what has another home now, one by one; the event is when all is done."""
        env = self._cluster.env
        leaving: dict[int, list[int]] = defaultdict(list)
        for file in files:
            if file not in self._moving and self.placement.home(file) != self.placement.where(file):
                leaving[self.placement.where(file)].append(file)
                self._moving[file] = env.event()
        pending = [self._moving[file] for file in files if file in self._moving]
        for part in leaving.values():
            env.process(self._sent(part))
        return env.all_of(pending)

    def _sent(self, files: list[int]) -> Work:
        cluster = self._cluster
        for file in files:
            # The path may change again while its metadata is under way.
            while (target := self.placement.home(file)) != (source := self.placement.where(file)):
                yield from cluster.servers[source].serve(cluster.times.lookup())
                yield cluster.hop()
                yield from cluster.servers[target].serve(cluster.times.store())
                self.placement.moved(file, target)
            self._moving.pop(file).succeed()
