# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often MDSs look at their pins."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..ceph.host import Host
from ..ceph.shared_option import SharedOption, users
from ..ceph.tick import QUICK, TICK
from ..clock import Now
from ..errors import Unavailable
from ..store import by_fs

USER = "tick/"  # and the file system: as what it has a claim
LATE = 900.0  # s, in which what a manager that was cut off and replaced had sent to the mon comes, if ever


class TickInterval:
    """Short while something moves, and then as it was: on a tick MDSs also flush journals and recall
    capabilities (MDSRank.cc), and clients that make and delete files all the time made a fifth to a
    quarter more requests with ticks of a second.

    The option is the cluster's. What it was is kept as a claim, before it is set (ceph/shared_option.py).
    The mon fences no manager: so a claim that another one has made stays for a while.
    """

    def __init__(self, host: Host, now: Callable[[], Now]) -> None:
        self._host, self._now = host, now
        self._short: dict[int, bool] = {}  # by fscid; not there: the last manager may have left it
        self._stays: dict[int, float] = {}  # by fscid: until when its claim does, steady clock, s

    def short(self, fscid: int) -> bool:
        """May it be short because of this file system?"""
        return self._short.get(fscid, True)

    def shorten(self, fscid: int) -> None:
        """Something begins to move. :raises PartitionerError: the mon did not take it; it is tried again"""
        if self._short.get(fscid):
            return
        option = self._option(fscid)
        old = option.read()
        self._claim_stays(fscid, option.replaced())
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
        stays = self._claim_stays(fscid, old)
        if old is not None and self._host.mds_option(TICK) == QUICK:
            option.give_back(old)
            if stays:
                option.claim(old)
        elif not stays and (old is not None or fscid not in self._short):
            option.let_go()  # also of a claim that was not answered, and does not show yet
        if stays:
            self._short.pop(fscid, None)  # it is looked at again
        else:
            self._short[fscid] = False

    def _claim_stays(self, fscid: int, old: str | None) -> bool:
        """Is it another manager's, which may have sent what comes yet? ``old``: what it says; None: no claim.

        One is another's if it is there when this manager looks for the first time.
        """
        now = self._now().steady
        return now < self._stays.setdefault(fscid, now if old is None else now + LATE)

    def restore_unwatched(self, watched: Collection[int]) -> bool:
        """Of file systems that were removed while no manager looked, or whose record cannot be read. Is
        nothing left? Errors as ``shorten``.
        """
        ours = (user for user in users(self._host.store, TICK) if user.startswith(USER))
        unwatched = [fscid for fscid, _, _ in by_fs(ours, USER) if fscid not in watched]
        for fscid in unwatched:
            self.restore(fscid)
        return not any(map(self.short, unwatched))

    def _option(self, fscid: int) -> SharedOption:
        return SharedOption(self._host, TICK, f"{USER}{fscid}", QUICK)
