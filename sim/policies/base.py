# SPDX-License-Identifier: LGPL-2.1-or-later
"""What policies have in common: asked now and then, they look at the cluster and answer with orders."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mds_partitioner.options import MODULE_OPTIONS, Settings
from sim.load.clients import Clients
from sim.model.cluster import Cluster
from sim.model.migrator import Order
from sim.model.trips import Trips


@dataclass(frozen=True)
class Pin:
    """``ceph.dir.pin`` of a directory; rank -1 takes it away."""

    directory: int
    rank: int
    why: str


@dataclass(frozen=True)
class Orders:
    """What a policy wants done now.

    :ivar exports: by the MDSs' balancers
    :ivar deciding: ranks whose balancer has decided: what they ordered before and have not begun is void
    :ivar places: at once and for nothing, which only an oracle may
    :ivar distribute: directories to be pinned with ceph.dir.pin.distributed, or not any more
    :ivar trips: of a service that is not Ceph's: who answers what from now on; None: as it is
    :ivar to_auth: mds_forward_all_requests_to_auth; None: as it is
    :ivar direct: clients know who answers from now on, which only an oracle may bring about
    :ivar said: for people: what was decided and why
    """

    exports: tuple[Order, ...] = ()
    deciding: tuple[int, ...] = ()
    pins: tuple[Pin, ...] = ()
    distribute: tuple[tuple[int, bool], ...] = ()
    places: tuple[Order, ...] = ()
    trips: Trips | None = None
    to_auth: bool | None = None
    direct: bool = False
    said: tuple[str, ...] = ()


NOTHING = Orders()


@dataclass(frozen=True)
class Context:
    """What a policy knows before a run.

    :ivar clients: all there will ever be: for an oracle only
    :ivar mask: ranks that an operator left for balancing; None: all
    :ivar settings: of the manager's module
    :ivar extra: what the scenario says to this policy alone
    """

    clients: tuple[Clients, ...]
    seed: int
    mask: tuple[int, ...] | None
    settings: Settings
    extra: Mapping[str, Any] = field(default_factory=dict)


class Policy(ABC):
    """One run's decisions."""

    name: ClassVar[str]
    cluster: ClassVar[type[Cluster]] = Cluster
    """What it decides about."""
    every: float = 10.0
    """s between two decisions."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @abstractmethod
    def decide(self, cluster: Cluster) -> Orders:
        """Look, and say what is to be done. The cluster is not changed."""


DEFAULTS = Settings(**{option["name"]: option["default"] for option in MODULE_OPTIONS})
