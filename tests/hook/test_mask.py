# SPDX-License-Identifier: LGPL-2.1-or-later
"""ceph.dir.bal.mask: set and read like any extended attribute, obeyed by the balancer, kept over restarts."""

import time
from collections.abc import Iterator

import pytest
from hooked import inside, log_of, mask, set_mask
from support import NOGROUP, Cluster, at_work, client, owner, wait_for

from lab.clients.spec import LoadSpec
from lab.ranks import all_active, gid

EINVAL = 22
NAMES = tuple(f"m{i}" for i in range(6))
MASKED = f"{NOGROUP}/m0"
LOOKS = 12  # at where things are, after others have moved
LOOK_S = 1.0
METRICS_S = 5.0  # several times mds_metrics_update_interval


@pytest.fixture(scope="module")
def load(cluster: Cluster) -> LoadSpec:
    """Six subvolumes, with more work than one rank should have."""
    paths = cluster.lab.make_subvolumes(NAMES)
    load = LoadSpec(tuple(client(name, paths[name], rate=60, dirs=8) for name in NAMES))
    cluster.lab.prepare(load)
    return load


@pytest.fixture
def directory(cluster: Cluster) -> Iterator[str]:
    path = "/mask"
    inside(cluster, "make", {path: 0, f"{path}/below": 1})
    yield path
    set_mask(cluster, path, "")


def ranks_of(cluster: Cluster, path: str) -> set[int]:
    """Who has authority over a directory and what is below it."""

    def told() -> set[int]:
        authority = cluster.authority()
        return {owner(authority, path)} | {r for each, r in authority.items() if each.startswith(path + "/")}

    def told_twice() -> set[int] | None:
        # Ranks are asked one after the other: what goes meanwhile may be with none of them.
        first = told()
        return first if told() == first else None

    return wait_for("two answers are the same", told_twice)


@pytest.mark.parametrize(
    ("given", "read"),
    [("0,1,3", "0,1,3"), ("3,1", "1,3"), ("0x3", "0,1"), ("0XA", "1,3"), ("2", "2"), ("0x10000000000", "40")],
)
def test_a_mask_is_read_as_a_list_of_ranks(cluster: Cluster, directory: str, given: str, read: str) -> None:
    assert set_mask(cluster, directory, given) == 0
    assert mask(cluster, directory) == read


@pytest.mark.parametrize("removal", ["-1", ""])
def test_a_mask_is_taken_away(cluster: Cluster, directory: str, removal: str) -> None:
    assert set_mask(cluster, directory, "0,1") == 0
    assert set_mask(cluster, directory, removal) == 0
    assert mask(cluster, directory) is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("one", "neither a list"),
        ("0,,1", "neither a list"),
        ("0,256", "neither a list"),
        ("0x", "neither a list"),
        ("0xg", "neither a list"),
        ("0x0", "no rank in it"),
        ("-2", "neither a list"),
        ("1 ", "neither a list"),
    ],
)
def test_a_bad_mask_is_refused_and_the_log_says_why(
    cluster: Cluster, directory: str, value: str, why: str
) -> None:
    assert set_mask(cluster, directory, "0,1") == 0
    assert set_mask(cluster, directory, value) == EINVAL
    assert mask(cluster, directory) == "0,1", "the old one stays"
    wait_for(
        "the log says why", lambda: any(f"refused '{value}'" in x and why in x for x in log_of(cluster, 0))
    )


def test_files_and_the_root_have_no_mask(cluster: Cluster, directory: str) -> None:
    assert set_mask(cluster, f"{directory}/below/f0000", "1") == EINVAL
    assert set_mask(cluster, "/", "1") == EINVAL


def test_a_masked_directory_stays_on_its_ranks_while_others_move_and_after_restarts(
    cluster: Cluster, load: LoadSpec
) -> None:
    assert set_mask(cluster, MASKED, "1,2") == 0
    cluster.fs_set("balance_automate", "true")
    try:
        with at_work(cluster, load):
            wait_for("it is in its mask", lambda: ranks_of(cluster, MASKED) <= {1, 2})

            def others_moved() -> bool:
                assert ranks_of(cluster, MASKED) <= {1, 2}
                return any(ranks_of(cluster, f"{NOGROUP}/{name}") - {0} for name in NAMES[1:])

            wait_for("others move", others_moved)
            for _ in range(LOOKS):
                others_moved()
                time.sleep(LOOK_S)
            assert set_mask(cluster, MASKED, "3") == 0
            wait_for("it follows the new mask", lambda: ranks_of(cluster, MASKED) == {3})
        for rank in range(4):
            restart(cluster, cluster.mds_of(rank))
        assert mask(cluster, MASKED) == "3"
        with at_work(cluster, load):
            wait_for("it is there again", lambda: ranks_of(cluster, MASKED) == {3})
            for _ in range(LOOKS):
                assert ranks_of(cluster, MASKED) == {3}
                time.sleep(LOOK_S)
    finally:
        cluster.fs_set("balance_automate", "false")
        set_mask(cluster, MASKED, "")


def restart(cluster: Cluster, name: str) -> None:
    # Rank 0 of 20.2.4 asserts when the metrics of a client that left a rank come after that rank failed
    # (tracker 79440, fixed in pull request 71013): let them come first.
    time.sleep(METRICS_S)
    gone = gid(cluster.lab, f"mds.{name}")
    cluster.lab.kill(f"mds.{name}")
    cluster.lab.start(f"mds.{name}")
    wait_for("every rank is active", lambda: all_active(cluster.lab, 4, without=[gone]))


def test_an_inherited_mask_is_that_of_the_nearest_directory(cluster: Cluster, directory: str) -> None:
    inner = f"{directory}/below"
    assert set_mask(cluster, directory, "1") == 0
    wait_for("below follows", lambda: ranks_of(cluster, inner) == {1})
    assert set_mask(cluster, inner, "2") == 0
    wait_for("its own comes first", lambda: ranks_of(cluster, inner) == {2})
    assert mask(cluster, inner) == "2"
