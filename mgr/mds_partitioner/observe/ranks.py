# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each rank's load, from the perf counters that the MDSs report to the manager anyway."""

from typing import Any

from ..host import Host
from ..model import FsState, MdsInfo, RankSample
from .counters import level, mean_time, rate

KILOBYTE = 1024  # mds_mem.rss is in KiB


def _queue(answer: Any) -> int | None:
    """``mds.q`` has too low a priority to be reported to the manager, so the MDS is asked for it."""
    try:
        return int(answer["mds"]["q"])
    except (KeyError, TypeError, ValueError):
        return None


def served(received: float, forwarded: float) -> float:
    """Requests a rank answered itself, req/s: the MDS counts one that it hands on to another rank, too."""
    return max(0.0, received - forwarded)


def _sample(host: Host, mds: MdsInfo, window: float, queue: int | None) -> RankSample:
    def points(path: str) -> list[tuple[float, ...]]:
        return host.counter(mds.name, path)

    return RankSample(
        rank=mds.rank,
        name=mds.name,
        requests=served(
            rate(points("mds_server.handle_client_request"), window), rate(points("mds.forward"), window)
        ),
        latency=mean_time(points("mds.reply_latency"), window),
        queue=queue,
        inodes=level(points("mds_mem.ino")),
        caps=level(points("mds.caps")),
        sessions=level(points("mds_sessions.session_count")),
        exported=rate(points("mds.exported_inodes"), window),
        imported=rate(points("mds.imported_inodes"), window),
        subtrees=level(points("mds.subtrees")),
        rss=level(points("mds_mem.rss")) * KILOBYTE,
        exported_total=level(points("mds.exported_inodes")),
        imported_total=level(points("mds.imported_inodes")),
    )


def observe_ranks(host: Host, fs: FsState, window: float) -> tuple[RankSample, ...]:
    """A sample of every active rank, rates over the last ``window`` seconds."""
    active = fs.active()
    answers = host.tell_each([m.name for m in active], "perf dump", logger="mds", counter="q")
    return tuple(_sample(host, mds, window, _queue(answers[mds.name])) for mds in active)


def reported_ranks(host: Host, fs: FsState, window: float) -> tuple[RankSample, ...]:
    """The same but for the queues: no MDS is asked, so none is waited for."""
    return tuple(_sample(host, mds, window, None) for mds in fs.active())


def silence(host: Host, fs: FsState, now: float) -> dict[int, float]:
    """Seconds since each active rank's last report to this manager; without those it never heard of.

    :param now: seconds since the Unix epoch
    """
    last = {m.rank: host.counter(m.name, "mds.inodes") for m in fs.active()}
    return {rank: now - points[-1][0] for rank, points in last.items() if points}
