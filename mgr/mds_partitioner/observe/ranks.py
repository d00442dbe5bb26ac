# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each rank's load, from the perf counters that the MDSs report to the manager anyway."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..ceph.host import Host
from ..engine.inside import EASY
from ..model import FsState, MdsInfo, RankSample
from .counters import counted, level, mean_and_count, mean_level, mean_time, rate, rated, unbroken

# Counters of src/mds/Server.cc, reported to the managers; the common kinds are enough.
KINDS = (
    *("lookup", "lookupino", "getattr", "readdir", "open", "create", "setattr", "unlink", "rename", "mkdir"),
    *("rmdir", "symlink", "link", "mknod", "setxattr"),
)
COMMON = 0.1  # of all requests
ENOUGH = 20  # requests of a kind whose mean tells something
SELDOM = 0.02  # fetches a request: with more, requests may wait for the metadata pool
# Without a standby, a dead MDS stays up:active in the FSMap, so silence is the only sign of it.
MISSED, AT_LEAST = 4, 20.0  # reports, which come every 5 s if nobody has set mgr_stats_period; s
TOGETHER = 0.8  # of that time: a report that comes sooner after another one shows that this one had to wait
FETCHES = ("dir_fetch_complete", "dir_fetch_keys")
READS, WRITES = ("op_r",), ("op_w", "op_rmw")
PURGING, PURGES = "purge_queue.pq_executing_ops", "purge_queue.pq_executed_ops"

Points = Callable[[str], Sequence[tuple[float, ...]]]  # of a perf counter, by its path
Kinds = Mapping[str, tuple[float, float]]  # of requests, that a rank has served: s, mean; how many


def served(received: float, forwarded: float) -> float:
    """Requests a rank answered itself, req/s: the MDS counts one that it hands on to another rank, too."""
    return max(0.0, received - forwarded)


def kinds(points: Points, window: float) -> Kinds:
    """Of each kind of requests the mean latency, s, and how many there were."""
    return {kind: mean_and_count(points(f"mds_server.req_{kind}_latency"), window) for kind in KINDS}


def quickest(of: Kinds, latency: float, requests: float, fetches: float = 0.0) -> float:
    """Mean latency (s) of the quickest of the kinds of requests that are at least a tenth of all.

    What is slow for a reason of its own, a lock or a capability that a client holds, does not show in it;
    what waits for the rank does. Where nearly all are of one kind that waits for clients, a few of another
    kind tell, but only that the rank rests: whatever comes to one that never does waits at least for half of
    what is just being served. How much is inside they do not tell: an MDS takes from each connection in turn
    (DispatchQueue, PrioritizedQueue), so that a client with little to do overtakes those with much.

    :param latency: of all requests, s
    :param requests: of all kinds, req/s
    :param fetches: directory fetches/s from the metadata pool
    """
    least = COMMON * sum(count for _, count in of.values())
    common = min((mean for mean, count in of.values() if count >= least and mean > 0.0), default=latency)
    few = min((mean for mean, count in of.values() if count >= ENOUGH and mean > 0.0), default=common)
    rests = fetches <= SELDOM * requests and few * requests <= EASY
    return few if rests else common


def pooled(points: Points, active: float, purging: float, window: float) -> float:
    """Requests that wait for the metadata pool, on the mean: each read under way (Objecter.cc) is for one, at
    least. What deletes files is for none, and mostly in the data pools, which may be much slower.

    :param active: operations under way, reads and writes, on the mean
    :param purging: of these, what deletes files (PurgeQueue.cc)
    """
    reads, writes = (sum(rate(points(f"objecter.{op}"), window) for op in ops) for ops in (READS, WRITES))
    others = max(0.0, writes - rate(points(PURGES), window))
    return max(0.0, active - purging) * reads / (reads + others) if reads else 0.0


def part(points: Points, kind: str, window: float, requests: float) -> float:
    """Of the requests, 0 to 1: those of a kind. requests: of all kinds, req/s"""
    of_these = counted(points(f"mds_server.req_{kind}_latency"), window)
    return min(1.0, of_these / requests) if requests else 0.0


def _quiet_after(host: Host) -> float:
    """s, for which a rank that is well does not fail to report."""
    return max(AT_LEAST, MISSED * host.report_period())


def _points(host: Host, mds: MdsInfo) -> Points:
    longest, shortest = _quiet_after(host), TOGETHER * host.report_period()

    def points(path: str) -> Sequence[tuple[float, ...]]:
        return unbroken(host.counter(mds.name, path), longest, shortest)

    return points


