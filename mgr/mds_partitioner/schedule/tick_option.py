# SPDX-License-Identifier: LGPL-2.1-or-later
"""Versions before 0.9.12 had all MDSs of the cluster tick more often, by what is set in the mon."""

from __future__ import annotations

from ..ceph.host import Host
from ..ceph.shared_option import SharedOption, users
from ..ceph.tick import QUICK, TICK
from ..errors import Unavailable
from ..store import by_fs

USER = "tick/"  # and the file system: as what it has a claim (ceph/shared_option.py)


def claimed(host: Host) -> list[int]:
    """File systems, by id, for which that may be set."""
    ours = (user for user in users(host.store, TICK) if user.startswith(USER))
    return [fscid for fscid, _, _ in by_fs(ours, USER)]


def put_back(host: Host, fscid: int) -> None:
    """What an operator has set since stays.

    :raises PartitionerError: it is to be tried again
    """
    option = SharedOption(host, TICK, f"{USER}{fscid}", QUICK)
    old = option.replaced()
    if old is None:
        return
    if host.mon_in_flight(who="mds", name=TICK):
        raise Unavailable(f"{TICK} is put back when the mon has answered an earlier change of it")
    if option.is_set():
        option.give_back(old)
    else:
        option.let_go()
