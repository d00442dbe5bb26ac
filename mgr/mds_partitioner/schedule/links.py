# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where clients make hard links, what they are in is not divided over ranks.

A link may be in another part than its file. When the file is just being moved to another rank, no rank has it
for a moment; and as long as it is new, nor does the data pool say where it is. An MDS that is asked for the
link then takes it for damaged (MDCache.cc, open_remote_dentry_finish): MDS_DAMAGE, "backtrace". Tried on
20.2.4: within seconds after forty parts of a directory were moved in which clients made snapshots by links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .view import RankView

MANY = 0.02  # of a rank's requests
LASTS = 600.0  # s: those who make snapshots by links also read and delete for a while


def seen(linked: Mapping[int, float], ranks: Iterable[RankView], now: float) -> dict[int, float]:
    """By rank, when many were made there last, steady clock, s. ``linked``: as it was at the last look"""
    lately = {rank: at for rank, at in linked.items() if now - at <= LASTS}
    return lately | {rank.rank: now for rank in ranks if rank.links >= MANY}
