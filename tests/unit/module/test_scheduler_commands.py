# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the ``scheduler`` commands show, and how ``partition`` commands reach the scheduler."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import asdict, replace
from typing import Any

import pytest
from fake_cluster import Directory, plan
from scheduled import Cluster, Manager, fewer
from wcwidth import wcswidth

from mds_partitioner import desk
from mds_partitioner.act.choice import latest
from mds_partitioner.act.run import DONE, RUNNING, Run
from mds_partitioner.ceph.volumes import name_of
from mds_partitioner.commands.partition import PartitionCommands
from mds_partitioner.commands.scheduler import SchedulerCommands
from mds_partitioner.errors import BadInput, Unavailable
from mds_partitioner.judge.archive import decode
from mds_partitioner.model import ROOT, HealthCheck
from mds_partitioner.monitor.health import scheduler_advises
from mds_partitioner.monitor.sampler import scheduler_state
from mds_partitioner.monitor.state import FsSample, SchedulerState, Snapshot
from mds_partitioner.observe import roots
from mds_partitioner.observe.listing import MOST_ENTRIES
from mds_partitioner.report.overview import overview_text, removed_values
from mds_partitioner.report.partition import removed_state
from mds_partitioner.report.scheduler import LAST, PATH_WIDTH, One, history_text, history_value, meant
from mds_partitioner.report.text import cut
from mds_partitioner.schedule.core.state import Past
from mds_partitioner.schedule.core.view import Move
from mds_partitioner.schedule.record import ACT, Kept, Turn

COLUMNS = 100
SLOW = {"MDS_SLOW_REQUEST": HealthCheck("it waits then")}


class Module(PartitionCommands, SchedulerCommands):
    """Nothing but the commands, on a cluster in memory."""

    def __init__(self, manager: Manager) -> None:
        self.desk = desk.Desk()
        self.manager = manager
        host: Any = manager.cluster
        self.host, self.partitioner, self.planning = host, manager.partitioner, manager.planning
        self.scheduling, self.ledger = manager.scheduling, manager.ledger

    def wake(self) -> None:
        """After each command."""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    for patience in ("PATIENCE", "BUDGET"):
        monkeypatch.setattr(desk, patience, 600.0)  # s: however busy this machine is
    made = Module(Manager(Cluster(), fewer(scheduler_moves=2)))
    yield made
    made.desk.shutdown()


def shown(answer: Any) -> str:
    assert answer.retval == 0, answer
    assert max(map(len, answer.stdout.splitlines())) <= COLUMNS
    return str(answer.stdout)


def state_of(module: Module) -> SchedulerState:
    """As the endpoint and the health checks have it."""
    fs, scheduling = module.manager.fs, module.scheduling
    now = module.manager.cluster.now()
    return scheduler_state(scheduling.get(fs), scheduling.watch(fs), now, scheduling.stopped(fs))


def no_counter(mds: str, path: str) -> list[tuple[float, ...]]:
    raise Unavailable("no counter")


def test_a_scheduler_that_was_never_started_is_off(module: Module) -> None:
    assert "is off: start it with" in shown(module.scheduler_status())
    never = json.loads(module.scheduler_status(format="json").stdout)
    assert (never["fs"], never["mode"], never["since"], never["ranks"]) == ("cephfs", "off", None, [])
    assert module.scheduler_history().retval < 0
    for stopped in (module.scheduler_stop(), module.scheduler_stop(rollback=True)):
        assert "is off: start it with" in shown(stopped), "it is the first step of a removal"
    shown(module.scheduler_start())
    assert json.loads(module.scheduler_status(format="json").stdout).keys() == never.keys()


def test_a_first_start_that_is_refused_leaves_nothing(module: Module) -> None:
    cluster = module.manager.cluster
    cluster.state = replace(cluster.state, balance_automate=True)
    assert "has balance_automate on" in module.scheduler_start(mode="act").stderr
    assert json.loads(module.scheduler_status(format="json").stdout)["since"] is None
    assert module.scheduler_history().retval < 0


def test_a_balancer_that_a_plan_has_switched_on_is_ended_with_that_plan(module: Module) -> None:
    manager = module.manager
    manager.partitioner.plans.save(plan(manager.cluster, {105: 1}, "0x3"))
    module.partition_start(plan="p")
    manager.run(20)
    cure = "plan 'p' switched it on: run 'ceph mds_partitioner partition rollback cephfs p' first"
    refused = module.scheduler_start(mode="act").stderr
    assert cure in refused and "ceph fs set" not in refused
    module.scheduler_start()
    manager.run(5)
    assert cure in shown(module.scheduler_status()).replace("\n", " ")
    assert module.partition_rollback(plan="p").retval == 0
    assert "plan 'p' of 'cephfs' is rolling-back (0%): wait" in module.scheduler_start(mode="act").stderr
    manager.run(20)
    assert module.scheduler_start(mode="act").retval == 0


