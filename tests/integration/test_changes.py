# SPDX-License-Identifier: LGPL-2.1-or-later
"""Subvolumes that are deleted or renamed while a plan is under way, and names that are hard to print."""

from collections.abc import Iterator

import pytest
from support import FS, NOGROUP, Cluster, at_work, client, wait_for

from lab.clients.spec import LoadSpec

HARD = [
    "two words",
    'quo\'te "double"',
    "new\nline",
    "tab\tand \\ backslash",
    "h\u00e9 \u65e5\u672c\u8a9e \U0001f40d",
    *(f"not utf-8 {i}: \udcff\udce9" for i in range(3)),
]


def loaded(cluster: Cluster, names: list[str]) -> LoadSpec:
    paths = [f"{NOGROUP}/{name}" for name in names]
    cluster.inside("mkdirs", paths)
    clients = [client(f"c{i}", path, rate=30, dirs=2, files=10) for i, path in enumerate(paths)]
    load = LoadSpec(tuple(clients))
    cluster.lab.prepare(load)
    return load


@pytest.fixture
def six(cluster: Cluster) -> Iterator[dict[str, int]]:
    """A plan, not started, that moves several of six equal directories: the ranks, by path."""
    names = [f"six{i}" for i in range(6)]
    load = loaded(cluster, names)
    with at_work(cluster, load):
        cluster.analyze(6, [f"{NOGROUP}/{name}" for name in names])
    cluster.set(max_moves=1)
    plan = cluster.plan("--heavy", "fanout")
    pins = {step["target"]: int(step["value"]) for step in plan["steps"]}
    assert len(pins) >= 4, plan["commands"]
    yield pins
    cluster.reset()
    left = [p for p in cluster.pins(NOGROUP) if p.count("/") == 3]
    for path in left:
        if "/six" in path or "/moved" in path:
            cluster.inside("rmtree", path)


@pytest.mark.every_release_alike
def test_a_subvolume_deleted_mid_plan_is_skipped_and_the_rest_is_done(
    cluster: Cluster, six: dict[str, int]
) -> None:
    *_, victim = six
    cluster.module("partition start")
    cluster.module("partition pause")
    before = cluster.status()
    assert next(s for s in before["steps"] if victim in s["command"])["state"] == "ready"
    cluster.inside("rmtree", victim)
    cluster.set(max_moves=16)
    cluster.module("partition resume")
    done = cluster.wait_state("done")
    skipped = [step for step in done["steps"] if step["state"] == "skipped"]
    assert len(skipped) == 1 and victim in skipped[0]["why"] and "deleted" in skipped[0]["why"]
    assert {s["state"] for s in done["steps"] if s not in skipped} == {"done"}
    row = next(row for row in done["subvolumes"] if row["path"] == victim)
    assert row["status"] == "Skipped"
    pins = cluster.pins(NOGROUP)
    rest = {path: rank for path, rank in six.items() if path != victim}
    assert {path: pins[path] for path in rest} == rest
    cluster.module("partition rollback")
    cluster.wait_state("rolled-back")
    assert set(cluster.pins(NOGROUP).values()) == {-1}


@pytest.mark.every_release_alike
def test_a_subvolume_deleted_after_its_move_does_not_stop_the_rollback(
    cluster: Cluster, six: dict[str, int]
) -> None:
    victim, *_ = six
    cluster.set(max_moves=16)
    cluster.module("partition start")
    cluster.wait_state("done")
    cluster.inside("rmtree", victim)
    cluster.module("partition rollback")
    ended = cluster.wait_state("rolled-back")
    kept = [step for step in ended["steps"] if step["state"] == "kept"]
    assert len(kept) == 1 and victim in kept[0]["why"]
    assert set(cluster.pins(NOGROUP).values()) == {-1}


def test_a_subvolume_renamed_mid_plan_is_followed(cluster: Cluster, six: dict[str, int]) -> None:
    *_, victim = six
    moved = f"{NOGROUP}/moved away"
    cluster.module("partition start")
    cluster.module("partition pause")
    cluster.inside("rename", [victim, moved])
    cluster.set(max_moves=16)
    cluster.module("partition resume")
    done = cluster.wait_state("done")
    assert {s["state"] for s in done["steps"]} == {"done"}
    pins = cluster.pins(NOGROUP)
    assert pins[moved] == six[victim]
    assert {p: pins[p] for p in six if p != victim} == {p: r for p, r in six.items() if p != victim}
    cluster.module("partition rollback")
    cluster.wait_state("rolled-back")
    assert set(cluster.pins(NOGROUP).values()) == {-1}


@pytest.mark.every_release_alike
def test_another_directory_in_the_place_of_a_planned_one_is_not_pinned(
    cluster: Cluster, six: dict[str, int]
) -> None:
    *_, victim = six
    cluster.module("partition start")
    cluster.module("partition pause")
    cluster.inside("rmtree", victim)
    cluster.inside("mkdirs", [victim])
    cluster.set(max_moves=16)
    cluster.module("partition resume")
    done = cluster.wait_state("done")
    assert [s["state"] for s in done["steps"] if victim in s["command"]] == ["skipped"]
    assert cluster.pins(NOGROUP)[victim] == -1


def test_whatever_bytes_a_name_has_it_is_analyzed_pinned_and_rolled_back(
    cluster: Cluster,
) -> None:
    load = loaded(cluster, HARD)
    paths = [f"{NOGROUP}/{name}" for name in HARD]
    try:
        with at_work(cluster, load):
            result = cluster.analyze(6, paths)
        assert {row["path"] for row in result["directories"]} == set(paths)
        assert all(row["reqs"] > 5 for row in result["directories"]), result["directories"]
        plan = cluster.plan("--heavy", "fanout")
        pins = {step["target"]: int(step["value"]) for step in plan["steps"]}
        assert len(set(pins) & set(paths)) >= 3
        assert set(pins) & set(paths[-3:]), "one that is not UTF-8 is pinned, and so waited for"
        _one_line_a_row(cluster.module("analyze status"), len(HARD))
        printed = cluster.partitioner("partition", "start", FS, "--dry-run", "--top", "0")
        assert len([line for line in printed.splitlines() if "setfattr" in line]) == len(plan["steps"])
        cluster.module("partition start")
        cluster.wait_state("done")
        _one_line_a_row(cluster.module("partition status"), len(HARD))
        now = cluster.pins(NOGROUP)
        assert {path: now[path] for path in pins} == pins
        cluster.module("partition rollback")
        cluster.wait_state("rolled-back")
        assert set(cluster.pins(NOGROUP).values()) == {-1}
        wait_for("home again", lambda: set(cluster.authority_below("/volumes").values()) <= {0})
    finally:
        cluster.reset()
        for path in paths:
            cluster.inside("rmtree", path)


def _one_line_a_row(text: str, rows: int) -> None:
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("Name"))
    table = lines[head + 1 : head + 1 + rows]
    assert all(line.startswith("/volumes/_nogrou") for line in table), text  # long names are cut
    assert all(line.isprintable() for line in lines)
