# SPDX-License-Identifier: LGPL-2.1-or-later
"""MDSs without the hook beside patched ones, and on a file system with masks in it."""

from collections.abc import Collection, Iterator

import pytest
from hooked import MASK, crafted, inside, mask, set_mask
from stock import RANKS, STOCK, fatal_lines, scrub, stock_program
from support import Cluster, wait_for
from test_mask import ranks_of

from lab.ranks import active, all_active

EINVAL = 22
TOP = "/stock"
DIRS = [f"{TOP}/d{i}" for i in range(4)]


@pytest.fixture(scope="module")
def names(cluster: Cluster) -> Iterator[list[str]]:
    """The MDSs, by rank at first; all are patched afterwards."""
    stock_program(cluster.lab, cluster.lab.state.release)
    found = [cluster.mds_of(rank) for rank in RANKS]
    yield found
    run(cluster, found, stock=())


def run(cluster: Cluster, names: Collection[str], stock: Collection[str]) -> None:
    """Restart the MDSs, those of ``stock`` as the distribution's program."""
    gone = active(cluster.lab).values()
    for name in names:
        cluster.lab.kill(f"mds.{name}")
    for name in names:
        cluster.lab.start(f"mds.{name}", program=STOCK if name in stock else None)

    def replaced() -> bool:
        died = fatal_lines(cluster.lab.log_dir)
        assert not died, died
        return all_active(cluster.lab, len(RANKS), without=gone)

    wait_for("every rank is active", replaced)


def has_hook(cluster: Cluster, rank: int) -> bool:
    argv = ["ceph", "tell", f"mds.{cluster.mds_of(rank)}", "dump", "mindex"]
    return cluster.lab.exec(argv, check=False).returncode == 0


def test_a_stock_mds_keeps_a_mask_and_does_not_mind_it(cluster: Cluster, names: list[str]) -> None:
    inside(cluster, "make", {TOP: 3, **dict.fromkeys(DIRS, 20)})
    assert set_mask(cluster, TOP, "1,2") == 0
    wait_for("it is in its mask", lambda: ranks_of(cluster, TOP) <= {1, 2})

    holder = cluster.mds_of(next(iter(ranks_of(cluster, TOP))))
    run(cluster, names, stock=[name for name in names if name != holder][:2])
    assert sorted(has_hook(cluster, rank) for rank in RANKS) == [False, False, True, True]
    assert mask(cluster, TOP) == "1,2"
    inside(cluster, "make", {f"{TOP}/mixed": 20})

    run(cluster, names, stock=names)
    assert not any(has_hook(cluster, rank) for rank in RANKS)
    assert mask(cluster, TOP) == "1,2", "it is in the inode"
    assert set_mask(cluster, TOP, "3") == EINVAL
    inside(cluster, "make", {f"{TOP}/only-stock": 20})
    crafted(cluster, "crafted-on-stock", MASK)
    cluster.place({TOP: 3 if cluster.authority().get(TOP, 0) != 3 else 0})  # a stock MDS exports it anywhere
    assert scrub(cluster.lab) == {"return_code": 0, "damage": {}}

    run(cluster, names, stock=())
    assert mask(cluster, TOP) == "1,2"
    assert not mask(cluster, "/crafted-on-stock"), "what stock MDSs took is read, and is no mask"
    inside(cluster, "visit", [TOP, *DIRS])
    wait_for("it is in its mask again", lambda: ranks_of(cluster, TOP) <= {1, 2})
    wait_for(
        "nothing is lost",
        lambda: inside(cluster, "rentries", TOP) == 1 + 3 + len(DIRS) * 21 + 2 * 21,
    )
