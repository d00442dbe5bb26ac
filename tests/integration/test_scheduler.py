# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler on a real file system: a hot rank is spread, the next manager goes on, all is undone."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from support import FS, NOGROUP, Cluster, at_work, rate_of, wait_for

from lab.clients.spec import LoadSpec

TO_AUTH = "mds_forward_all_requests_to_auth"
TICK = "mds_tick_interval"
EVEN = 0.4  # of all requests, on the fullest of four ranks
LOOKS = 3  # in a row in which it is so
LONG = 240.0  # s
REST = 30  # s: what moved while clients began, and asked for more than they will, moves once more in time


@pytest.fixture
def uneven(cluster: Cluster, load: LoadSpec) -> Iterator[Cluster]:
    """All load on rank 0, which it is known to be too much for."""
    cluster.set(rank_capacity=round(0.8 * rate_of(load)), scheduler_interval=2, scheduler_rest=REST)
    with at_work(cluster, load):
        yield cluster
    cluster.cli("mds_partitioner", "scheduler", "stop", FS)
    cluster.set(rank_capacity=0, scheduler_interval=5, scheduler_rest=600)


def status(cluster: Cluster) -> dict[str, Any]:
    value: dict[str, Any] = cluster.module_json("scheduler status")
    return value


def wait_even(cluster: Cluster) -> None:
    """Until no rank has much more than its share; if that does not come, say what the scheduler knows."""
    looks: list[list[float]] = []

    def even() -> bool:
        loads = [rank["requests"] for rank in status(cluster)["ranks"]]
        if loads not in looks[-1:]:
            looks.append(loads)
        return len(looks) >= LOOKS and all(
            0.0 < max(of, default=0.0) < EVEN * sum(of) for of in looks[-LOOKS:]
        )

    try:
        wait_for("no rank has much more than its share", even, LONG)
    except AssertionError as e:
        seen, done = cluster.module("scheduler status"), cluster.module("scheduler history", top=0)
        raise AssertionError(f"{e}\n{seen}\n{done}\n{status(cluster)}") from None


def option(cluster: Cluster) -> dict[str, str]:
    """What is set for all MDSs."""
    return cluster.mds_options(TO_AUTH, TICK)


def hurried(cluster: Cluster) -> list[float]:
    """How often MDSs tick that were told so at run time, s."""
    found = (cluster.ask(rank, "config diff get", var=TICK)["diff"].get(TICK, {}) for rank in range(4))
    return [levels["override"] for levels in found if "override" in levels]


def undo(cluster: Cluster) -> None:
    cluster.module("scheduler stop", rollback=True)
    wait_for("all is undone", lambda: status(cluster)["mode"] == "off", LONG)
    wait_for("MDSs tick as before", lambda: not hurried(cluster))


def test_a_hot_rank_is_spread_and_all_is_undone(uneven: Cluster) -> None:
    before, settings, to_auth = uneven.pins(), uneven.fs_settings(), option(uneven)
    uneven.module("scheduler start", mode="act")
    wait_for("all MDSs tick every second", lambda: hurried(uneven) == [1.0] * 4, LONG)
    wait_even(uneven)
    assert option(uneven) == {TO_AUTH: "true"}
    # Three ranks may have less than that each.
    pins = wait_for("every other rank has something", lambda: _pins_of_all(uneven, {1, 2, 3}))
    moved = uneven.module_json("scheduler history")
    assert {move["path"] for turn in moved for move in turn["moves"]} >= set(pins)
    assert all(move["why"] for turn in moved for move in turn["moves"])
    _new_directories_get_ranks(uneven)
    refused = uneven.cli("mds_partitioner", "partition", "rollback", FS)
    assert refused.code != 0 and "scheduler stop" in refused.err
    undo(uneven)
    assert (uneven.pins(), uneven.fs_settings(), option(uneven)) == (before, settings, to_auth)
    assert uneven.plans() == [] and status(uneven)["under_way"] == []


def _pins_of_all(cluster: Cluster, ranks: set[int]) -> dict[str, int] | None:
    """What is pinned, if each of these ranks has some of it."""
    pins = {path: rank for path, rank in cluster.pins().items() if rank >= 0}
    return pins if ranks <= set(pins.values()) else None


def _new_directories_get_ranks(cluster: Cluster) -> None:
    """Subvolumes and directories beside them are pinned while they are empty; then they are removed."""
    new = [f"{NOGROUP}/new{i}" for i in range(8)] + [f"/beside{i}" for i in range(8)]
    cluster.inside("mkdirs", new)
    try:
        wait_for("they are on ranks of their own", lambda: len(_ranks(cluster, new)) >= 3)
        asked = [m for t in cluster.module_json("scheduler history") for m in t["moves"] if m["path"] in new]
        assert asked and all("entry" in move["why"] for move in asked)
    finally:
        for path in new:
            cluster.inside("rmtree", path)


def _ranks(cluster: Cluster, paths: Sequence[str]) -> set[int]:
    """Those that directories are pinned to."""
    pins = cluster.pins("/")
    return {pins[path] for path in paths if pins.get(path, -1) >= 0}


def test_advice_changes_nothing(uneven: Cluster) -> None:
    before, settings, to_auth = uneven.pins(), uneven.fs_settings(), option(uneven)
    uneven.set(imbalance_epochs=3)
    uneven.module("scheduler start")
    wait_for("there is advice", lambda: status(uneven)["decisions"], LONG)
    advised = "MDS_PARTITIONER_SCHEDULER_ADVISES"
    wait_for("the operator is told", lambda: advised in uneven.health(), LONG)
    assert (uneven.pins(), uneven.fs_settings(), option(uneven)) == (before, settings, to_auth)
    uneven.module("scheduler stop")
    wait_for("there is nothing to tell any more", lambda: advised not in uneven.health())
    uneven.set(imbalance_epochs=30)


def test_the_next_manager_goes_on(uneven: Cluster) -> None:
    before, name = uneven.pins(), uneven.active_mgr()
    uneven.set(scheduler_moves=1)
    try:
        uneven.module("scheduler start", mode="act")
        wait_for("it has begun", lambda: status(uneven)["decisions"], LONG)
        wait_for("MDSs tick every second", lambda: hurried(uneven), LONG)
        known = uneven.module_json("scheduler history")
        uneven.kill_mgr(name)
        wait_for("another manager", lambda: uneven.active_mgr() not in ("", name))
        wait_for("the module answers", uneven.module_answers)
        assert status(uneven)["mode"] == "act"
        again = uneven.module_json("scheduler history")
        assert [turn["why"] for turn in again[: len(known)]] == [turn["why"] for turn in known]
        uneven.set(scheduler_moves=64)
        wait_even(uneven)
        undo(uneven)
        assert uneven.pins() == before
    finally:
        uneven.set(scheduler_moves=64)
        if not uneven.mgr_pids().get(f"mgr.{name}"):
            uneven.lab.start(f"mgr.{name}")


@pytest.mark.every_release_alike
def test_an_emergency_stop_ends_in_advice(uneven: Cluster) -> None:
    before = uneven.pins()
    uneven.module("scheduler start", mode="act")
    wait_for("it has begun", lambda: status(uneven)["decisions"], LONG)
    assert "only advises now" in uneven.module("partition stop")
    assert status(uneven)["mode"] == "advise"
    undo(uneven)
    assert uneven.pins() == before
