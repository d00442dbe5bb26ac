# SPDX-License-Identifier: LGPL-2.1-or-later
"""Visits, alpha, beta, l_t, l_s and mIndex of a patched MDS against a plain Python model."""

import random
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from hooked import end_window, inside, log_of, mindex, no_window_ends, said
from reference import WINDOWS, Reference, Summary
from support import Cluster, wait_for

from experiments.common.balancers.visits import forget

TOP = "/statistics/tree"
DIRS = 10
TREE = {
    "/statistics": 0,
    TOP: 3,
    **{f"{TOP}/d{i}": 12 for i in range(DIRS)},
    **{f"{TOP}/d0/e{i}": 8 for i in range(3)},
    f"{TOP}/d0/e0/deep": 5,
}
RANKS = 4
MANY = 100
PHASES = 13  # more than the windows that are remembered
SEED = 2021
VISIT = re.compile(r"\.stats visit 0x([0-9a-f]+) in 0x([0-9a-f]+)(?:\.[01]+\*)?$")  # in a fragment
END = re.compile(r"\.stats window (\d+) ends")


@pytest.fixture(scope="module")
def inodes(cluster: Cluster) -> Iterator[dict[str, int]]:
    """Inode numbers of the tree's directories; the MDS logs every visit meanwhile."""
    made: dict[str, int] = inside(cluster, "make", TREE)
    wait_for(
        "statistics of the tree are up to date", lambda: inside(cluster, "rentries", TOP) == 1 + below(TOP)
    )
    forget(cluster.lab, RANKS)  # what made them
    cluster.tell(0, "config", "set", "debug_mds_balancer", "20/20")
    with no_window_ends(cluster, RANKS):
        yield made
    cluster.tell(0, "config", "unset", "debug_mds_balancer")


def below(path: str) -> int:
    """Files and directories below a directory of the tree."""
    return sum(files + (each != path) for each, files in TREE.items() if (each + "/").startswith(path + "/"))


def files() -> list[str]:
    return [f"{path}/f{n:04d}" for path, count in TREE.items() for n in range(count)]


def reference(inodes: dict[str, int]) -> Reference:
    parents = {ino: inodes.get(path.rpartition("/")[0]) for path, ino in inodes.items()}
    return Reference(parents, {ino: below(path) for path, ino in inodes.items()})


def replay(cluster: Cluster, inodes: dict[str, int], last: int) -> dict[int, dict[int, Summary]]:
    """What the model makes of the visits up to the end of a window: by window, then by directory."""
    # An MDS answers before a thread of its own has written what it logged.
    wait_for(f"the log has the end of window {last}", lambda: said(cluster, f".stats window {last} ends"))
    model, found = reference(inodes), {}
    for line in log_of(cluster, 0):
        if visit := VISIT.search(line):
            model.visit(int(visit[1], 16), int(visit[2], 16))
        elif end := END.search(line):
            found[int(end[1])] = model.end_window(int(end[1]))
    return found


def fields(dirfrag: dict[str, Any]) -> dict[str, float]:
    return {name: dirfrag[name] for name in Summary.__dataclass_fields__}


def dirfrag(cluster: Cluster, pieces: int, how: str, path: str, *command: str) -> None:
    """`dirfrag split|merge`, until the directory has so many fragments. An MDS drops the order without a word
    while the directory is frozen, or still at the one before (MDCache.cc, can_fragment)."""

    def there() -> bool:
        if fragments(cluster, path) == pieces:
            return True
        cluster.lab.exec(["ceph", "tell", f"mds.{cluster.mds_of(0)}", "dirfrag", how, path, *command])
        return False

    wait_for(f"it has {pieces} fragments", there)


def fragments(cluster: Cluster, path: str) -> int:
    """How many a directory has: it splits and merges some time after it was told to."""
    return len(cluster.ask(0, "dirfrag ls", path=path))


