# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the modelled MDSs cost and how late they tell: constants of Ceph, figures of the lab, assumptions."""

import math

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
    dispersion: float = 19.0
    """By how much clients that do the same get apart: the variance of the operations that each had done, in
    parts of their mean. The median of web's cells, whose clients all ask the same ranks (docs/results/bench,
    done). It is far more than the times of single requests tell (1.45): they are not independent."""
    export_work: float = 0.16
    """Work of an exporter for each cached inode. Fitted: `python3 -m sim calibrate --fit`."""
    import_work: float = 0.12
    """Work of an importer for each inode. Fitted on importers that nobody asks yet, likewise."""
    export_delay: float = 0.5
    """s; until an export's subtree is frozen: messages, and requests that hold a part of it end. The exporter
    answers meanwhile. Assumed; on a busy cluster it is longer, and an MDS gives up when nothing changes for
    30 s (mds_freeze_tree_timeout)."""
    freeze: float = 0.25
    """s; the least that a subtree is frozen: the importer's and the exporter's journal writes. Assumed."""
    export_size: float = 18_500.0
    """Inodes: while a rank's exports under way have more, none of a balancer's begins; one that waits for its
    target counts as so many (Migrator::maybe_do_queued_export), so two wait at most. mds_max_export_size, 20
    MB, at 1,080 bytes for an inode with a capability (maybe_split_export). Pins know no limit."""
    targets: bool = False
    """An MDS exports only to ranks that the map has as its targets (MDSRank::update_targets). It always does;
    the scenarios' bounds were made without it (docs/simulator.md)."""
    target_decay: float = 10.0
    """s; mds_bal_target_decay, the half-life of an export target."""
    map_delay: float = 0.25
    """s; from a tick on which a rank asks for an export target until the map has it: the Monitor waits for
    others' updates for 0.05 s (paxos_min_wait) or a second (paxos_propose_interval). Assumed."""
    forwards: float = 0.5
    """Part of the requests for a directory on another rank than its parent that go to that rank first: for a
    lookup clients draw one of two replicas (docs/benchmarking.md, Forwards). 0 with requests forwarded to the
    authority only."""
    forgets: float = 1.0
    """s; client_tick_interval: a client whose cache is too small drops what it does not use on a tick."""
    replicate: float = math.inf
    """mds_bal_replicate_threshold, 8,000: ten times a directory's popularity and once its subtree's, by
    lookups. inf: nothing is replicated, as in the scenarios (docs/simulator.md)."""
    relief: float = 0.0
    """The part of its capacity that a rank gains when no closed-loop client asks it, in place of all of them.
    The lab's, where MDSs share two cores (sim/calibrate.py fits it); no property of Ceph that we know of."""
    mounting: float = 3.0
    """Requests that a client makes of every rank when it mounts: web's cells, first second. Until they have
    decayed, no rank is idle for a policy that looks at popularity."""
    forward_work: float = 0.60
    """Work of passing one request on. Fitted likewise."""
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
