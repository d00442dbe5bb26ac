# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the ``partition`` commands ask, and of whom."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import FakeCluster, plan

from mds_partitioner import desk
from mds_partitioner.act.halts import Halts
from mds_partitioner.act.run import APPLIED, UNDONE, Head, Record, Run, find
from mds_partitioner.commands.partition import PartitionCommands
from mds_partitioner.errors import Busy, NotFound, Unavailable
from mds_partitioner.judge.analysis import FAILED, FINISHED, Analysis
from mds_partitioner.judge.archive import Found
from mds_partitioner.model import FsState
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.plan.plan import Plan

AS_TYPED = " --heavy mask --to-auth --force"
ORDERS = ("start", "pause", "resume", "stop", "rollback")


class Silent:
    """A file system that was renamed since it was planned for, and whose MDSs never answer."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def fs(self, name: str | None) -> FsState:
        """Host.fs."""
        return replace(FakeCluster().state, name="renamed")

    def tell_each(self, fs: FsState, names: list[str], prefix: str, *, within: float) -> dict[str, Any]:
        """Host.tell_each."""
        self.asked.append(within)
        return dict.fromkeys(names, Unavailable("no answer"))


class FakeClusters:
    """Two file systems, a and b."""

    def file_systems(self) -> list[FsState]:
        """Host.file_systems."""
        return [replace(FakeCluster().state, name=name, fscid=fscid) for name, fscid in (("a", 1), ("b", 2))]

    def fs_by_id(self, fscid: int) -> FsState | None:
        """Host.fs_by_id."""
        return next((fs for fs in self.file_systems() if fs.fscid == fscid), None)

    def fs(self, name: str | None) -> FsState:
        """Host.fs."""
        found = next((fs for fs in self.file_systems() if fs.name == name), None)
        if found is None:
            raise NotFound("name one")
        return found


class Orders:
    """A partitioner that carries every order out at once."""

    def __init__(self) -> None:
        made = plan(FakeCluster(), {100: 1}, mask="0x3")
        self.run = Run("id", made, Head(state="running"), {0: Record(APPLIED, "-1", 1.0)})
        self.halts = Halts()
        self.there, self.state = True, "ready"
        self.option = ""
        self.refused = ""
        self.beside = ""  # why no plan at all would be begun
        self.in_the_making = False
        self.begun: list[int] = []  # orders to stop that had been given, by those to start

    @property
    def plans(self) -> Orders:
        """They are its own."""
        return self

    def known(self) -> list[Run]:
        """Plans.known."""
        return [self.run]

    def of(self, fs: FsState) -> list[Run]:
        """Plans.of: before the order."""
        return [replace(self.run, head=Head(state=self.state))] if self.there else []

    def plan(self, fs: FsState, **_: Any) -> Plan:
        """Planning.plan: an operator has had enough meanwhile."""
        self.halts.give(fs.fscid)
        return self.run.plan

    def refuse_while_made(self, fs: FsState) -> None:
        """Planning.refuse_while_made."""
        if self.in_the_making:
            raise Busy("a plan is being made")

    def start(self, fs: FsState, name: str, halts: int) -> Run:
        """Partitioner.start."""
        self.begun.append(halts)
        return self.run

    def refusal(self, fs: FsState, run: Run | None) -> str:
        """Partitioner.refusal."""
        return self.refused if run is not None else self.beside

    def to_auth(self, fs: FsState) -> str:
        """Plans.to_auth."""
        return self.option

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.run


class Off:
    """No scheduler acts."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: False


