# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module in the manager: it loads, tests itself, and stays out of the way of others."""

import json

from support import Cluster

READING = {
    *("status", "imbalance", "analyze status", "partition status", "partition ls", "balance status"),
    *("scheduler status", "scheduler history", "hotspots"),
}
WRITING = {
    *("analyze start", "analyze stop", "balance on", "balance off"),
    *("partition plan", "partition start", "partition pause", "partition resume", "partition stop"),
    *("partition rollback", "partition rm", "scheduler start", "scheduler stop"),
}

MODULE_TROUBLE = {"MGR_MODULE_ERROR", "MGR_MODULE_DEPENDENCY"}


def test_it_loads_and_no_manager_module_is_in_error(cluster: Cluster) -> None:
    modules = cluster.mon("mgr module ls")
    assert "mds_partitioner" in modules["enabled_modules"]
    assert not MODULE_TROUBLE & set(cluster.health())


def test_every_manager_says_that_it_can_run(cluster: Cluster) -> None:
    dump = cluster.mon("mgr dump")
    hosts = {"active": dump["available_modules"]}
    hosts |= {standby["name"]: standby["available_modules"] for standby in dump["standbys"]}
    assert len(hosts) == 2
    for name, modules in hosts.items():
        ours = next(m for m in modules if m["name"] == "mds_partitioner")
        assert ours["can_run"], f"manager {name}: {ours['error_string']}"


def test_the_self_test_passes(cluster: Cluster) -> None:
    answer = cluster.cli("mgr", "self-test", "module", "mds_partitioner")
    assert answer.code == 0, answer.err


def test_options_are_described_and_typed(cluster: Cluster) -> None:
    dump = cluster.mon("mgr dump")
    ours = next(m for m in dump["available_modules"] if m["name"] == "mds_partitioner")
    options = ours["module_options"]
    named = {"epoch", "max_moves", "rest_period", "engine_deadline"}
    assert named <= set(options)
    assert all(options[name]["desc"] for name in named)
    refused = cluster.cli("config", "set", "mgr", "mgr/mds_partitioner/max_moves", "many")
    assert refused.code == 22


def test_every_command_is_registered_with_its_help_and_permission(cluster: Cluster) -> None:
    described = json.loads(cluster.lab.monitor.command("get_command_descriptions", target="mgr")).values()
    perms = {}
    for command in described:
        words = [word for word in command["sig"] if isinstance(word, str)]
        if words[:1] == ["mds_partitioner"]:
            perms[" ".join(words[1:])] = command["perm"]
            assert len(command["help"]) > 20, command
            named = {word["name"]: word for word in command["sig"] if isinstance(word, dict)}
            assert not named["format"]["req"], command
            assert "inbuf" not in named and "self" not in named, command
    assert perms == {**dict.fromkeys(READING, "r"), **dict.fromkeys(WRITING, "w")}


def test_status_names_the_file_system(cluster: Cluster) -> None:
    (row,) = cluster.json("status")
    assert (row["fs"], row["ranks"]) == ("cephfs", 4)
