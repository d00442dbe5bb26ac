# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the three systems have in common: servers, a network, a namespace, and what is counted."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol

import simpy

from sim.papers.ilt.namespace import Namespace
from sim.papers.ilt.parameters import Setting
from sim.papers.ilt.server import Server, ServiceTimes, Work
from sim.papers.ilt.workload import Request


@dataclass
class Counts:
    """What a run has cost so far."""

    forwards: int = 0
    metadata_moved: int = 0
    entries_moved: int = 0


class Cluster:
    """Servers, and what happens between them."""

    def __init__(self, env: simpy.Environment, setting: Setting, namespace: Namespace) -> None:
        self.env = env
        self.setting = setting
        self.namespace = namespace
        self.rng = Random(setting.seed)
        self.times = ServiceTimes(setting.costs, setting.design, self.rng)
        self.servers = [Server(env, setting.design.first_server_speed)]
        self.servers += [Server(env) for _ in range(1, setting.design.servers)]
        self.counts = Counts()

    def hop(self) -> simpy.Event:
        """One metadata over the network."""
        return self.env.timeout(self.setting.costs.network)

    def everywhere(self, ms: Callable[[], float]) -> simpy.Event:
        """Each server does it, each in its own time; the event is when the last has."""
        return self.env.all_of([self.env.process(server.serve(ms())) for server in self.servers])

    def reads_write_access_time(self) -> bool:
        """Whether this read is one that must."""
        return self.rng.random() < self.setting.design.access_time_updates


class System(Protocol):
    """A metadata service of the paper."""

    def handle(self, request: Request) -> Work:
        """From the client's call to its answer."""
        ...

    def add_server(self) -> Work:
        """One more server, until it has its part."""
        ...