class Module(PartitionCommands):
    """Nothing but the commands."""

    def __init__(self) -> None:
        self.desk = desk.Desk()
        self.silent = Silent()
        self.orders = Orders()
        self.host, self.partitioner, self.planning = self.silent, self.orders, self.orders
        scheduling: Any = Off()
        self.scheduling = scheduling
        self.found: Found | None = None
        self.newest = Analysis("cephfs", 10, 0.0)
        analyzer: Any = self
        self.analyzer = analyzer
        self.woken = threading.Event()

    def last(self, fs: FsState) -> Found | None:
        """Analyzer.last."""
        return self.found

    def get(self, fs: FsState) -> Analysis:
        """Analyzer.get."""
        return self.newest

    def wake(self) -> None:
        """After each command."""
        self.woken.set()


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    for patience in ("PATIENCE", "BUDGET"):
        monkeypatch.setattr(desk, patience, 600.0)  # s: however busy this machine is
    made = Module()
    yield made
    made.desk.shutdown()


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_asks_no_mds(module: Module, order: str) -> None:
    answer = getattr(module, f"partition_{order}")()
    assert answer.retval == 0, answer
    assert module.silent.asked == []
    assert answer.stdout.startswith("plan 'p' on 'renamed': running, 33%; see 'ceph mds_partitioner")
    value = json.loads(getattr(module, f"partition_{order}")(format="json").stdout)
    assert (value["fs"], value["subvolumes"][0]["current_ranks"]) == ("renamed", None)
    assert module.woken.is_set()


def test_a_stop_counts_while_the_plan_is_made_that_is_to_start(module: Module) -> None:
    module.orders.there = False
    assert module.partition_start().retval == 0
    assert module.orders.begun == [0] and module.orders.halts.given(1) == 1


def test_what_would_be_refused_is_not_made_to_be_begun(module: Module) -> None:
    """It would stay, and be refused once more as the scheduler's moves came after it."""
    module.orders.there, module.orders.beside = False, "the scheduler acts"
    refused = module.partition_start()
    assert (refused.retval, refused.stderr) == (-errno.EBUSY, "the scheduler acts")
    assert module.orders.halts.given(1) == 0, "none was made"
    shown = module.partition_start(dry_run=True).stdout
    assert "'partition start' would refuse it: the scheduler acts" in shown


@pytest.mark.parametrize("dry_run", [False, True])
def test_while_a_plan_is_made_no_other_one_is_begun_for_it(module: Module, dry_run: bool) -> None:
    """'partition plan' may take a minute, and goes on when it was left."""
    module.orders.in_the_making = True
    refused = module.partition_start(dry_run=dry_run)
    assert (refused.retval, refused.stderr) == (-errno.EBUSY, "a plan is being made")
    assert module.partition_start(plan="p", dry_run=dry_run).retval == 0, "it was named"


def test_of_a_plan_that_is_begun_unseen_its_notes_are_told(module: Module) -> None:
    module.orders.there = False
    module.orders.run = replace(
        module.orders.run, plan=replace(module.orders.run.plan, caveats=("do not start it there",))
    )
    lines = module.partition_start().stdout.splitlines()
    assert lines[0].startswith("plan 'p' was made (--heavy mask)")
    assert lines[1] == "note: do not start it there"


DESK_PATIENCE = desk.PATIENCE


def test_a_status_gives_mds_less_time_than_it_has_itself(module: Module) -> None:
    answer = module.partition_status()
    assert "rank 0,1,2,3 did not answer" in answer.stdout
    assert max(module.silent.asked) < DESK_PATIENCE


def test_commands_name_the_file_system_as_it_is_called_now(module: Module) -> None:
    value = json.loads(module.partition_status(format="json").stdout)
    assert [step["command"] for step in value["steps"]][1:] == [
        "ceph fs set renamed bal_rank_mask 0x3",
        "ceph fs set renamed balance_automate true",
    ]
    shown = module.partition_start(plan="p", dry_run=True).stdout
    assert "ceph fs set renamed bal_rank_mask 0x3" in shown and "cephfs" not in shown


