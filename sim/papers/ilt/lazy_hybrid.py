# SPDX-License-Identifier: LGPL-2.1-or-later
"""LH3, Lazy Hybrid as the paper has it (2): hashed, hierarchy kept; a global log says what is yet to move."""

from sim.papers.ilt.cluster import Cluster
from sim.papers.ilt.hashed import Placement
from sim.papers.ilt.server import Server, Work
from sim.papers.ilt.workload import Kind, Request


class LazyHybrid:
    """A rename is a log record on every server; metadata moves when it is first asked for."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.placement = Placement(cluster)
        self._moving: set[int] = set()

    def handle(self, request: Request) -> Work:
        cluster = self._cluster
        if request.kind is Kind.RENAME:
            yield from self._log_rename(request.target)
        elif request.kind is Kind.CREATE:
            yield from self._create(request.target)
        else:
            yield from self._file(request)
        yield cluster.hop()

    def _log_rename(self, directory: int) -> Work:
        cluster = self._cluster
        yield from self.placement.home_of_directory(directory).serve(cluster.times.update())
        yield cluster.hop()
        yield cluster.everywhere(cluster.times.store)
        cluster.namespace.rename(directory)

    def _create(self, directory: int) -> Work:
        """The file's metadata where its hash says, and an entry in its directory, which is elsewhere."""
        cluster = self._cluster
        file = cluster.namespace.create(directory)
        self.placement.add(file)
        servers = (cluster.servers[self.placement.where(file)], self.placement.home_of_directory(directory))
        yield cluster.env.all_of(
            [cluster.env.process(server.serve(cluster.times.update())) for server in servers]
        )

    def _file(self, request: Request) -> Work:
        """Asked where the hash says; sent on to whoever has it, who answers, and moves it the first time."""
        cluster, file = self._cluster, request.target
        cost = cluster.times.update if request.kind is Kind.WRITE else cluster.times.lookup
        server = cluster.servers[self.placement.home(file)]
        answered = False
        while not answered:
            here = file in server.held
            yield from server.serve(cost() if here else cluster.times.search())
            # It may have come, or gone, while this request waited.
            answered = here and file in server.held
            if file not in server.held:
                cluster.counts.forwards += 1
                yield cluster.hop()
                server = cluster.servers[self.placement.where(file)]
        if request.kind is Kind.READ and cluster.reads_write_access_time():
            cluster.env.process(server.serve(cluster.times.update()))
        if file not in self._moving and self.placement.where(file) != self.placement.home(file):
            self._moving.add(file)
            cluster.env.process(self._moved(file))

    def _moved(self, file: int) -> Work:
        """From the holder, which has just looked it up, to where the hash says now."""
        cluster = self._cluster
        yield cluster.hop()
        target = self.placement.home(file)
        yield from cluster.servers[target].serve(cluster.times.store())
        self.placement.moved(file, target)
        self._moving.remove(file)

    def add_server(self) -> Work:
        """Another number of servers is another hash: one more thing that the log tells."""
        cluster = self._cluster
        cluster.servers.append(Server(cluster.env))
        yield cluster.everywhere(cluster.times.store)