def test_a_plan_that_cannot_be_rolled_back_alone_is_not_named_as_the_cure(module: Module) -> None:
    manager, cluster = module.manager, module.manager.cluster
    manager.partitioner.plans.save(plan(cluster, {105: 1}, "0x3"))
    module.partition_start(plan="p")
    manager.run(20)
    cluster.state = replace(cluster.state, balance_automate=False)
    assert module.scheduler_start(mode="act").retval == 0
    manager.run(30)
    cluster.state = replace(cluster.state, balance_automate=True)
    manager.run(10)
    told = shown(module.scheduler_status()).replace("\n", " ")
    assert "run 'ceph fs set cephfs balance_automate false' first" in told and "rollback" not in told
    assert module.partition_rollback(plan="p").retval < 0, "plans of the scheduler came after it"


def test_ranks_that_a_mask_leaves_out_are_named(module: Module) -> None:
    manager, cluster = module.manager, module.manager.cluster

    def told(mask: str) -> tuple[str, list[int]]:
        cluster.state = replace(cluster.state, bal_rank_mask=mask)
        manager.run(10)
        value = json.loads(module.scheduler_status(format="json").stdout)
        assert value["bal_rank_mask"] == mask
        return shown(module.scheduler_status()), value["unused_ranks"]

    module.scheduler_start(mode="act")
    text, unused = told("0x3")
    assert "bal_rank_mask 0x3 keeps it to rank 0,1; not used: rank 2,3" in text and unused == [2, 3]
    for whole in ("-1", "0xf", "0x0"):
        text, unused = told(whole)
        assert "bal_rank_mask" not in text and unused == []
    module.scheduler_stop()
    text, unused = told("0x3")
    assert "bal_rank_mask" not in text and unused == []


def test_a_command_to_type_is_on_one_line(module: Module) -> None:
    cluster = module.manager.cluster
    cluster.state = replace(cluster.state, balance_automate=True)
    module.scheduler_start()
    module.manager.run(5)
    commands = re.findall(r"'ceph .*?'", module.scheduling.watch(module.manager.fs).decision.why)
    assert commands and all(command in shown(module.scheduler_status()) for command in commands)


def test_a_stop_ends_a_pause(module: Module) -> None:
    module.scheduler_start(mode="act")
    assert "is paused" in shown(module.partition_pause())
    assert "only advises now" in module.partition_stop().stdout
    kept = module.scheduling.get(module.manager.fs)
    assert (kept.mode, kept.paused) == ("advise", False)


def test_one_that_waits_tells_no_old_load(module: Module) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(30)
    value = json.loads(module.scheduler_status(format="json").stdout)
    assert value["ranks"] and value["imbalance_factor"] is not None
    module.manager.cluster.checks = SLOW
    module.manager.run(30)
    value = json.loads(module.scheduler_status(format="json").stdout)
    assert (value["ranks"], value["imbalance_factor"]) == ([], None)
    text = shown(module.scheduler_status())
    assert "it waits then" in text and "imbalance factor" not in text and "Capacity" not in text


def test_what_was_under_way_when_it_was_stopped_is_not_told_as_moving(module: Module) -> None:
    module.manager.cluster.lag = 20
    module.scheduler_start(mode="act")
    module.manager.run(5)
    assert "moving" in shown(module.scheduler_history())
    module.scheduler_stop()
    assert "moving" not in shown(module.scheduler_history())


def test_hot_spots_are_named_with_rank_clients_and_share(module: Module) -> None:
    cluster = module.manager.cluster
    assert module.hotspots().retval < 0, "nobody looks"
    shown(module.scheduler_start())
    assert "does not look now: it has not looked yet; see 'ceph" in module.hotspots().stderr
    assert state_of(module).hot is None
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
    module.scheduler_stop()
    assert "is off: start it with" in module.hotspots().stderr


