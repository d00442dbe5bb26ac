# SPDX-License-Identifier: LGPL-2.1-or-later
"""The options of monitoring, and their values in force."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mgr_module import MgrModule, MgrStandbyModule
from mgr_util import get_default_addr

from ..options import configured, option, usable

# Beside ceph-exporter's 9926 and the prometheus module's 9283.
DEFAULT_PORT = 9927

METRICS = option("metrics", "bool", True, "serve metrics and the status page over HTTP")
ADDRESS = option("server_addr", "str", "", "address to listen on; empty: every address of the host")
PORT = option(
    *("server_port", "uint", DEFAULT_PORT, "TCP port to listen on; managers on one host need one each"),
    low=1,
    high=65535,
)
MONITOR_OPTIONS = [
    METRICS,
    ADDRESS,
    PORT,
    option(
        *("top_subvolumes", "uint", 20),
        "subvolumes of a file system that metrics and the status page name: those with most workload",
        low=0,
        high=1000,
    ),
    option(
        *("imbalance_epochs", "uint", 30),
        "epochs in a row above imbalance_threshold that raise MDS_PARTITIONER_IMBALANCE",
        low=1,
    ),
]


@dataclass(frozen=True)
class Address:
    """Where the endpoint listens; None as a whole means nowhere."""

    host: str
    port: int

    @classmethod
    def read(cls, module: MgrModule | MgrStandbyModule) -> Address | None:
        """What is configured for this manager: a value for it alone goes over the one for all."""
        if not usable(METRICS, module.get_module_option, module.log):
            return None
        host = usable(ADDRESS, module.get_localized_module_option, module.log) or get_default_addr()
        return cls(str(host), int(usable(PORT, module.get_localized_module_option, module.log)))


@dataclass(frozen=True)
class MonitorSettings:
    """Values in force; names as in MONITOR_OPTIONS."""

    top_subvolumes: int
    imbalance_epochs: int

    @classmethod
    def read(cls, module: MgrModule) -> MonitorSettings:
        """What the operator has configured."""
        return cls(**configured(module, MONITOR_OPTIONS, [f.name for f in fields(cls)]))
