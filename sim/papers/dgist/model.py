# SPDX-License-Identifier: LGPL-2.1-or-later
"""Service times of one MDS: create and the way to the OSD, stat and who may cache (Kim, DGIST 2021)."""

import enum
from dataclasses import dataclass

import numpy as np

from sim.closed_network import steady
from sim.model.arrays import Floats
from sim.papers.dgist.setting import Setting


@dataclass(frozen=True)
class Cluster:
    """Round trips, s: of a client to the MDS, of the MDS to the OSD, of the OSD to its replicas."""

    client: float
    osd: float
    replicas: float


def clusters(setting: Setting) -> dict[str, Cluster]:
    """Figure IV.1; and C as the thesis reads it: the way to the OSD is shorter, the client's is not."""
    return {
        "A": Cluster(setting.slow, setting.slow, setting.fast),
        "B": Cluster(setting.slow, setting.slow, 0.0),
        "C": Cluster(setting.fast, setting.local, 0.0),
        "C, the client's way as before": Cluster(setting.slow, setting.local, 0.0),
    }


class Reply(enum.Enum):
    """When the MDS answers a create. EARLY: before its journal is written (Ceph: `mds_early_reply`)."""

    EARLY = "early"
    DURABLE = "durable"


def creates(setting: Setting, cluster: Cluster, reply: Reply, processes: int) -> float:
    """op/s of ``processes`` that create one file after the other. The MDS works on one request at a time."""
    journal = cluster.osd + setting.write + cluster.replicas if reply is Reply.DURABLE else 0.0
    return float(steady(np.array([setting.create]), processes, cluster.client + journal).throughput)


def needed_round_trip(setting: Setting, reply: Reply, gain: float) -> float:
    """How long ``slow`` must be, s, for C to have ``gain`` times B's creates, by one process."""
    if reply is Reply.EARLY:
        return gain * (setting.fast + setting.create) - setting.create
    rest = setting.write + setting.create
    return (gain * (setting.fast + setting.local + rest) - rest) / 2.0


class Sharing(enum.Enum):
    """What a stat costs in a directory that others use, too."""

    SHARED = "all may cache (Ceph's locks, for those who only read)"
    ASKED = "nobody may cache: each stat asks the MDS"
    REVOKED = "one may cache: each stat by another revokes it first (the thesis)"


def stats(setting: Setting, sharing: Sharing, clients: int) -> float:
    """op/s of all clients in one directory. One client alone always answers from its cache."""
    processes = clients * setting.processes
    others = (clients - 1) / clients
    if clients == 1 or sharing is Sharing.SHARED:
        return processes / setting.cached
    if sharing is Sharing.ASKED:
        return _asked(np.array([setting.look_up]), processes, setting.cached + setting.slow)
    # The directory is taken away from one client at a time: a round trip in which nobody else gets it.
    demands = others * np.array([setting.look_up + setting.revoke, setting.slow])
    return _asked(demands, processes, setting.cached + others * setting.slow)


def fullest_share(gain: float) -> float:
    """The fullest MDS's part of all requests, if more MDSs brought ``gain`` and nothing else limits."""
    return 1.0 / gain


def _asked(demands: Floats, processes: int, think: float) -> float:
    return float(steady(demands, processes, think).throughput)
