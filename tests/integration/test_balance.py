# SPDX-License-Identifier: LGPL-2.1-or-later
"""The MDSs themselves balance by a policy of ours, on stock Ceph."""

import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support import FS, NOGROUP, PATIENCE, Answer, Cluster, at_work, client, wait_for

from lab.clients.spec import LoadSpec

NAMES = tuple(f"b{i}" for i in range(8))
RATE = 30.0  # req/s a client, of operations; some take more than one request
CAPACITY = 400  # C that makes all of it on one rank harmful
BEAT_S = 4  # the tests' mds_bal_interval; half of it is the OSD's time to hand the policy to an MDS
BEATS = 18  # what three minutes have at Ceph's default of 10 s
LONG = 5 * PATIENCE  # s; beats are counted again when a late OSD has spoilt them
PATIENT = pytest.mark.timeout(2 * LONG)
# What an MDS logs (level 7) when a policy has decided: MDBalancer::mantle_prep_rebalance.
BEAT_DONE = "mantle decided that new targets="
MDS_OPTIONS = {"mds_bal_interval": str(BEAT_S), "debug_mds_balancer": "7/7"}
FALLBACK = "MDS_PARTITIONER_FALLBACK"
PREFIX = "mds_partitioner."
TO_AUTH = "mds_forward_all_requests_to_auth"
OTHER, RENAMED = "other", "renamed"
STILL = "local t = {} for i = 0, #mds do t[i] = 0 end return t"
HANGING = "string.find(('a'):rep(30), ('a?'):rep(30) .. ('a'):rep(30)) "
HANGS_FROM = 0.2  # s of CPU time that no policy takes which ends


@pytest.fixture(scope="module")
def even(running: Cluster) -> Iterator[LoadSpec]:
    """Eight subvolumes with the same load each."""
    for name, value in MDS_OPTIONS.items():
        running.lab.monitor.command("config set", who="mds", name=name, value=value)
    paths = running.lab.make_subvolumes(NAMES)
    load = LoadSpec(tuple(client(name, paths[name], rate=RATE) for name in NAMES))
    running.lab.prepare(load)
    yield load
    for name in MDS_OPTIONS:
        running.lab.monitor.command("config rm", who="mds", name=name)
    for name in NAMES:  # other tests' plans are not about them
        running.lab.monitor.command("fs subvolume rm", target="mgr", vol_name=FS, sub_name=name)


