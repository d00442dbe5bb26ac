# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``hotspots`` shows."""

from typing import Any

from .. import clock
from ..ceph.volumes import name_of
from ..schedule.hotspots import Hotspots
from .text import count, cut, table

WIDTH = 36  # cells of a name


def hotspots_value(seen: Hotspots) -> list[dict[str, Any]]:
    """As plain data. Times: Unix, s; requests in req/s."""
    return [
        {
            "path": piece.path,
            "kind": spot.kind,
            "rank": piece.rank,
            "clients": seen.clients.get(piece.path),
            "share": round(spot.part, 4),
            "requests": round(piece.requests, 2),
            "since": round(spot.since + seen.ahead, 1),
            "every": None if spot.every is None else round(spot.every, 1),
            "next": None if spot.every is None else round(spot.since + spot.every + seen.ahead, 1),
        }
        for spot, piece in seen.spots
    ]


def hotspots_text(seen: Hotspots) -> str:
    """For people, at most 100 columns."""
    rows = []
    for (spot, _), value in zip(seen.spots, hotspots_value(seen)):
        rank, clients, every = value["rank"], value["clients"], value["every"]
        rows.append(
            (
                spot.kind,
                cut(name_of(value["path"]), WIDTH),
                "several" if rank is None else rank,
                "-" if clients is None else clients,
                f"{spot.part:.0%}",
                count(value["requests"]),
                clock.time_of_day(value["since"]),
                "-" if every is None else f"{every:.0f} s",
            )
        )
    looked = f"looked at for {seen.looked:.0f} s"
    if not rows:
        return f"no directory has much more than others ({looked})"
    columns = ("Kind", "Directory", "Rank", "Clients", "Share", "reqs/s", "Since", "Every")
    return f"{table(columns, rows, left=('Kind', 'Directory'))}\n{looked}"
