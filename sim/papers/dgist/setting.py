# SPDX-License-Identifier: LGPL-2.1-or-later
"""The thesis's parameters, and what had to be assumed beside them. Times in s."""

from dataclasses import dataclass

from sim.provenance import assumed, given


@dataclass(frozen=True)
class Setting:
    """One MDS, its OSD, the clients and the ways between them."""

    clients: int = given(7, "4.1: client servers")
    creates: float = given(2_375.0, "3.2: creates, op/s, of one MDS")
    best: float = given(4.0, "4.2: up to 4 times that, with the MDS on the OSD's server")
    processes: int = assumed(16, "of mdtest on a client: as many as its two Xeons have cores")
    create: float = assumed(1 / 9_500, "the MDS's work for a create: 4 times 2,375 op/s leave it no more")
    look_up: float = assumed(50e-6, "the MDS's work for a look-up: half of a create's")
    revoke: float = assumed(50e-6, "the MDS's work to take a capability back, the answer included")
    cached: float = assumed(5e-6, "a stat from the client's own cache")
    slow: float = assumed(200e-6, "a round trip to the MDS servers (4.1: 1 Gb/s Ethernet)")
    fast: float = assumed(50e-6, "a round trip among OSD servers and clients (4.1: 40 and 10 Gb/s)")
    local: float = assumed(20e-6, "a round trip within one server")
    write: float = assumed(
        500e-6, "an OSD's write to its SSD; replicas are written at once, one round trip later"
    )
