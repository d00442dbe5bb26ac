# SPDX-License-Identifier: LGPL-2.1-or-later
"""What to measure."""

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.common.workloads.base import Workload

# 1: the balancer was switched on while clients worked; 2: before they begin; 3: a reference load is beside.
PROTOCOL = 3


@dataclass(frozen=True)
class Cluster:
    """What cells that share a cluster have in common."""

    workload: Workload
    release: str
    ranks: int
    mds_cpu: int  # % of a core, each MDS
    hook: bool = False  # MDSs built from mds/
    standby: int = 0  # MDSs that become ranks during the run
    quotas: tuple[int, ...] = ()  # % of a core, rank by rank; none: mds_cpu each

    @property
    def name(self) -> str:
        """Beginning of the cells' file names."""
        mds = f"{self.release}-hook" if self.hook else self.release
        quota = "-".join(map(str, self.quotas)) or self.mds_cpu
        return f"{self.workload.name}-{mds}-{self.ranks}x{quota}"

    @property
    def shares(self) -> tuple[float, ...]:
        """What each rank has of the mean rank's CPU."""
        mean = sum(self.quotas) / self.ranks
        return tuple(quota / mean for quota in self.quotas) or (1.0,) * self.ranks


def rotated(names: Sequence[str], run: int) -> list[str]:
    """In each block the next balancer is first, so that none is always before another."""
    first = (run - 1) % len(names) if names else 0
    return [*names[first:], *names[:first]]


@dataclass(frozen=True)
class Order:
    """One cell."""

    cluster: Cluster
    balancer: str
    run: int
    seconds: float = 75.0  # a phase, of clients that do not end; those that do may take twice as long
    settled: float = 0.0  # s that the balancer has the load for before the clock starts; 0: from cold

    @property
    def key(self) -> str:
        """File name of its result."""
        condition = "-settled" if self.settled else ""
        return f"{self.cluster.name}{condition}-{self.balancer}-{self.run}"

    @property
    def limit(self) -> float:
        """Seconds after which the clients are stopped."""
        return 2 * self.seconds if self.cluster.workload.ends else self.seconds