def test_a_dry_run_tells_that_the_plan_would_be_refused(module: Module) -> None:
    module.orders.refused = "plan 'p' was rolled back"
    shown = module.partition_start(plan="p", dry_run=True)
    assert (shown.retval, module.orders.begun) == (0, [])
    assert shown.stdout.endswith("\n\n'partition start' would refuse it: plan 'p' was rolled back")
    assert "bal_rank_mask 0x3" in shown.stdout
    value = json.loads(module.partition_start(plan="p", dry_run=True, format="json").stdout)
    assert (value["name"], value["refused"]) == ("p", "plan 'p' was rolled back")
    module.orders.refused = ""
    assert "refuse" not in module.partition_start(plan="p", dry_run=True).stdout


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "and is older than the newest analysis"),
        ({"plan": "p", "force": True}, "was made without --force"),
    ],
)
def test_a_dry_run_shows_also_a_plan_that_what_is_asked_for_does_not_fit(
    module: Module, asked: dict[str, Any], why: str
) -> None:
    judgement: Any = object()
    module.orders.run.plan = replace(module.orders.run.plan, analyzed=1000.0)
    module.found = Found("cephfs", 10, 1, FINISHED, 2000.0, judgement)
    refused = module.partition_start(**asked)
    assert refused.retval < 0 and why in refused.stderr
    shown = module.partition_start(**asked, dry_run=True)
    assert (shown.retval, module.orders.begun) == (0, [])
    assert "bal_rank_mask 0x3" in shown.stdout
    assert shown.stdout.endswith(f"\n\n'partition start' would refuse it: {refused.stderr}")
    value = json.loads(module.partition_start(**asked, dry_run=True, format="json").stdout)
    assert (value["name"], value["refused"]) == ("p", refused.stderr)


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize(
    ("asked", "typed"), [({}, ""), ({"heavy": "mask", "to_auth": True, "force": True}, AS_TYPED)]
)
def test_a_dry_run_tells_that_the_plan_it_shows_was_not_saved(
    module: Module, asked: dict[str, Any], typed: str, saved: bool
) -> None:
    module.orders.there = saved
    shown = module.partition_start(dry_run=True, **asked).stdout
    told = f"\n\nnot saved: 'ceph mds_partitioner partition start renamed{typed}' makes it anew"
    assert shown.endswith(told) is not saved
    value = json.loads(module.partition_start(dry_run=True, format="json", **asked).stdout)
    assert value["saved"] is saved


def test_what_was_done_of_a_plan_is_not_shown_as_if_it_was_to_be_made(module: Module) -> None:
    def shown() -> tuple[str, int]:
        value = json.loads(module.partition_start(plan="p", dry_run=True, format="json").stdout)
        return module.partition_start(plan="p", dry_run=True).stdout, value["begun"]

    module.orders.run.head = Head(state="stopped")
    text, begun = shown()
    assert text.endswith("\n\n1 of 3 commands were begun before")
    module.orders.run.records = dict.fromkeys(range(3), Record(APPLIED, "-1", 1.0))
    module.orders.run.head = Head(state="done")
    text, all_of_them = shown()
    assert text.endswith("\n\nplan 'p' is done: 'partition start' changes nothing")
    assert (begun, all_of_them) == (1, 3)
    module.orders.refused = "the scheduler acts"
    text, _ = shown()
    assert "changes nothing" not in text and text.endswith("would refuse it: the scheduler acts")
    module.orders.run.records = dict.fromkeys(range(3), Record(UNDONE, "-1", 1.0))
    module.orders.run.head, module.orders.refused = Head(state="rolled-back"), ""
    text, begun = shown()
    assert begun == 0 and "begun before" not in text, "it has to be begun anew"
    module.orders.run.records = {}
    module.orders.run.head = Head(state="ready")
    text, begun = shown()
    assert begun == 0 and "begun before" not in text and "is done" not in text


def test_no_plan_is_made_and_begun_unseen_of_an_older_analysis_than_one_that_failed(module: Module) -> None:
    module.orders.there = False
    judgement: Any = object()
    module.found = Found("cephfs", 10, 1, FINISHED, 2000.0, judgement)
    module.newest = Analysis("cephfs", 10, 0.0, state=FAILED, problem="rank 1 is away")
    refused = module.partition_start()
    assert refused.retval < 0 and module.orders.begun == []
    assert "the newest analysis failed (rank 1 is away)" in refused.stderr
    assert "'ceph mds_partitioner partition plan renamed'" in refused.stderr
    shown = module.partition_start(dry_run=True)
    assert shown.retval == 0 and "bal_rank_mask 0x3" in shown.stdout
    assert shown.stdout.endswith(f"\n\n'partition start' would refuse it: {refused.stderr}")
    value = json.loads(module.partition_start(dry_run=True, format="json").stdout)
    assert (value["saved"], value["refused"]) == (False, refused.stderr)


def test_an_empty_mode_is_refused_as_it_is_by_partition_plan(module: Module) -> None:
    for asked in ({}, {"dry_run": True}, {"plan": "p"}):
        refused = module.partition_start(heavy="", **asked)
        assert (
            refused.retval < 0 and "'' is not a way to place heavy subvolumes: use mask or" in refused.stderr
        )
    assert module.orders.begun == []