def test_every_figure_is_that_of_the_reference(cluster: Cluster, inodes: dict[str, int]) -> None:
    chosen, everything = random.Random(SEED), files()
    looked_at: set[str] = set()
    dumps = []
    end_window(cluster)
    for phase in range(PHASES):
        # A scan, a directory after the other, and files that are visited again and again.
        again = chosen.sample(everything[:30], 10)
        scan = [f for f in everything if f.startswith(f"{TOP}/d{phase % DIRS}/f")]
        inside(cluster, "visit", again + scan)
        looked_at |= {*again, *scan}
        end_window(cluster)
        dumps.append(mindex(cluster, TOP))
    last_window = dumps[-1]["epoch"] - 1
    expected = replay(cluster, inodes, last_window)
    revisited = credited = 0.0
    for dump in dumps:
        summaries = expected[dump["epoch"] - 1]
        for dirfrag in dump["dirfrags"]:
            figures, path = fields(dirfrag), dirfrag["path"]
            assert figures == pytest.approx(asdict(summaries[inodes[path]]), abs=1e-9), (dump["epoch"], path)
            revisited += figures["revisited"]
            credited += figures["l_s"] - figures["first_visits"]
    assert revisited > 0 < credited, "both parts of the index were there to be compared"
    last = expected[last_window]
    visited = {path for path, ino in inodes.items() if path.startswith(TOP) and last[ino].visits}
    assert {f"{TOP}/d{phase % DIRS}" for phase in range(PHASES - WINDOWS, PHASES)} <= visited
    assert visited <= {d["path"] for d in dumps[-1]["dirfrags"]}
    recorded = {int(v[1], 16) for line in log_of(cluster, 0) if (v := VISIT.search(line))}
    assert len(recorded) >= len(looked_at), "every file that was looked at was recorded"


def test_statistics_survive_a_split_and_a_merge(cluster: Cluster, inodes: dict[str, int]) -> None:
    path = f"{TOP}/d4"  # read so long ago that nothing of it falls out of the windows meanwhile
    everything = [f for f in files() if f.startswith(path)]
    inside(cluster, "visit", everything)
    end_window(cluster)

    def has_all_visits(pieces: int) -> None:
        """Visits may come late: the log tells which there were."""
        assert fragments(cluster, path) == pieces
        dump = mindex(cluster, TOP)
        frags = [f for f in dump["dirfrags"] if f["path"] == path]
        assert len(frags) == pieces
        last = dump["epoch"] - 1
        expected = replay(cluster, inodes, last)[last][inodes[path]]
        # A new client asks any rank at first, and one that has a replica answers by itself.
        assert expected.visited > len(everything) / 2
        sums = sum(f["visits"] for f in frags), sum(f["visited"] for f in frags)
        assert sums == (expected.visits, expected.visited)

    has_all_visits(1)
    dirfrag(cluster, 2, "split", path, "0/0", "1")
    end_window(cluster)
    end_window(cluster)
    has_all_visits(2)
    dirfrag(cluster, 1, "merge", path, "0/0")
    end_window(cluster)
    end_window(cluster)
    has_all_visits(1)


def test_a_trimmed_cache_forgets_no_visit(cluster: Cluster, inodes: dict[str, int]) -> None:
    inside(cluster, "visit", files())
    end_window(cluster)
    visited = mindex(cluster, TOP)["inodes"]
    assert visited > len(files()) / 2
    cluster.tell(0, "cache", "drop", "20")
    assert mindex(cluster, "/")["inodes"] >= visited


def test_the_memory_of_what_is_recorded_no_more_is_given_back(
    cluster: Cluster, inodes: dict[str, int]
) -> None:
    many = {f"/many/d{i}": 1 for i in range(MANY)}
    inside(cluster, "make", {"/many": 0, **many})
    end_window(cluster)
    full = mindex(cluster, "/many")
    assert full["dirfrag_slots"] >= full["dirfrags_recorded"] >= MANY

    def given_back() -> bool:
        end_window(cluster)
        left = mindex(cluster, "/many")
        return bool(left["dirfrags_recorded"] < MANY / 4 and left["dirfrag_slots"] < MANY / 2)

    wait_for("their memory is given back", given_back)


def test_an_idle_mds_records_nothing(cluster: Cluster) -> None:
    idle = cluster.tell(3, "dump", "mindex")
    assert idle["inodes"] == 0


def test_a_path_that_is_not_there_is_said_so(cluster: Cluster) -> None:
    answer = cluster.lab.exec(
        ["ceph", "tell", f"mds.{cluster.mds_of(0)}", "dump", "mindex", "/nowhere"], check=False
    )
    assert answer.returncode == 2