def test_who_does_not_look_names_no_hot_spots(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, manager = module.manager.cluster, module.manager
    cluster.load[103] = 900.0
    module.scheduler_start(mode="act")
    manager.run(60)
    assert "s3" in shown(module.hotspots()) and state_of(module).hot

    def refused(why: str) -> None:
        answer = module.hotspots()
        assert answer.retval < 0 and f"the scheduler of 'cephfs' does not look now: {why}" in answer.stderr
        assert state_of(module).hot is None

    cluster.checks = SLOW
    manager.run(10)
    refused("MDS_SLOW_REQUEST: it waits then")
    cluster.checks = {}
    manager.run(20)
    assert "s3" in shown(module.hotspots())
    with monkeypatch.context() as failing:
        failing.setattr(cluster, "counter", no_counter)
        manager.run(10)
        assert "s3" in shown(module.hotspots()), "what was seen just now"
        manager.run(40)
        refused("no counter")
    cluster.lag = 20
    module.scheduler_stop(rollback=True)
    manager.run(5)
    refused("undoes what it did")


def test_even_is_what_acts_and_sees_every_rank_with_its_share(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, manager = module.manager.cluster, module.manager
    module.scheduler_start()
    manager.run(60)
    assert module.scheduling.watch(manager.fs).state.even and not state_of(module).even, "as it would be"
    module.scheduler_start(mode="act")
    assert not state_of(module).even, "it has not looked since"
    manager.run(60)
    assert state_of(module).even
    cluster.state = replace(cluster.state, bal_rank_mask="0x7")
    manager.run(10)
    assert not state_of(module).even, "nobody looks at rank 3"
    cluster.state = replace(cluster.state, bal_rank_mask="-1")
    manager.run(60)
    assert state_of(module).even
    cluster.checks = SLOW
    manager.run(10)
    assert not state_of(module).even
    cluster.checks = {}
    manager.run(60)
    assert state_of(module).even
    monkeypatch.setattr(cluster, "counter", no_counter)
    manager.run(10)
    assert not state_of(module).even and state_of(module).problem == "no counter"


def test_a_scheduler_whose_look_hangs_finds_nothing_even(module: Module) -> None:
    cluster, manager = module.manager.cluster, module.manager
    module.scheduler_start(mode="act")
    manager.run(60)
    assert state_of(module).even
    cluster.steady += 200.0
    assert state_of(module).even, "slow MDSs take long to answer"
    cluster.steady += 200.0
    assert not state_of(module).even
    manager.run(60)
    assert state_of(module).even


def test_a_scheduler_that_is_to_look_at_once_still_finds_even_what_it_found(module: Module) -> None:
    module.manager.cluster.steady += 10_000.0
    module.scheduler_start(mode="act")
    module.manager.run(60)
    module.scheduling.watch(module.manager.fs).due = 0.0
    assert state_of(module).even
    module.manager.cluster.steady += 400.0
    assert not state_of(module).even


def test_a_status_shows_as_many_rows_as_are_asked_for(module: Module) -> None:
    module.manager.cluster.lag = 20
    module.scheduler_start(mode="act")
    module.manager.run(5)
    text = shown(module.scheduler_status(top=1))
    assert "under way: 2 moves" in text and text.count(" -> ") == 1
    assert "... and 1 more (--top 0 shows all)" in text
    text = shown(module.scheduler_status(top=0))
    assert text.count(" -> ") == 2 and "more (--top" not in text
    module.manager.cluster.lag = 1
    module.manager.run(60)
    decisions = len(module.scheduling.get(module.manager.fs).turns)
    assert decisions > 2
    for top, rows in ((2, 2), (0, decisions)):
        last = shown(module.scheduler_status(top=top)).partition("last decisions:\n")[2]
        assert len(last.partition("\n\n")[0].splitlines()) == rows


def test_the_history_of_one_directory_tells_of_no_other() -> None:
    move = Move(1, "/a", 0, 1, 10.0, 10.0, 5.0, "it relieves rank 0")
    both = (Past(move, 0.0), Past(replace(move, ino=2, path="/ab"), 0.0))
    left = ((1, "late"), (2, "pinned"))
    first = Turn(0.0, ACT, "2 moves", both, (10.0, 10.0), 0, 1.0, 2.0, left=left, split=("/b",))
    other = Turn(1.0, ACT, "/c is looked at as parts", (), (), 0, 1.0, 2.0, split=("/c",))
    bare = Turn(2.0, ACT, "nothing of it", (), (), 0, 1.0, 2.0)
    kept = Kept("cephfs", ACT, 0.0, (first, other, bare))
    told = ("/a was left", "/ab' was left", "/b is seen", "/c is seen", "nothing of it")
    all_of_it = history_text(kept, None, 0).replace("'/a'", "/a")
    assert [part in all_of_it for part in told] == [True] * 5
    of_a = history_text(kept, One("/a"), 0).replace("'/a'", "/a")
    assert [part in of_a for part in told] == [True, *[False] * 4]
    of_b = history_text(kept, One("/b"), 0)
    assert "/b is seen" in of_b and "was left" not in of_b
    assert history_text(kept, One("/d"), 0) == "/d was not moved"
    value = history_value(kept, None)[0]
    assert value["trouble"] == ["'/a' was left where it is: late", "'/ab' was left where it is: pinned"]
    assert "left" not in value


def test_the_history_of_a_directory_is_that_of_the_one_that_has_its_path_now(module: Module) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(60)
    cluster, kept = module.manager.cluster, module.scheduling.get(module.manager.fs)
    move = kept.turns[0].moves[0].move
    cluster.directories[move.ino].path = "/elsewhere"

    def told(path: str) -> tuple[str, list[Any]]:
        values = json.loads(module.scheduler_history(directory=path, format="json").stdout)
        return shown(module.scheduler_history(directory=path)), values

    text, values = told("/elsewhere")
    assert text.count("there") == 1 and move.why in text and values[0]["moves"][0]["path"] == move.path
    assert told(move.path) == (text, values), "nothing has its path of then now"
    cluster.directories[999] = Directory(move.path)
    text_now, values_now = told(move.path)
    assert f"{move.path} was not moved; another one, that had this path then, was" in text_now
    assert values_now == []
    assert told("/elsewhere") == (text, values)


def test_where_mdss_do_not_answer_a_history_is_that_of_the_path_of_then(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(60)
    cluster, kept = module.manager.cluster, module.scheduling.get(module.manager.fs)
    path = kept.turns[0].moves[0].move.path
    monkeypatch.setattr(roots, "PATIENCE", 0.0)
    monkeypatch.setattr(cluster, "begin_on_fs", lambda *_: Future())
    assert shown(module.scheduler_history(directory=path)).count("there") == 1


def test_what_a_move_was_left_alone_for_is_kept_and_not_read_out_of_a_sentence() -> None:
    move = Move(1, "/a", 0, 1, 0.0, 0.0, 5.0, "it is new")
    turn = Turn(0.0, ACT, "1 move", (Past(move, 0.0, 1.0, lost=True),), (0.0,), 0, 1.0, 2.0)
    left = replace(turn, left=((1, "pinned-by-operator"),))
    assert decode(Turn, json.loads(json.dumps(asdict(left)))) == left
    pinned, alone = (history_text(Kept("cephfs", ACT, 0.0, (t,)), None, 0) for t in (turn, left))
    assert "pinned" in pinned and "gone or not moved" in alone


def test_what_never_arrived_is_not_told_as_there() -> None:
    move = Move(1, "/a", 0, 1, 10.0, 10.0, 5.0, "it relieves rank 0")
    came = Past(move, 0.0, 9.0, looks=2, settled=7.0)
    for past, arrived, requests, then in (
        (came, 9.0, 7.0, "7"),
        (replace(came, settled=0.0, lost=True), None, None, "-"),
        (replace(came, settled=0.0), 9.0, 0.0, "0"),
    ):
        kept = Kept("cephfs", ACT, 0.0, (Turn(0.0, ACT, "1 move", (past,), (10.0,), 0, 1.0, 2.0),))
        (value,) = history_value(kept, None)[0]["moves"]
        assert (value["arrived"], value["requests_since"], value["lost"]) == (arrived, requests, past.lost)
        assert history_text(kept, None, 0).splitlines()[1].split()[6] == then


def test_a_history_fits_a_terminal_and_its_long_paths_can_be_named() -> None:
    paths = ("/volumes/_nogroup/" + "x" * 50, "/volumes/_nogroup/" + "\u65e5" * 32)
    lost = tuple(
        Past(Move(i, path, 10, 11, 9e4, 9e4, -9e4, ""), 0.0, 9.0, settled=9e4, lost=i == 0)
        for i, path in enumerate(paths)
    )
    turn = Turn(0.0, ACT, "2 moves", lost, (99_999.0,) * 2, 0, 1.0, 99_999.0, after=2e5)
    short = replace(turn, moves=lost[:1], requests=(9.0,), after=None, before=2.0)
    for kept in (Kept("cephfs", ACT, 0.0, (turn,)), Kept("cephfs", ACT, 0.0, (short,))):
        lines = history_text(kept, None, 0).splitlines()
        assert max(map(wcswidth, lines)) <= COLUMNS and "gone or not moved" in lines[1]
        for line, path in zip(lines[1:], paths):
            assert meant(kept, line.split()[2]) == path
    assert len(lines[1]) > COLUMNS - 3, "no shorter than it must be"


def test_a_status_tells_mode_ranks_and_decisions(module: Module) -> None:
    module.manager.cluster.lag = 3
    assert "'cephfs' advises" in shown(module.scheduler_start())
    assert "acts\nsee 'ceph mds_partitioner scheduler status cephfs'" in shown(
        module.scheduler_start(mode="act")
    )
    module.manager.run(2)
    text = shown(module.scheduler_status())
    for part in ("acts (started", "Rank", "full", "under way: 2 moves of 2,000 inodes", "last decisions:"):
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
    assert one.count("there") == 1 and f" {moved['path'].rpartition('/')[2]} " in one
    assert shown(module.scheduler_history(directory=f"/{moved['path']}//")) == one
    assert shown(module.scheduler_history(directory=moved["path"].upper())) == one, "case does not count"
    assert "was not moved" in shown(module.scheduler_history(directory="/volumes/_nogroup/none"))
    for path in ("", "volumes/_nogroup"):
        assert f"directory '{path}': give an absolute path" in module.scheduler_history(directory=path).stderr
    assert "'a\\nb': give" in module.scheduler_history(directory="a\nb").stderr


def test_a_directory_may_be_named_as_the_table_shows_it() -> None:
    long, odd = "/volumes/_nogroup/" + "x" * 40, "/volumes/_nogroup/a\nb"
    moves = tuple(Past(Move(i, path, 0, 1, 9.0, 9.0, 1.0, "why"), 0.0) for i, path in enumerate((long, odd)))
    kept = Kept("cephfs", ACT, 0.0, (Turn(0.0, ACT, "2 moves", moves, (9.0, 9.0), 0, 1.0, 2.0),))
    for path in (long, odd):
        for told in (path, path.removeprefix("/volumes/_nogroup/")):
            assert meant(kept, cut(told, PATH_WIDTH)) == meant(kept, path) == path
    assert meant(kept, "/volumes") == "/volumes"
    alike = replace(kept.turns[0], split=(long.replace("xxx", "xxxx", 1),))
    with pytest.raises(BadInput, match=f"could be '{long}', '{alike.split[0]}': name one of them"):
        meant(replace(kept, turns=(alike,)), cut(long, PATH_WIDTH))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/volumes/_nogroup/s", "s"),
        ("/volumes/_nogroup/s/uuid/d", "s/uuid/d"),
        ("/volumes/csi/s", "csi/s"),
        *((path, path) for path in ("/home", "/volumes", "/volumes/csi", "/volumes2/a/b", "/home/volumes/a")),
    ],
)
def test_a_subvolume_is_called_by_its_name_and_others_by_their_path(path: str, name: str) -> None:
    assert name_of(path) == name


def test_subvolumes_are_told_apart_by_their_names(module: Module) -> None:
    cluster, manager, tenant = module.manager.cluster, module.manager, r"tenant-000\d-production-volume"
    for i in range(8):
        cluster.directories[100 + i].path = f"/volumes/_nogroup/tenant-000{i}-production-volume"
    cluster.lag = 20
    module.scheduler_start(mode="act")
    manager.run(5)
    assert len(set(re.findall(rf"^  {tenant} 0 -> ", shown(module.scheduler_status()), re.MULTILINE))) == 2
    cluster.lag = 1
    manager.run(60)
    names = re.findall(tenant, shown(module.scheduler_history()))
    assert len(names) == len(set(names)) == 6
    one = shown(module.scheduler_history(directory=names[0]))
    assert one.count("there") == 1
    assert shown(module.scheduler_history(directory=f"/volumes/_nogroup/{names[0]}")) == one
    for alike in ("/volumes/_nogroup/\u2026production-volume", "tenant-\u2026volume"):
        refused = module.scheduler_history(directory=alike)
        assert refused.retval == -errno.EINVAL and "--format json" in refused.stderr
        assert f"'/volumes/_nogroup/{min(names)}'" in refused.stderr and "and 3 more" in refused.stderr
    cluster.load[103] = 900.0
    manager.run(60)
    assert " tenant-0003-production-volume " in shown(module.hotspots())


def test_what_is_only_advised_is_not_told_as_done(module: Module) -> None:
    module.scheduler_start()
    module.manager.run(60)
    text = shown(module.scheduler_status())
    assert "if what is advised were done: even" in text and "imbalance factor now" in text
    assert (
        "would have brought" in text and ", brought" not in text and "full" not in text.partition("Rank")[2]
    )
    assert {d.pin for d in module.manager.cluster.directories.values()} == {-1}


def test_how_long_it_advises_is_counted_while_it_looks(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs, cluster = module.manager.fs, module.manager.cluster
    module.scheduler_start()
    module.manager.run(120)
    watch = module.scheduling.watch(fs)

    def told() -> tuple[float, float]:
        state = state_of(module)
        return state.advised_for, state.stuck

    assert watch.advised and told()[0] > 60.0
    watch.idle_since = watch.advised_since

    with monkeypatch.context() as failing:
        failing.setattr(cluster, "counter", no_counter)
        module.manager.run(60)
    assert watch.problem and told() == (0.0, 0.0)
    module.manager.run(20)
    assert 0.0 < told()[0] < 60.0
    cluster.checks = SLOW
    module.manager.run(20)
    assert told()[0] == 0.0


def test_what_is_off_tells_nothing_of_what_was(module: Module) -> None:
    module.scheduler_start()
    module.manager.run(60)
    module.scheduler_stop()
    module.manager.cluster.directories[100].pin = 1
    module.manager.run(5)
    value = json.loads(module.scheduler_status(format="json").stdout)
    assert (value["state"], value["imbalance_factor"], value["ranks"], value["held"]) == (None, None, [], {})
    state = state_of(module)
    assert (state.advised, state.held, state.hot) == (0, (), None)


def test_a_root_that_has_too_many_entries_to_be_listed_is_told(module: Module) -> None:
    module.scheduler_start()
    module.manager.run(20)
    assert "not listed" not in shown(module.scheduler_status())
    module.manager.cluster.files[ROOT] = MOST_ENTRIES
    module.manager.run(120)
    assert "not listed: '/' has 100,001 entries, and at most 100,000 are" in shown(module.scheduler_status())
    told = json.loads(module.scheduler_status(format="json").stdout)
    assert (told["unlisted_entries"], told["unlisted"]) == (100_001, ["/"])
    module.scheduler_stop()
    assert json.loads(module.scheduler_status(format="json").stdout)["unlisted_entries"] == 0


def test_a_plans_status_has_the_ranks_of_a_renamed_directory(module: Module) -> None:
    manager = module.manager
    manager.partitioner.plans.save(plan(manager.cluster, {105: 1}))
    module.partition_start(plan="p")
    manager.run(20)
    manager.cluster.directories[105].path = "/elsewhere"
    (row,) = json.loads(module.partition_status(plan="p", format="json").stdout)["subvolumes"]
    assert (row["path"], row["current_ranks"]) == ("/volumes/_nogroup/s5", [1])


def test_a_plan_under_way_is_shown_before_an_operators_that_has_ended(module: Module) -> None:
    manager = module.manager
    manager.partitioner.plans.save(plan(manager.cluster, {105: 1}))
    assert "plan 'p' on 'cephfs': ready" in module.partition_status().stdout
    manager.cluster.lag = 20
    module.scheduler_start(mode="act")
    manager.run(10)
    assert "plan 'scheduler-2' on 'cephfs': running" in module.partition_status().stdout
    assert latest(manager.partitioner.plans.of(manager.fs)).plan.name == "p"


def test_an_empty_plan_name_is_not_the_newest(module: Module) -> None:
    module.manager.partitioner.plans.save(plan(module.manager.cluster, {105: 1}))
    for answer in (module.partition_start(plan=""), module.partition_status(plan="")):
        assert "plan '' does not exist" in answer.stderr
    assert "plan '' does not exist" in module.partition_rollback(plan="").stderr


def test_what_a_plan_would_ignore_is_checked_all_the_same(module: Module) -> None:
    module.manager.partitioner.plans.save(plan(module.manager.cluster, {105: 1}))
    assert "'banana' is not a way to place" in module.partition_start(plan="p", heavy="banana").stderr


def test_an_operators_rollback_waits_for_the_schedulers(module: Module) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(60)
    assert "with --rollback to undo what it did" in module.partition_rollback().stderr
    module.manager.cluster.lag = 20
    module.scheduler_stop(rollback=True)
    module.manager.run(5)
    assert (
        "is being undone: 'ceph mds_partitioner scheduler status cephfs'"
        in module.partition_rollback().stderr
    )


def test_a_start_without_a_mode_changes_nothing_of_one_that_is_on(module: Module) -> None:
    assert "advises" in module.scheduler_start().stdout
    module.scheduler_start(mode="act")
    module.partition_pause()
    before = module.scheduling.get(module.manager.fs)
    assert module.scheduler_start().retval == 0
    assert module.scheduling.get(module.manager.fs) == before
    assert (before.mode, before.paused) == ("act", True)
    module.scheduler_stop()
    module.scheduler_start()
    assert module.scheduling.get(module.manager.fs).mode == "advise"


def test_the_schedulers_plans_that_were_stopped_go_on_beside_each_other(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = hung(module, monkeypatch)
    manager, plans = module.manager, module.manager.partitioner.plans
    decided = replace(plan(manager.cluster, {107: 1}), scheduled=True)
    plans.admit(other := plans.propose(manager.fs, decided))
    module.partition_stop()
    assert "was stopped, and 1 more: " in module.scheduler_start(mode="act").stderr
    for stopped in (other.plan.name, name):
        assert module.partition_start(plan=stopped).retval == 0
    module.partition_stop()
    assert module.partition_rollback(plan=other.plan.name).retval == 0
    assert "is rolling-back" in module.partition_start(plan=name).stderr


def test_an_operators_pause_is_ended_by_what_refuses_beside_it(module: Module) -> None:
    manager = module.manager
    manager.cluster.lag = 50
    manager.partitioner.plans.save(plan(manager.cluster, {105: 1}))
    module.partition_start(plan="p")
    manager.run(2)
    resume = "'ceph mds_partitioner partition resume cephfs' has it go on"
    assert resume in module.partition_pause().stdout
    for answer in (module.scheduler_start(mode="act"), module.partition_start(plan="p")):
        assert resume in answer.stderr
    assert resume in module.partition_status().stdout
    undo = "'ceph mds_partitioner partition rollback cephfs p' undoes it"
    assert f"partition start cephfs p' goes on, {undo}" in module.partition_stop().stdout


@pytest.mark.parametrize("command", ["partition_status", "partition_start", "partition_rollback"])
def test_a_plans_name_alone_says_of_which_file_system_it_is(module: Module, command: str) -> None:
    manager = module.manager
    manager.partitioner.plans.save(plan(manager.cluster, {105: 1}))
    if command != "partition_start":
        module.partition_start(plan="p")
    assert getattr(module, command)("p").stdout.startswith("plan 'p' on 'cephfs'")


def test_a_pause_says_when_it_ends(module: Module) -> None:
    module.manager.cluster.lag = 20
    module.scheduler_start(mode="act")
    module.manager.run(5)
    assert ", until " in module.partition_pause(duration=300).stdout
    module.manager.run(5)
    assert "an operator paused it until " in shown(module.scheduler_status())


def test_a_stop_for_emergencies_ends_both(module: Module) -> None:
    module.manager.cluster.lag = 20
    module.scheduler_start(mode="act")
    module.manager.run(3)
    text = module.partition_stop().stdout
    assert "stopped" in text and "only advises now" in text
    assert module.scheduling.get(module.manager.fs).mode == "advise"
    assert module.partition_stop().retval < 0, "nothing acts any more"
    refused = module.scheduler_start(mode="act").stderr
    assert "go on with it ('partition start cephfs scheduler-" in refused
    of = replace(state_of(module), advised=3, advised_for=301.0)
    sample = FsSample("cephfs", 0.0, (), None, scheduler=of, uneven_at=0.0)
    (check,) = scheduler_advises(Snapshot(filesystems=(sample,)), 300.0)
    assert f"{refused}; then 'ceph mds_partitioner scheduler start cephfs --mode act'" in check.detail[0]
    module.partition_rollback()
    module.partition_stop()
    refused = module.scheduler_start(mode="act").stderr
    assert "partition start" not in refused and "partition rollback cephfs scheduler-" in refused


def test_what_needs_a_rank_that_is_gone_does_not_go_on(module: Module) -> None:
    """Nor can another one like it be made: it is the scheduler's."""
    manager = module.manager
    manager.cluster.lag = 20
    module.scheduler_start(mode="act")
    manager.run(3)
    module.partition_stop()
    name = manager.partitioner.plans.of(manager.fs)[-1].plan.name
    manager.cluster.state = replace(manager.fs, ranks_in=(0,), max_mds=1)
    undo = f"undo it ('partition rollback cephfs {name}')"
    assert module.scheduler_start(mode="act").stderr.endswith(f": {undo} first")
    assert module.partition_start(plan=name).stderr.endswith(f"(it has 0): {undo}")
    assert module.partition_rollback(plan=name).retval == 0


def hung(module: Module, monkeypatch: pytest.MonkeyPatch) -> str:
    """The scheduler acts until one directory does not come, and all else is even. Which plan moves it."""
    manager, cluster = module.manager, module.manager.cluster
    plans, pass_time = manager.partitioner.plans, cluster.pass_time
    module.scheduler_start(mode="act")

    def first() -> list[Run]:
        return [run for run in plans.of(manager.fs) if run.plan.scheduled and run.plan.rows]

    while not first():
        manager.run(1)
    (run,) = first()

    def passes() -> None:
        pass_time()
        cluster.directories[run.plan.rows[0].ino].rank = 0

    monkeypatch.setattr(cluster, "pass_time", passes)
    manager.run(60)
    assert run.head.state == RUNNING
    return run.plan.name


def test_what_hangs_and_was_stopped_is_undone_with_all_that_came_after(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rollback of it alone would be refused beside what is newer."""
    manager, before = module.manager, module.manager.cluster.snapshot()
    name = hung(module, monkeypatch)
    assert manager.partitioner.plans.of(manager.fs)[-1].plan.name != name
    module.partition_stop()
    refused = module.scheduler_start(mode="act").stderr
    assert f"go on with it ('partition start cephfs {name}') or undo it" in refused
    assert re.findall(r"\('(.*?)'\)", refused)[1] == "scheduler stop cephfs --rollback"
    assert module.scheduler_stop(rollback=True).retval == 0
    monkeypatch.undo()
    manager.run(60)
    assert manager.cluster.snapshot() == before
    assert module.scheduler_start(mode="act").retval == 0


@pytest.mark.parametrize("since", ["its start", "an operator's plan"])
def test_what_hangs_and_cannot_be_undone_with_all_since_the_start_names_the_newest(
    module: Module, monkeypatch: pytest.MonkeyPatch, since: str
) -> None:
    manager, cluster = module.manager, module.manager.cluster
    if since == "an operator's plan":
        module.scheduler_start(mode="act")
        manager.run(1)
        manager.mover.tick()
        module.partition_stop()
        assert [run.head.state for run in manager.partitioner.plans.of(manager.fs)] == [DONE], "the option"
        manager.partitioner.plans.save(replace(plan(cluster, {107: 1}), created=cluster.wall))
        assert module.partition_start(plan="p").retval == 0
        manager.run(20)
    hung(module, monkeypatch)
    module.partition_stop()
    if since == "its start":
        module.scheduler_stop()
        module.scheduler_start()
    refused = module.scheduler_start(mode="act").stderr
    newest = manager.partitioner.plans.of(manager.fs)[-1].plan.name
    assert f"roll '{newest}', which was made later, back first" in refused
    assert module.partition_rollback(plan=newest).retval == 0


ORDERS = [("partition_stop", "stopped", "advise"), ("partition_pause", "paused", "act")]


@pytest.mark.parametrize(("order", "state", "mode"), ORDERS)
@pytest.mark.parametrize("lost", [range(1, 2), range(2, 3), range(1, 100)], ids=["first", "second", "all"])
def test_an_order_that_the_mon_does_not_take_holds_all_the_same(
    module: Module, order: str, state: str, mode: str, lost: range
) -> None:
    manager, cluster = module.manager, module.manager.cluster
    module.scheduler_start(mode="act")
    while not manager.partitioner.plans.active():
        manager.rounds.read()
        manager.rounds.tick()
        cluster.pass_time()
        cluster.wall, cluster.steady = cluster.wall + 1, cluster.steady + 1
    (run,) = manager.partitioner.plans.active()
    assert not run.records, "it was not begun yet"
    cluster.store.refuse(lost.start, len(lost))
    answer = getattr(module, order)()
    assert answer.retval < 0 and "this manager has it all the same" in answer.stderr
    begun = list(cluster.events)
    manager.run(5)
    assert [e for e in cluster.events[len(begun) :] if e.startswith(("pin", "option", "put seal"))] == []
    cluster.store.refuse(0, 0)
    manager.run(15)
    assert run.head.state == state, "the mon is told again"
    after = Manager(cluster)
    assert [r.head.state for r in after.partitioner.plans.of(manager.fs)] == [state]
    kept = after.scheduling.get(manager.fs)
    assert (kept.mode, kept.paused) == (mode, mode == "act")


def test_a_pause_of_no_time_pauses_nothing(module: Module) -> None:
    module.scheduler_start(mode="act")
    for refused in (0, -1, 10 * 365 * 86_400 + 1, 10**18):
        assert (
            f"duration {refused} is not allowed: give 1 to" in module.partition_pause(duration=refused).stderr
        )
    assert not module.scheduling.get(module.manager.fs).paused


def test_a_pause_holds_both_also_while_no_plan_is_under_way(module: Module) -> None:
    module.scheduler_start(mode="act")
    assert "is paused" in shown(module.partition_pause())
    assert "acts, paused" in shown(module.scheduler_status())
    module.manager.run(10)
    assert module.partitioner.plans.of(module.manager.fs) == []
    resumed = json.loads(module.partition_resume(format="json").stdout)
    assert resumed == {"fs": "cephfs", "plan": None, "state": None, "scheduler": "goes on"}
    module.manager.run(10)
    assert module.partitioner.plans.of(module.manager.fs) != []


def test_a_pause_holds_one_that_advises(module: Module) -> None:
    module.scheduler_start()
    assert "is paused" in shown(module.partition_pause())
    assert "changes nothing, paused" in shown(module.scheduler_status())
    module.manager.run(20)
    assert module.scheduling.watch(module.manager.fs).advised == {}
    assert "goes on" in shown(module.partition_resume())
    module.manager.run(20)
    assert module.scheduling.watch(module.manager.fs).advised != {}


def test_what_was_kept_and_cannot_be_read_is_not_called_off(module: Module) -> None:
    module.scheduler_start()
    fs, cluster = module.manager.fs, module.manager.cluster
    seals = [key for key in cluster.store.data if key.startswith(f"scheduler/{fs.fscid}/seal")]
    cluster.store.data |= dict.fromkeys(seals, "{")
    after = Module(Manager(cluster))
    assert "cannot be read: JSONDecodeError" in after.scheduler_status().stdout
    assert "JSONDecodeError" in json.loads(after.scheduler_status(format="json").stdout)["problem"]
    assert "cannot be read: JSONDecodeError" in after.scheduler_stop(rollback=True).stderr
    after.desk.shutdown()


def test_as_data_a_status_has_every_decision(module: Module) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(100)
    kept = module.scheduling.get(module.manager.fs)
    turns = kept.turns * LAST
    module.ledger.change(module.scheduling.watch(module.manager.fs), turns=turns)
    value = json.loads(module.scheduler_status(format="json").stdout)
    assert len(value["decisions"]) == len(turns) > LAST


def test_plans_are_listed_by_the_name_that_their_file_system_has_now(module: Module) -> None:
    manager, cluster = module.manager, module.manager.cluster
    run = manager.partitioner.plans.propose(manager.fs, plan(cluster, {100: 1}))
    manager.partitioner.plans.admit(run)
    cluster.state = replace(cluster.state, name="renamed")
    (listed,) = json.loads(module.partition_ls(format="json").stdout)
    assert (listed["fs"], listed["file_system_removed"]) == ("renamed", False)


def test_plans_of_a_removed_file_system_are_shown_until_they_are_removed(module: Module) -> None:
    manager, cluster = module.manager, module.manager.cluster
    old = manager.partitioner.plans.propose(manager.fs, plan(cluster, {100: 1}))
    old.plan = replace(old.plan, name="old")
    manager.partitioner.plans.admit(old)
    manager.run(20)
    cluster.state = replace(cluster.state, fscid=2, metadata_pool=2)
    manager.run(5)
    assert "done; file system removed" in shown(module.partition_ls())
    (listed,) = json.loads(module.partition_ls(format="json").stdout)
    assert (listed["name"], listed["fs"], listed["file_system_removed"]) == ("old", "cephfs", True)
    (row,) = removed_values(module.partitioner.plans.of_removed())
    assert (row["fs"], row["plan"]) == ("cephfs", f"old: {removed_state(old)}")
    assert f"old: {removed_state(old)}" in overview_text([row])
    assert module.partition_rm("old").retval == 0
    assert json.loads(module.partition_ls(format="json").stdout) == []
    assert "there is no plan" in shown(module.partition_ls())
    assert removed_values(module.partitioner.plans.of_removed()) == []


def test_what_it_did_is_counted(module: Module) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(130)
    state = state_of(module)
    assert (state.moves, state.inodes, state.under_way, state.advised) == (6, 6000.0, 0, 0)
    assert state.predicted > 0.0 and state.real > 0.0


def test_what_an_operator_rolled_back_has_brought_nothing_also_when_its_plans_are_forgotten(
    module: Module,
) -> None:
    module.scheduler_start(mode="act")
    module.manager.run(130)
    assert "brought" in shown(module.scheduler_status())
    module.scheduler_stop()
    while module.partition_rollback().retval == 0:
        module.manager.run(30)
    plans = [run.plan.name for run in module.partitioner.plans.of(module.manager.fs)]

    def told(of: Module) -> None:
        history = shown(of.scheduler_history())
        assert history.count("rolled back") == 6 and "there" not in history
        assert "brought" not in shown(of.scheduler_status())
        assert state_of(of).settled == 0
        moved = [turn for turn in json.loads(of.scheduler_history(format="json").stdout) if turn["moves"]]
        assert {(turn["predicted_gain"], turn["real_gain"]) for turn in moved} == {(0.0, None)}

    told(module)
    ledger, known = module.manager.ledger, module.manager.ledger._watches
    ledger._watches = None
    assert {module.partition_rm(name).retval for name in plans} == {-errno.EAGAIN}, "it could not be kept"
    ledger._watches = known
    assert plans and {module.partition_rm(name).retval for name in plans} == {0}
    told(module)
    module.manager.run(15)
    after = Module(Manager(module.manager.cluster))
    told(after)
    after.desk.shutdown()