def test_a_plan_of_the_schedulers_shows_nothing_that_it_does_not_know(module: Module) -> None:
    """It knows requests, and inodes that are to move; no workload, and not all that is below."""
    made = plan(FakeCluster(), {100: 1, 101: 2})
    rows = tuple(replace(row, workload=0.0, rentries=10) for row in made.rows)
    module.orders.run.plan = replace(made, rows=rows, scheduled=True)
    shown = module.partition_status().stdout.splitlines()
    for line in (line for line in shown if line.startswith(("s0", "s1", "Total"))):
        assert line.split()[2:5] == ["2" if line.startswith("Total") else "1", "-", "-"]
    (row, _) = json.loads(module.partition_status(format="json").stdout)["subvolumes"]
    assert (row["rentries"], row["workload"], row["reqs"]) == (None, None, 1.0)
    dry = module.partition_start(plan="p", dry_run=True).stdout
    assert "fullest rank by requests: " in dry and "by workload" not in dry
    assert next(line for line in dry.splitlines() if line.startswith("s0")).split()[2:5] == ["1", "-", "-"]
    asked = json.loads(module.partition_start(plan="p", dry_run=True, format="json").stdout)
    assert {(row["rentries"], row["workload"]) for row in asked["rows"]} == {(None, None)}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"heavy": "fanout"}, "plan 'p' is of --heavy mask, not fanout: start it without these, or make"),
        ({"to_auth": True}, "plan 'p' does not set mds_forward_all_requests_to_auth: start it without"),
        ({"force": True}, "'ceph mds_partitioner partition plan renamed --heavy mask --force'"),
    ],
)
def test_a_plan_is_not_started_as_what_it_is_not(module: Module, asked: dict[str, Any], told: str) -> None:
    for named in ({}, {"plan": "p"}):
        refused = module.partition_start(**named, **asked)
        assert refused.retval < 0 and told in refused.stderr
    assert module.orders.begun == []
    module.orders.option = "true"
    assert module.partition_start(heavy="mask", to_auth=True).retval == 0, "it is so already"


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({}, "--heavy fanout --ranks 0,2 --to-auth"),
        ({"force": True}, "--heavy fanout --ranks 0,2 --to-auth --force"),
        ({"heavy": "mask"}, "--heavy mask --ranks 0,2 --to-auth"),
    ],
)
def test_a_plan_that_is_to_be_made_anew_is_made_as_this_one_was_and_as_is_asked(
    module: Module, asked: dict[str, Any], options: str
) -> None:
    made = plan(FakeCluster(), {100: 1}, option=TO_AUTH)
    module.orders.run.plan = replace(made, heavy_mode="fanout", ranks=(0, 2), analyzed=1000.0)
    judgement: Any = object()
    module.found = Found("cephfs", 10, 1, FINISHED, 2000.0, judgement)
    command = f"'ceph mds_partitioner partition plan renamed {options}'"
    older = module.partition_start(**asked)
    assert older.retval < 0 and command in older.stderr
    if asked:
        other = module.partition_start(plan="p", **asked)
        assert other.retval < 0 and other.stderr.endswith(f"make another one with {command}")
    module.orders.run.plan = replace(module.orders.run.plan, force=True, ranks=None)
    assert " --heavy fanout --to-auth --force'" in module.partition_start().stderr


@pytest.mark.parametrize(
    ("ranks", "asked"), [((0, 2, 3), " --ranks 0,2"), ((0, 2), " --ranks 0,2"), ((3,), ""), (None, "")]
)
def test_ranks_that_are_there_no_more_are_not_in_the_command_that_makes_a_plan_anew(
    module: Module, monkeypatch: pytest.MonkeyPatch, ranks: tuple[int, ...] | None, asked: str
) -> None:
    """Rank 3 has not stopped yet: no plan may use it all the same."""
    there = replace(module.silent.fs(None), max_mds=3)
    monkeypatch.setattr(module.silent, "fs", lambda name: there)
    module.orders.run.plan = replace(module.orders.run.plan, ranks=ranks)
    refused = module.partition_start(plan="p", force=True).stderr
    assert refused.endswith(f"'ceph mds_partitioner partition plan renamed --heavy mask{asked} --force'")


