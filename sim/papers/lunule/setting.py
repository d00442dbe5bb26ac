# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's parameters, and what had to be assumed beside them: one place, which the report prints."""

from dataclasses import dataclass

from sim.model.physics import Physics
from sim.provenance import assumed, given


@dataclass(frozen=True)
class Setting:
    """Times in s, rates in req/s. S, L and the threshold are the module's (engine/urgency.py), the
    windows are in sim/model/visits.py, the sibling's probability in selection.py."""

    ranks: int = given(5, "4.2")
    clients: int = given(100, "4.2")
    clients_of_a_rank: int = assumed(20, "Figure 13a: as many as Figures 6 and 7 have; the paper had too few")
    capacity: float = given(10_250.0, "of a rank: 41,000 of four (4.5)")
    create_capacity: float = given(7_000.0, "of a rank that makes files: 112,000 of 16 (4.6)")
    think: float = assumed(
        0.0008,
        "a client's own time between two requests: 100 clients had 56,000 of six ranks (4.5), "
        "of which 51,250 were the fewer ranks'",
    )
    cnn_directories: int = given(1_000, "Table 1")
    cnn_files: int = given(1_280, "Table 1: 1.28 million")
    nlp_folders: int = given(14, "Table 1")
    nlp_fragments: int = assumed(
        8,
        "of a folder: Ceph splits directories above 10,000 entries. It exports fragments one by one, so "
        "each is a directory here, beside the others",
    )
    nlp_files: int = given(7_464, "of a fragment. Table 1: 836,000 in all")
    spread: float = assumed(
        0.03,
        "part of the data set over which the clients of a scan are at first. They start together; single "
        "requests let them drift by a directory or so, and how unequal their hosts are is not told",
    )
    web_branches: int = assumed(30, "directories in the root, and in each of these: the tree is not told")
    web_files: int = given(302_000, "Table 1")
    web_zipf: float = assumed(0.8, "exponent of directories' popularity (Breslau et al., INFOCOM '99)")
    zipf_files: int = given(10_000, "Table 1")
    minutes: float = assumed(30.0, "Figures 6 and 7: as Figures 3 and 4 have")
    create_minutes: float = given(15.0, "Figure 6: MD ends there, out of memory")
    web_requests: float = assumed(806_000.0, "of a client in Figure 8: a tenth of Table 1's 8.06 million")
    zipf_requests: float = assumed(1_000_000.0, "of a client in Figure 8")
    export_inodes: float = assumed(
        40_000.0,
        "while more are on their way from a rank, no export begins: Ceph 12.2 has five subtrees on "
        "their way (Migrator.cc), of 10,000 files each in Zipf",
    )
    export_delay: float = assumed(
        15.0,
        "s until an export freezes its subtree: five at a time then make the 98 of 100 subtrees that left a "
        "rank in the first five minutes (2.2)",
    )
    import_work: float = assumed(
        Physics.import_work,
        "an importer's work for an inode, in requests: the simulator's, of the lab",
    )
    forwards: float = assumed(
        0.0,
        "part of the requests for a directory away from its parent's rank that go there first: Ceph 12.2 "
        "names no replicas to clients but of directories that it replicates as hot (CDir::get_dist_spec)",
    )
    step: float = assumed(1.0, "s; four times the simulator's, for hours of load")


# Metadata's part of all operations (Table 1).
METADATA = {"CNN": 0.781, "NLP": 0.928, "Web": 0.572, "Zipf": 0.5}
