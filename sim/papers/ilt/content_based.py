# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's own system (3): a dispatcher with the Indirect Lookup Table, metadata replicated everywhere."""

import simpy

from mds_partitioner.schedule.core.lookup_table import LookupTable, adjust
from sim.papers.ilt.cluster import Cluster
from sim.papers.ilt.server import Server, Work
from sim.papers.ilt.workload import Kind, Request


class ContentBased:
    """One server answers a read; every server does every write."""

    def __init__(self, cluster: Cluster) -> None:
        design = cluster.setting.design
        self._cluster = cluster
        self._dispatcher = simpy.Resource(cluster.env, capacity=1)
        self._table = LookupTable.round_robin(design.entries, design.servers)
        if design.adjust_every is not None:
            cluster.env.process(self._adjustment(design.adjust_every))

    def handle(self, request: Request) -> Work:
        yield from self._dispatch()
        if request.kind is Kind.READ:
            yield from self._read(request.target)
        else:
            yield self._cluster.everywhere(lambda: self._cluster.times.update() + self._below(request))
            self._apply(request)
        yield self._cluster.hop()

    def _dispatch(self) -> Work:
        rate = self._cluster.setting.design.dispatcher_rate
        if rate is not None:
            with self._dispatcher.request() as turn:
                yield turn
                yield self._cluster.env.timeout(self._cluster.rng.expovariate(rate))

    def _owner(self, file: int) -> int:
        owners = self._table.owners
        return owners[self._cluster.namespace.file_hash(file) % len(owners)]

    def _read(self, file: int) -> Work:
        cluster = self._cluster
        server = cluster.servers[self._owner(file)]
        yield from server.serve(cluster.times.lookup())
        if cluster.reads_write_access_time():
            cluster.everywhere(cluster.times.update)  # a second step, which the client does not wait for

    def _below(self, request: Request) -> float:
        """What a rename costs a replica beyond the directory itself, in ms (3.2: all below is rearranged)."""
        cluster = self._cluster
        if request.kind is not Kind.RENAME or not cluster.setting.design.rename_by_item:
            return 0.0
        return sum(cluster.times.search() for _ in cluster.namespace.below(request.target))

    def _apply(self, request: Request) -> None:
        if request.kind is Kind.RENAME:
            self._cluster.namespace.rename(request.target)
        elif request.kind is Kind.CREATE:
            self._cluster.namespace.create(request.target)

    def _adjustment(self, every: float) -> Work:
        """3.3: servers report how many requests waited, the dispatcher adjusts the table and hands it out."""
        cluster = self._cluster
        before = {server: server.waited() for server in cluster.servers}
        while True:
            yield cluster.env.timeout(every)
            now = {server: server.waited() for server in cluster.servers}
            moves = adjust(self._table, [(now[each] - before.get(each, now[each])) / every for each in now])
            self._table = self._table.moved(moves)
            cluster.counts.entries_moved += len(moves)
            before = now

    def add_server(self) -> Work:
        """Every server sends its entries' metadata to the newcomer, one after the other.

        It takes part when it has all: from then on it writes, and gets entries by the adjustment.
        """
        cluster = self._cluster
        newcomer = Server(cluster.env)
        parts: list[list[int]] = [[] for _ in cluster.servers]
        for file in range(cluster.namespace.files):
            parts[self._owner(file)].append(file)
        yield cluster.env.all_of(
            [
                cluster.env.process(self._copied(len(part), source, newcomer))
                for source, part in zip(cluster.servers, parts, strict=True)
            ]
        )
        cluster.servers.append(newcomer)

    def _copied(self, count: int, source: Server, target: Server) -> Work:
        cluster = self._cluster
        for _ in range(count):
            yield from source.serve(cluster.times.lookup())
            yield cluster.hop()
            yield from target.serve(cluster.times.store())
            cluster.counts.metadata_moved += 1
