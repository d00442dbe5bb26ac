# SPDX-License-Identifier: LGPL-2.1-or-later
"""LINE's subvolumes, judged, and plans for them."""

from __future__ import annotations

from collections.abc import Callable

from fake_cluster import SETTINGS, FakeCluster
from verdicts import verdict

from mds_partitioner.engine.capacity_source import CapacitySource
from mds_partitioner.engine_client import EngineClient
from mds_partitioner.judge.judgement import Caveats, DirectoryJudgement, Judgement
from mds_partitioner.judge.verdict import RankCapacity
from mds_partitioner.judge.window import Observed
from mds_partitioner.model import Directory
from mds_partitioner.observe.children import Brood, Child, Placed
from mds_partitioner.plan.circumstances import Circumstances
from mds_partitioner.plan.plan import Plan
from mds_partitioner.plan.planner import make_plan

LINE = {  # wss, reqs, rentries, workload: LINE's example
    "Subvol1": (1_000_000, 1_203_030, 50_000_000, 339),
    "Subvol2": (700_000, 500_000, 1_000_000, 137),
    "subvol3": (100_000, 5_000, 5_000_000, 21),
    "subvol4": (3_000, 20_000, 70_000, 3),
}


def judgement(ranks: dict[str, tuple[int, ...]], pins: dict[str, int] | None = None) -> Judgement:
    """LINE's subvolumes on the given ranks."""
    rows = []
    for i, (name, (wss, reqs, rentries, work)) in enumerate(LINE.items()):
        directory = Directory(f"/volumes/_nogroup/{name}", name, 100 + i)
        pin = (pins or {}).get(name, -1)
        seen = Observed(directory, wss, reqs, rentries, 1, ranks[name], pin, False, False)
        klass = "heavy" if name == "Subvol1" else "moderate" if name != "subvol4" else "light"
        rows.append(DirectoryJudgement(seen, float(work), klass))
    return Judgement(
        fs="cephfs",
        verdict=verdict(0.9, RankCapacity(1000.0, CapacitySource.LEARNED)),
        ranks=(),
        directories=tuple(rows),
        recommended=3,
        recommended_reason="",
        cache_limit=16 << 30,
        caveats=Caveats(epochs=6, unread=0, unread_load=0.0, missing=0, by_heat=0),
    )


def circumstances(
    heavy: str = "mask", *, force: bool = False, cluster: FakeCluster | None = None
) -> Circumstances:
    fs = (cluster or FakeCluster(ranks=3)).state
    return Circumstances(fs, fs.ranks_in, heavy, force, owned={}, moved_at={}, owns_settings=False)


NOW = 1_700_000_000.0
ALL_ON_0 = dict.fromkeys(LINE, (0,))
AS_IN_LINE = {"Subvol1": (0,), "Subvol2": (1,), "subvol3": (2,), "subvol4": (2,)}


def family(path: str, *, age: float = 1e6, children: int = 4, parent_age: float = 1e6) -> Brood:
    """A subvolume's directories, some seconds old, on rank 0."""
    uuid = f"{path}/uuid"
    chain = (Placed(path, 100, -1, False, False), Placed(uuid, 400, -1, False, False))
    found = [Child(f"{uuid}/d{i}", 500 + i, 100, -1, NOW - age, (0,)) for i in range(children)]
    return Brood(chain, NOW - parent_age, tuple(found))


def made(
    found: Judgement,
    c: Circumstances,
    engine: EngineClient,
    brood: Callable[[str], Brood] = family,
    since: float = NOW - 600,
) -> Plan:
    ended = since + found.caveats.span(SETTINGS.epoch)
    return make_plan(
        "p", found, c.ranks, lambda _: c, SETTINGS, engine.call, lambda path, lasts: brood(path), NOW, ended
    )