@pytest.mark.parametrize(
    ("ended", "refused"),
    [
        (1000.4, False),
        (2000.0, True),
        (500.0, True),  # the clock was put back since
        (None, False),
    ],
)
def test_a_plan_that_nobody_named_is_not_older_than_the_newest_analysis(
    module: Module, ended: float | None, refused: bool
) -> None:
    module.orders.run.plan = replace(module.orders.run.plan, analyzed=1000.0)
    judgement: Any = object()
    module.found = None if ended is None else Found("cephfs", 10, 1, FINISHED, ended, judgement)
    answer = module.partition_start()
    assert (answer.retval < 0) is refused
    assert not refused or "partition start renamed p" in answer.stderr
    assert module.partition_start(plan="p").retval == 0


@pytest.mark.parametrize("way_back", [False, True])
def test_nor_does_one_that_was_stopped_go_on_unnamed_after_a_newer_analysis(
    module: Module, monkeypatch: pytest.MonkeyPatch, way_back: bool
) -> None:
    """``way_back``: it was stopped while it was rolled back, and no start goes on with it by any name."""
    run = module.orders.run
    head = Head(state="stopped", resume_to="rolling-back" if way_back else "running")
    monkeypatch.setattr(module.orders, "of", lambda fs: [replace(run, head=head)])
    run.plan = replace(run.plan, analyzed=1000.0)
    judgement: Any = object()
    module.found = Found("cephfs", 10, 1, FINISHED, 1000.0, judgement)
    assert module.partition_start().retval == 0 and module.orders.begun == [0]
    module.found = replace(module.found, ended=2000.0)
    answer = module.partition_start()
    told = "plan 'p' was stopped, and is older than the newest analysis: make another one ('ceph"
    assert (answer.retval < 0 and answer.stderr.startswith(told)) is not way_back
    assert way_back or "'ceph mds_partitioner partition start renamed p'" in answer.stderr
    assert module.partition_start(plan="p").retval == 0


@pytest.mark.parametrize("state", ["done", "rolled-back", "running"])
@pytest.mark.parametrize(
    ("ended", "asked", "made"),
    [
        (1000.0, {}, False),
        (2000.0, {}, True),  # the load was analyzed since
        (1000.0, {"heavy": "fanout"}, True),
        (1000.0, {"to_auth": True}, True),
    ],
)
def test_no_plan_of_the_same_analysis_follows_unseen_on_one_that_has_ended(
    module: Module, state: str, ended: float, asked: dict[str, Any], made: bool
) -> None:
    module.orders.run.plan = replace(module.orders.run.plan, analyzed=1000.0)
    judgement: Any = object()
    module.orders.state, module.found = state, Found("cephfs", 10, 1, FINISHED, ended, judgement)
    module.newest = Analysis("cephfs", 10, 0.0, state=FINISHED)
    answer = module.partition_start(**asked)
    assert answer.retval == 0
    said = "plan 'p' was made (--heavy mask): 3 steps, predicted imbalance factor 0.000 -> 0.000\nplan 'p' on"
    assert answer.stdout.startswith(said if made else "plan 'p' on")


@pytest.mark.parametrize(
    ("command", "given", "fscid"),
    [
        ("partition_start", {"fs": "b"}, 2),
        ("partition_plan", {"fs": "a"}, 1),
        ("partition_start", {}, None),
        ("partition_start", {"fs": "c"}, None),
        ("partition_rm", {"plan": "p"}, 1),
        ("partition_rm", {"plan": "p", "fs": "b"}, 1),
        ("partition_rm", {"plan": "q"}, None),
    ],
)
def test_a_command_tells_of_which_file_system_it_is(
    module: Module, monkeypatch: pytest.MonkeyPatch, command: str, given: dict[str, str], fscid: int | None
) -> None:
    """Those of others do not wait for it."""
    where: list[int | None] = []
    monkeypatch.setattr(desk.Desk, "run", lambda *_, **given: where.append(given["where"]()))
    host: Any = FakeClusters()
    module.host = host
    module.orders.named = lambda fs, name: find([module.orders.run], name, {})
    getattr(module, command)(**given)
    assert where == [fscid]
