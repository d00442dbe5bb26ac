# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the ``scheduler`` commands show, and how ``partition`` commands reach the scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from scheduled import Cluster, Manager, fewer

from mds_partitioner import desk
from mds_partitioner.clock import Now
from mds_partitioner.commands.partition import PartitionCommands
from mds_partitioner.commands.scheduler import SchedulerCommands
from mds_partitioner.monitor.sampler import scheduler_state

COLUMNS = 100


class Module(PartitionCommands, SchedulerCommands):
    """Nothing but the commands, on a cluster in memory."""

    def __init__(self, manager: Manager) -> None:
        self.desk = desk.Desk()
        self.manager = manager
        host: Any = manager.cluster
        self.host, self.partitioner, self.scheduling = host, manager.partitioner, manager.scheduling

    def wake(self) -> None:
        """After each command."""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    monkeypatch.setattr(desk, "PATIENCE", 600.0)  # s: however busy this machine is
    made = Module(Manager(Cluster(), fewer(scheduler_moves=2)))
    yield made
    made.desk.shutdown()


def shown(answer: Any) -> str:
    assert answer.retval == 0, answer
    assert max(map(len, answer.stdout.splitlines())) <= COLUMNS
    return str(answer.stdout)


def test_a_scheduler_that_was_never_started_is_off(module: Module) -> None:
    assert "is off: start it with" in shown(module.scheduler_status())
    assert json.loads(module.scheduler_status(format="json").stdout) == {"fs": "cephfs", "mode": "off"}
    assert module.scheduler_history().retval < 0
    assert module.scheduler_stop().retval < 0


def test_hot_spots_are_named_with_rank_clients_and_share(module: Module) -> None:
    cluster = module.manager.cluster
    assert module.hotspots().retval < 0, "nobody looks"
    shown(module.scheduler_start())
    assert "no directory has much more" in shown(module.hotspots())
    module.manager.run(60)
    cluster.load[103] = 900.0
    module.manager.run(60)
    text = shown(module.hotspots())
    assert "sudden" in text and "s3" in text
    (spot,) = [s for s in json.loads(module.hotspots(format="json").stdout) if s["kind"] == "sudden"]
    assert (spot["path"].rpartition("/")[2], spot["rank"], spot["clients"]) == ("s3", 0, 1)
    assert spot["share"] == pytest.approx(900 / 1600, abs=0.1)
    assert cluster.wall - 65 <= spot["since"] <= cluster.wall - 40
    cluster.silent = {"m0"}
    assert json.loads(module.hotspots(format="json").stdout)[0]["clients"] is None


def test_a_status_tells_mode_ranks_and_decisions(module: Module) -> None:
    module.manager.cluster.lag = 3
    assert "'cephfs' advises" in shown(module.scheduler_start())
    assert "acts; see 'ceph mds_partitioner scheduler status'" in shown(module.scheduler_start(mode="act"))
    module.manager.run(2)
    text = shown(module.scheduler_status())
    for part in ("acts (since", "Rank", "full", "under way: 2 moves of 2,000 inodes", "last decisions:"):
        assert part in text
    module.manager.run(60)
    value = json.loads(module.scheduler_status(format="json").stdout)
    assert (value["mode"], value["state"], len(value["ranks"])) == ("act", "even", 4)
    assert [rank["requests"] for rank in value["ranks"]] == [200.0] * 4
    assert value["decisions"][0]["real_gain"] is not None
    assert value["next_look"] <= 5.0


def test_history_tells_of_each_move_or_of_one_directory(module: Module) -> None:
    module.scheduler_start(mode="act")
    assert "no decision yet" in shown(module.scheduler_history())
    module.manager.run(60)
    text = shown(module.scheduler_history())
    assert text.count("there") == 6
    moved = json.loads(module.scheduler_history(format="json").stdout)[0]["moves"][0]
    assert "req/s, relieves rank 0 by" in moved["why"]
    one = shown(module.scheduler_history(directory=moved["path"]))
    assert one.count("there") == 1 and moved["path"] in one
    assert "was not moved" in shown(module.scheduler_history(directory="/volumes/_nogroup/none"))


def test_a_stop_for_emergencies_ends_both(module: Module) -> None:
    module.manager.cluster.lag = 20
    module.scheduler_start(mode="act")
    module.manager.run(3)
    text = module.partition_stop().stdout
    assert "stopped" in text and "only advises now" in text
    assert module.scheduling.get(module.manager.fs).mode == "advise"
    assert module.partition_stop().retval < 0, "nothing acts any more"


def test_a_pause_holds_both_also_while_no_plan_is_under_way(module: Module) -> None:
    module.scheduler_start(mode="act")
    assert "is paused" in shown(module.partition_pause())
    assert "acts, paused" in shown(module.scheduler_status())
    module.manager.run(10)
    assert module.partitioner.all(module.manager.fs) == []
    assert "goes on" in shown(module.partition_resume())
    module.manager.run(10)
    assert module.partitioner.all(module.manager.fs) != []


def test_what_it_did_is_counted(module: Module) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(60)
    fs, cluster = module.manager.fs, module.manager.cluster
    state = scheduler_state(
        module.scheduling.get(fs), module.scheduling.watch(fs), Now(cluster.wall, cluster.steady)
    )
    assert (state.moves, state.inodes, state.under_way, state.advised) == (6, 6000.0, 0, 0)
    assert state.predicted > 0.0 and state.real > 0.0