def _sample(host: Host, mds: MdsInfo, window: float) -> RankSample:
    points = _points(host, mds)
    received = points("mds_server.handle_client_request")
    forwards = rate(points("mds.forward"), window)
    requests = served(rate(received, window), forwards)
    latency = mean_time(points("mds.reply_latency"), window)
    crowded = requests * latency >= 1.0  # less cannot be a full rank, and needs no closer look
    of = kinds(points, window) if crowded else None
    fetches = sum(rate(points(f"mds.{name}"), window) for name in FETCHES) if crowded else 0.0
    waits = fetches > SELDOM * requests
    active, purging = _under_way(host, mds, window) if waits else (0.0, 0.0)
    return RankSample(
        rank=mds.rank,
        name=mds.name,
        requests=requests,
        latency=latency,
        inodes=level(points("mds_mem.ino")),
        caps=level(points("mds.caps")),
        sessions=level(points("mds_sessions.session_count")),
        exported=rate(points("mds.exported_inodes"), window),
        imported=rate(points("mds.imported_inodes"), window),
        subtrees=level(points("mds.subtrees")),
        exported_total=level(points("mds.exported_inodes")),
        imported_total=level(points("mds.imported_inodes")),
        quickest=latency if of is None else quickest(of, latency, requests, fetches),
        links=part(points, "link", window, requests),
        lookups=part(points, "lookup", window, requests),
        listings=counted(points("mds_server.req_readdir_latency"), window),
        forwards=forwards,
        peers=rate(points("mds_server.handle_peer_request"), window),
        written=level(points("mds_log.evadd")),
        journal=level(points("mds_log.ev")),
        reported=received[-1][0] if received else 0.0,
        heard=bool(received),
        rated=rated(received, window),
        fetches=fetches,
        pooled=pooled(points, active, purging, window) if waits else 0.0,
    )


def _under_way(host: Host, mds: MdsInfo, window: float) -> tuple[float, float]:
    """RADOS operations, on the mean; of these, what deletes files: 0 before Tentacle, which does not tell how
    many have."""
    active = mean_level(host.counter(mds.name, "objecter.op_active"), window)
    told = host.counter(mds.name, PURGES)
    return active, mean_level(host.counter(mds.name, PURGING), window) if told else 0.0


def observe_ranks(host: Host, fs: FsState, window: float, now: float) -> tuple[RankSample, ...]:
    """A sample of every active rank, rates over the last ``window`` seconds. No MDS is asked, so none is
    waited for.

    A rank that reports no more keeps its last counters for ever, and with them its last rate and latency:
    they say nothing of now, and would teach a capacity epoch after epoch.

    :param now: seconds since the Unix epoch
    """
    quiet = silent(host, fs, now)
    samples = (_sample(host, mds, window) for mds in fs.active())
    return tuple(_stopped(s) if s.rank in quiet else s for s in samples)


def _stopped(sample: RankSample) -> RankSample:
    """What is known of a rank that has stopped reporting: what it holds, and nothing that it does."""
    still = replace(sample, requests=0.0, latency=0.0, quickest=0.0, fetches=0.0, pooled=0.0, rated=False)
    still = replace(still, exported=0.0, imported=0.0, links=0.0, lookups=0.0, listings=0.0)
    return replace(still, forwards=0.0, peers=0.0, reported=0.0)


def silent(host: Host, fs: FsState, now: float) -> dict[int, float]:
    """Active ranks that should have reported to this manager, and have not for longer than so many seconds;
    of those it never heard of, and where the clock was put back, those that the mon misses: 0 s.

    :param now: seconds since the Unix epoch
    """
    after = _quiet_after(host)
    last = {m.rank: host.counter(m.name, "mds.inodes") for m in fs.active()}
    missed = {m.rank: 0.0 for m in fs.active() if m.laggy}
    return missed | {rank: after for rank, points in last.items() if points and now - points[-1][0] > after}


def unheard(host: Host, fs: FsState) -> tuple[int, ...]:
    """Active ranks that have not reported twice to this manager, since they or it were started: what they
    serve is not known, and looks like nothing (DaemonServer::handle_open begins anew)."""
    period, counter = host.report_period(), "mds_server.handle_client_request"
    return tuple(mds.rank for mds in fs.active() if not rated(_points(host, mds)(counter), period))
