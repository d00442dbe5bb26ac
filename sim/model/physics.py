# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the modelled MDSs cost and how late they tell: constants of Ceph, figures of the lab, assumptions."""

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Physics:
    """A scenario may change any of them by name. Work is in requests: what a rank does in the time of one."""

    step: float = 0.25
    """s; the length of a time step."""
    beat: float = 10.0
    """s; mds_bal_interval."""
    tick: float = 5.0
    """s; mds_tick_interval: a pin is followed on a tick."""
    half_life: float = 5.0
    """s; mds_decay_halflife, of popularity."""
    report: float = 5.0
    """s; mgr_stats_period: how often a rank's counters come to the manager."""
    orders_late: float = 0.0
    """s; how much later than on a quiet cluster an export begins that a balancer ordered."""
    export_work: float = 0.25
    """Work of an exporter for each cached inode: 4,500 inodes/s left a rank of some 1,100 req/s (lab)."""
    import_work: float = 0.25
    """Work of an importer for each inode. Assumed to be the exporter's: it was not measured apart."""
    export_delay: float = 0.5
    """s; an export's messages and journal writes, while nothing is frozen. Assumed."""
    freeze: float = 0.25
    """s; the least that a subtree is frozen: the importer's and the exporter's journal writes. Assumed."""
    exports_at_once: int = 2
    """Of a rank, by a balancer: Migrator::maybe_do_queued_export. Pins know no limit."""
    forwards: float = 0.5
    """Part of the requests for a directory on another rank than its parent that go to that rank first: for a
    lookup clients draw one of two replicas (docs/benchmarking.md, Forwards). 0 with requests forwarded to the
    authority only."""
    forward_work: float = 0.8
    """Work of passing one request on (docs/benchmarking.md, Forwards)."""
    cold_work: float = 1.0
    """Work beyond a request's own when it finds a directory cold. Assumed."""
    cold_inodes: float = 50.0
    """Inodes that such a request brings into the cache: a fetch reads a part of a directory. Assumed."""
    takeover: float = 30.0
    """s; until a standby is active in a dead rank's place. Assumed; its cache is cold."""
    cpu: float = 100.0
    """cpu_load_avg of a rank that is full: 100 is a core."""
    session_half_life: float = 60.0
    """s; of request_load_avg in a session."""
