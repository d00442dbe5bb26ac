# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often MDSs look at their pins."""

from __future__ import annotations

from collections.abc import Collection

from ..ceph.host import Host
from ..ceph.shared_option import SharedOption, users
from ..errors import Unavailable

TICK, QUICK = "mds_tick_interval", "1.000000"  # s, as the mon writes it: pins are followed on a tick
USER = "tick/"  # and the file system: as what it has a claim


class TickInterval:
    """Short while something moves, and then as it was: on a tick MDSs also flush journals and recall
    capabilities (MDSRank.cc), and clients that make and delete files all the time made a fifth to a
    quarter more requests with ticks of a second.

    The option is the cluster's. What it was is kept as a claim, before it is set (ceph/shared_option.py).
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._short: dict[int, bool] = {}  # by fscid; not there: the last manager may have left it

    def short(self, fscid: int) -> bool:
        """May it be short because of this file system?"""
        return self._short.get(fscid, True)

    def shorten(self, fscid: int) -> None:
        """Something begins to move. :raises PartitionerError: the mon did not take it; it is tried again"""
        if self._short.get(fscid):
            return
        option = self._option(fscid)
        old = option.read()
        self._short.pop(fscid, None)  # what gets no answer may be carried out all the same
        if not old or float(old) > float(QUICK):
            option.take()
        self._short[fscid] = True

    def restore(self, fscid: int) -> None:
        """Nothing moves. What an operator has set meanwhile stays. Errors as ``shorten``.

        :raises Unavailable: a change that was not answered may still be made, so nobody knows what it is
        """
        if not self.short(fscid):
            return
        if self._host.mon_in_flight(who="mds", name=TICK):
            raise Unavailable(f"{TICK} is put back when the mon has answered an earlier change of it")
        option = self._option(fscid)
        old = option.replaced()
        if old is not None and self._host.mds_option(TICK) == QUICK:
            option.give_back(old)
        elif old is not None or fscid not in self._short:
            option.let_go()  # also of a claim that was not answered, and does not show yet
        self._short[fscid] = False

    def restore_unwatched(self, watched: Collection[int]) -> None:
        """Of file systems that were removed while no manager looked, or whose record cannot be read.

        Errors as ``shorten``.
        """
        for user in users(self._host.store, TICK):
            fscid = user.removeprefix(USER)
            if fscid != user and int(fscid) not in watched:
                self.restore(int(fscid))

    def _option(self, fscid: int) -> SharedOption:
        return SharedOption(self._host, TICK, f"{USER}{fscid}", QUICK)