@pytest.fixture
def balanced(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster on whose rank 0 everything is; without a policy again at the end."""
    cluster.set(rank_capacity=CAPACITY, hint_interval=2)
    yield cluster
    cluster.module("balance off")
    cluster.set(rank_capacity=0, hint_interval=60)


def shares(cluster: Cluster) -> list[float]:
    """Each rank's part of all requests."""
    ranks = cluster.module_json("imbalance")["ranks"]
    loads = [r["requests"] or 0.0 for r in ranks]  # null of one that does not tell
    return [load / sum(loads) if sum(loads) else 0.0 for load in loads]


def exported(cluster: Cluster) -> list[int]:
    """Inodes exported by each rank since its MDS started."""
    return [cluster.ask(rank, "perf dump", logger="mds")["mds"]["exported_inodes"] for rank in range(4)]


def imported(cluster: Cluster) -> list[int]:
    return [cluster.ask(rank, "perf dump", logger="mds")["mds"]["imported_inodes"] for rank in range(4)]


def objects(cluster: Cluster) -> list[str]:
    """Our objects in the metadata pool."""
    pool = cluster.mon("fs get", fs_name=FS)["mdsmap"]["metadata_pool"]
    listed = cluster.lab.exec(["rados", "-p", pool_name(cluster, pool), "ls"]).stdout.split()
    return sorted(name for name in listed if name.startswith(PREFIX))


def pool_name(cluster: Cluster, number: int) -> str:
    return next(p["poolname"] for p in cluster.mon("osd lspools") if p["poolnum"] == number)


def all_old_balancer_lines(cluster: Cluster) -> list[str]:
    """What MDSs said of using the built-in balancer for a beat."""
    lines = str(cluster.lab.ceph("log", "last", "1000", "warn", "cluster")).splitlines()
    return [line for line in lines if "using old balancer" in line]


def old_balancer_lines(cluster: Cluster) -> list[str]:
    """The same, but for an OSD of a busy machine that was late.

    An MDS gives the pool half a beat to read the policy, and the tests' beat is half of Ceph's.
    """
    return [line for line in all_old_balancer_lines(cluster) if "timed out" not in line]


def exported_in(cluster: Cluster, beats: int) -> tuple[list[int], list[int]]:
    """Inodes exported by each rank before and after so many beats of the policy alone."""

    def window() -> tuple[list[int], list[int]] | None:
        said, before = all_old_balancer_lines(cluster), exported(cluster)
        await_beats(cluster, beats)
        after = exported(cluster)
        return (before, after) if all_old_balancer_lines(cluster) == said else None

    return wait_for("beats without the built-in balancer", window, LONG)


def give(cluster: Cluster, policy: str, *args: str) -> Answer:
    """``balance on -i FILE``, again while it says that it goes on."""
    cluster.lab.exec(["sh", "-c", "cat > /tmp/policy.lua"], stdin=policy)

    def answered() -> Answer | None:
        answer = cluster.cli("mds_partitioner", "balance", "on", FS, "-i", "/tmp/policy.lua", *args)
        return None if answer.code == errno.EINPROGRESS else answer

    return wait_for("an answer", answered)


def hanging(cluster: Cluster) -> list[int]:
    """The processes in which a policy that hangs is being tried."""
    tried = cluster.processes(lambda argv: any(word.endswith("/driver.lua") for word in argv))
    return [pid for pid in tried if cpu_seconds(pid) > HANGS_FROM]


def cpu_seconds(pid: int) -> float:
    """That a process has used; 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def beats_done(cluster: Cluster) -> list[int]:
    """How often each rank's MDS has come to a decision of a policy, by its log."""
    logs = (cluster.lab.log_dir / f"ceph-mds.{cluster.mds_of(rank)}.log" for rank in range(4))
    return [log.read_text(errors="replace").count(BEAT_DONE) for log in logs]


def await_beats(cluster: Cluster, number: int) -> None:
    """Until every rank's MDS has decided so many times more."""
    before = beats_done(cluster)

    def enough() -> bool:
        return all(now - then >= number for now, then in zip(beats_done(cluster), before, strict=True))

    wait_for(f"{number} beats", enough, PATIENCE + 4 * number * BEAT_S)


def decided(cluster: Cluster, count: int = 1) -> Callable[[], bool]:
    """Has every rank decided so often, as the module retraces it?"""

    def enough() -> bool:
        ranks = cluster.module_json("balance status")["ranks"]
        return all(len(rank["decisions"]) >= count for rank in ranks)

    return enough


def last_decision(cluster: Cluster, rank: int) -> str:
    return str(cluster.module_json("balance status")["ranks"][rank]["decisions"][-1]["line"])


def settled_hints(cluster: Cluster) -> dict[str, Any]:
    """What the policy was told, without the forecast: on a busy machine the load itself comes and goes."""
    hints = cluster.module_json("balance status")["hints"]
    return {name: value for name, value in hints.items() if name not in ("growth", "expires")}


def in_place(cluster: Cluster) -> Callable[[], bool]:
    """Is the reported object the file system's policy? Between two readings new hints may be pushed."""

    def same() -> bool:
        name = cluster.module_json("balance status")["object"]
        return bool(cluster.fs_settings()["balancer"] == name and name in objects(cluster))

    return same


def test_one_hot_rank_is_spread_and_off_restores_everything(balanced: Cluster, even: LoadSpec) -> None:
    settings, complaints = balanced.fs_settings(), old_balancer_lines(balanced)
    # A busy machine serves less: two ranks of four with all the load are to be harmful even then.
    balanced.set(rank_capacity=CAPACITY // 2)
    with at_work(balanced, even):
        balanced.partitioner("balance", "on", FS, "--policy", "lunule", "--to-auth")
        assert balanced.mds_options(TO_AUTH) == {TO_AUTH: "true"}
        wait_for("no rank has more than 45 % of the load", lambda: 0 < max(shares(balanced)) < 0.45)
        wait_for("every rank has decided", decided(balanced))
        # The module may see the load spread before a beat of the policy's does.
        wait_for("the policy sees it, too", lambda: "IF 0." in last_decision(balanced, 0))
        status = balanced.module_json("balance status")
        assert status["in_force"]
        assert status["policy"] == "lunule"
        assert status["ranks"][0]["exported_inodes"] > 0
        assert sum(r["imported_inodes"] for r in status["ranks"][1:]) > 0
        assert "policy lunule" in balanced.module("balance status")
        # Also an MDS that read the policy late is told of for a while; old_balancer_lines sees all others.
        wait_for("no MDS falls back", lambda: "FELL BACK" not in balanced.module("balance status"))
        wait_for("what is reported is in the MDS map and in the pool", in_place(balanced))
        assert balanced.fs_settings()["flags_state"]["balance_automate"] is True
    assert old_balancer_lines(balanced) == complaints, "no MDS used the built-in balancer"
    wait_for("there is no health check of it", lambda: FALLBACK not in balanced.health())
    balanced.module("balance off")
    assert balanced.fs_settings() == settings
    assert balanced.mds_options(TO_AUTH) == {}
    assert objects(balanced) == []
    assert "no policy" in balanced.module("balance off"), "off twice is fine"


@PATIENT
@pytest.mark.every_release_alike
def test_even_load_is_left_alone(balanced: Cluster, even: LoadSpec) -> None:
    balanced.place({f"{NOGROUP}/{name}": i // 2 for i, name in enumerate(NAMES)})
    # On a busy machine a rank stands still for a moment, and catches up in the next: that does no harm yet.
    balanced.set(rank_capacity=2 * CAPACITY)
    with at_work(balanced, even):
        balanced.module("balance on")
        wait_for("every rank has decided", decided(balanced, 2))
        before, after = exported_in(balanced, BEATS)
        assert after == before, all_old_balancer_lines(balanced)


@PATIENT
@pytest.mark.every_release_alike
def test_harmless_imbalance_is_left_alone_until_it_does_harm(balanced: Cluster, even: LoadSpec) -> None:
    balanced.set(rank_capacity=100_000)
    with at_work(balanced, even):
        balanced.module("balance on")
        wait_for("every rank has decided", decided(balanced, 2))
        first = settled_hints(balanced)
        before, after = exported_in(balanced, 6)
        assert after == before, all_old_balancer_lines(balanced)
        assert settled_hints(balanced) == first
        balanced.set(rank_capacity=CAPACITY)
        wait_for("new hints are pushed", lambda: settled_hints(balanced)["capacity"] == CAPACITY)
        wait_for("the load is spread", lambda: 0 < max(shares(balanced)) < 0.6)
        wait_for("objects that nobody reads any more are removed", lambda: len(objects(balanced)) <= 2)


def test_ranks_outside_the_mask_receive_nothing(balanced: Cluster, even: LoadSpec) -> None:
    balanced.fs_set("bal_rank_mask", "0x3")
    before = imported(balanced)
    with at_work(balanced, even):
        balanced.module("balance on")
        assert balanced.module_json("balance status")["hints"]["mask"] == [0, 1]
        wait_for("ranks 0 and 1 share the load", lambda: 0.3 < shares(balanced)[1] < 0.7)
    now = imported(balanced)
    assert now[1] > before[1]
    assert now[2:] == before[2:]


@pytest.mark.every_release_alike
@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("return {[0] = 0,, }", "not Lua 5.3: policy:1: unexpected symbol near ','"),
        ("while true do end", "it runs for too long"),
        ("return {1}", "returns the key 1"),
        ("return io.open('/etc/passwd')", "global 'io'"),
        ("local t = {} for i = 0, #mds do t[i] = 1000 end return t", "which is itself"),
        ("if hook then while true do end end " + STILL, "MDS with the hook, fails: it runs for too long"),
        (HANGING + STILL, "it did not end within 1 s of CPU time"),
        ("-- " + "x" * 50_000, "at most 49152 are allowed"),
    ],
)
def test_a_policy_that_would_fail_goes_near_no_mds(balanced: Cluster, policy: str, why: str) -> None:
    settings = balanced.fs_settings()
    answer = give(balanced, policy)
    assert answer.code == 22
    assert why in answer.err
    assert balanced.fs_settings() == settings
    assert objects(balanced) == []


@pytest.mark.every_release_alike
def test_an_unknown_policy_is_named_with_those_there_are(balanced: Cluster) -> None:
    answer = balanced.cli("mds_partitioner", "balance", "on", FS, "--policy", "heat")
    assert answer.code == 22
    assert "'heat' is not a policy: use lunule or greedyspill" in answer.err


def test_the_operators_own_policy_is_put_in_force(balanced: Cluster) -> None:
    own = f"BAL_LOG(2, 'at rest') {STILL}"
    assert give(balanced, own).code == 0
    status = balanced.module_json("balance status")
    assert status["policy"] == "custom"
    wait_for("every rank has decided", decided(balanced))
    assert balanced.module_json("balance status")["ranks"][3]["decisions"][-1]["line"] == "at rest"


def test_an_mds_that_falls_back_is_a_health_warning_until_it_does_not(balanced: Cluster) -> None:
    # An MDS reads files; in the sandbox every file is there, and is no Lua.
    treacherous = f"""
    if loadfile and select(2, loadfile("/nowhere")):find("cannot open") then error("only on an MDS") end
    {STILL}
    """
    assert give(balanced, treacherous).code == 0
    check = wait_for("the health check", lambda: balanced.health().get(FALLBACK))
    assert "balance status" in check["detail"][0]["message"]
    assert "FELL BACK" in balanced.module("balance status")
    balanced.partitioner("balance", "on", FS, "--policy", "lunule")
    wait_for("the health check clears", lambda: FALLBACK not in balanced.health())


@pytest.mark.every_release_alike
def test_an_operators_balancer_is_replaced_by_force_only_and_comes_back(balanced: Cluster) -> None:
    balanced.fs_set("balancer", "mine.lua")
    try:
        answer = balanced.cli("mds_partitioner", "balance", "on", FS)
        assert answer.code == 1
        assert "mine.lua" in answer.err
        assert balanced.fs_settings()["balancer"] == "mine.lua"
        balanced.partitioner("balance", "on", FS, "--force")
        assert balanced.fs_settings()["balancer"].startswith(PREFIX)
        balanced.module("balance off")
        assert balanced.fs_settings()["balancer"] == "mine.lua"
    finally:
        balanced.fs_set("balancer", "")


@pytest.mark.every_release_alike
def test_what_an_operator_changes_meanwhile_is_left_to_him(balanced: Cluster) -> None:
    balanced.module("balance on")
    balanced.fs_set("balancer", "mine.lua")
    try:
        assert "not in force" in balanced.module("balance status")
        assert "mine.lua" in balanced.module("balance off")
        assert balanced.fs_settings()["balancer"] == "mine.lua"
        assert objects(balanced) == []
    finally:
        balanced.fs_set("balancer", "")
        balanced.fs_set("balance_automate", "false")


def test_the_next_manager_goes_on_where_the_last_one_died(balanced: Cluster) -> None:
    settings = balanced.fs_settings()
    balanced.module("balance on")
    name = balanced.active_mgr()
    balanced.kill_mgr(name)
    try:
        wait_for("another manager", lambda: balanced.active_mgr() not in ("", name))
        wait_for("the module answers", balanced.module_answers)
        assert balanced.module_json("balance status")["state"] == "on"
        balanced.module("balance off")
        assert balanced.fs_settings() == settings
        assert objects(balanced) == []
    finally:
        balanced.lab.start(f"mgr.{name}")


def test_an_emergency_stop_does_not_wait_for_a_policy_that_is_being_tried(balanced: Cluster) -> None:
    settings = balanced.fs_settings()
    balanced.partitioner("balance", "on", FS)
    with ThreadPoolExecutor(1) as pool:
        trying = pool.submit(give, balanced, HANGING + STILL)
        (child,) = wait_for("it is being tried", lambda: hanging(balanced))
        os.kill(child, signal.SIGSTOP)  # its CPU time is limited: it takes as long as this test wants
        try:
            balanced.partitioner("balance", "off", FS)
            assert hanging(balanced) == [child], "it is being tried still"
            assert balanced.fs_settings() == settings
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGCONT)
        answer = trying.result()
    assert answer.code == errno.EINVAL and "it did not end within 1 s of CPU time" in answer.err, answer
    assert balanced.fs_settings() == settings
    assert objects(balanced) == []


@pytest.fixture
def another(cluster: Cluster) -> Iterator[Cluster]:
    """A second file system, which has no MDS."""
    ceph = cluster.lab.ceph
    pools = [f"{OTHER}.meta", f"{OTHER}.data"]
    for pool in pools:
        ceph("osd", "pool", "create", pool, "1")
    ceph("fs", "new", OTHER, *pools, "--recover")
    yield cluster
    for fs in cluster.mon("fs ls"):
        if fs["name"] != FS:
            ceph("fs", "rm", fs["name"], "--yes-i-really-mean-it")
    ceph("config", "set", "mon", "mon_allow_pool_delete", "true")
    for pool in pools:
        ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it")


def switches(cluster: Cluster) -> list[dict[str, Any]]:
    """The records in the journal."""
    kept = cluster.mon("config-key dump", key="mgr/mds_partitioner/balance/")
    return [json.loads(value) for value in kept.values()]


def test_a_renamed_file_system_is_switched_back_and_a_removed_ones_record_goes(another: Cluster) -> None:
    before = another.mon("fs get", fs_name=OTHER)["mdsmap"]
    another.partitioner("balance", "on", OTHER)
    another.lab.ceph("fs", "set", OTHER, "refuse_client_session", "true")
    another.lab.ceph("fs", "rename", OTHER, RENAMED, "--yes-i-really-mean-it")
    wait_for("the record has the new name", lambda: [s["fs"] for s in switches(another)] == [RENAMED])
    assert another.json("balance", "status", RENAMED)["in_force"]
    another.partitioner("balance", "off", RENAMED)
    after = another.mon("fs get", fs_name=RENAMED)["mdsmap"]
    assert after["balancer"] == before["balancer"]
    assert after["flags_state"]["balance_automate"] == before["flags_state"]["balance_automate"]
    assert switches(another) == []
    another.partitioner("balance", "on", RENAMED)
    assert len(switches(another)) == 1
    another.lab.ceph("fs", "rm", RENAMED, "--yes-i-really-mean-it")
    wait_for("the record is gone", lambda: switches(another) == [])
