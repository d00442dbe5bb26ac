# SPDX-License-Identifier: LGPL-2.1-or-later
"""What versions before this one have kept is read and gone on with; what a later one wrote is left alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import journals
import pytest
from fake_cluster import FakeCluster, Manager, plan
from test_archive import exact, found
from test_balancer import Clock, Ranks, made

from mds_partitioner.act.run import ACTIVE, DONE, READY, ROLLED_BACK, RUNNING, STOPPED, Head, by_hand
from mds_partitioner.errors import NotPermitted
from mds_partitioner.judge.analysis import Asked
from mds_partitioner.judge.archive import Archive, Found
from mds_partitioner.judge.window import Checkpoint
from mds_partitioner.monitor import health
from mds_partitioner.policy import switch as switching
from mds_partitioner.policy.switch import ON, TURNING_OFF, TURNING_ON
from mds_partitioner.schedule.record import Kept
from mds_partitioner.store import FORMAT

KEPT = sorted(journals.FOLDER.glob("*.json"), key=lambda path: [int(part) for part in path.stem.split(".")])
LATER = FORMAT + 1
STRICT = re.compile(r"plan/ID/(body|done|head|step)/|balance/")  # read by versions that refuse unknown fields
STATES = {
    "ready": READY,
    "running": "running",
    "paused": "paused",
    "waiting": "paused",
    "stopped": STOPPED,
    "done": DONE,
    "skipped": DONE,
    "rolled-back": ROLLED_BACK,
    "rolling-back": "rolling-back",
    "stopped-on-the-way-back": STOPPED,
    "scheduler-2": DONE,
}


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def cluster(request: pytest.FixtureRequest) -> FakeCluster:
    """As the last manager of another version left it."""
    path: Path = request.param
    return journals.restored(path.read_text())


def key_of(cluster: FakeCluster, name: str) -> str:
    """Of the seal of a plan."""
    seals = {key: json.loads(value) for key, value in cluster.store.items("plan/").items() if "/seal" in key}
    return next(key for key, seal in seals.items() if seal["name"] == name)


def change(cluster: FakeCluster, key: str, **fields: Any) -> None:
    """Fields of one record; None: it goes."""
    record = json.loads(cluster.store.data[key]) | fields
    cluster.store.data[key] = json.dumps({name: value for name, value in record.items() if value is not None})


def states(manager: Manager) -> Mapping[str, str]:
    return {run.plan.name: run.head.state for run in manager.runs}


def steps(manager: Manager) -> set[str]:
    return {record.state for run in manager.runs for record in run.records.values()}


def to_the_end(manager: Manager) -> None:
    for run in manager.runs:
        for _ in range(40):
            if run.head.state in ACTIVE:
                manager.tick(run)


def test_every_state_of_plans_and_steps_is_read(cluster: FakeCluster) -> None:
    manager = Manager(cluster)
    assert manager.unreadable == []
    assert states(manager) == STATES
    assert steps(manager) == {"intent", "done", "skipped", "undoing", "undone", "kept"}


def test_every_plan_goes_on(cluster: FakeCluster) -> None:
    manager = Manager(cluster)
    to_the_end(manager)
    ended = {"running": DONE, "waiting": DONE, "rolling-back": ROLLED_BACK}
    assert states(manager) == STATES | ended
    pins = {
        run.plan.name: [cluster.directories[step.ino].pin for step in run.plan.steps if step.ino]
        for run in manager.runs
    }
    assert pins["running"] == [1, 2, 1, 2, 1] and pins["waiting"] == [1, 2]
    assert pins["rolling-back"] == [-1] * 4
    assert states(Manager(cluster)) == states(manager), "and the next manager knows"


def test_the_other_records_are_read(cluster: FakeCluster) -> None:
    switches, unreadable = switching.load(cluster.store)
    assert {fscid: switch.state for fscid, switch in switches.items()} == {
        1: ON,
        2: TURNING_ON,
        3: TURNING_OFF,
    }
    assert unreadable == {}
    kept = Archive(cluster.store, "scheduler/", Kept).load()[1]
    assert isinstance(kept, Kept) and (kept.mode, kept.turns[0].moves[0].move.ino) == ("act", 100)
    assert Archive(cluster.store, "judgement/", Found).load() == {1: exact(found())}
    checkpoint = Archive(cluster.store, "checkpoint/", Checkpoint).load()[1]
    assert isinstance(checkpoint, Checkpoint) and checkpoint.directories[0].requests == 30.0
    assert Asked.from_json(cluster.store.data["analysis/1"]) == journals.ASKED


def test_a_record_without_a_format_is_of_the_first(cluster: FakeCluster) -> None:
    for key, value in cluster.store.data.items():
        if value.startswith('{"format"'):
            change(cluster, key, format=None)
    assert states(Manager(cluster)) == STATES
    assert len(switching.load(cluster.store)[0]) == 3
    assert isinstance(Archive(cluster.store, "scheduler/", Kept).load()[1], Kept)


@pytest.mark.parametrize("name", ["running", "done", "rolling-back", "scheduler-2"])
def test_a_plan_of_a_later_version_is_left_alone_and_the_others_go_on(
    cluster: FakeCluster, name: str
) -> None:
    seal = key_of(cluster, name)
    id_ = seal.split("/")[1]
    whole = cluster.store.items(f"plan/{id_}/")
    change(cluster, seal, format=LATER, parts=None, digest=None, something="else")
    for key in cluster.store.items(f"plan/{id_}/head/"):
        del cluster.store.data[key]  # a later version may keep it elsewhere
    before = cluster.store.items(f"plan/{id_}/")
    manager = Manager(cluster)
    (aside,) = manager.unreadable
    assert (aside.name, f"format {LATER}" in aside.why) == (name, True)
    assert states(manager) == {other: state for other, state in STATES.items() if other != name}
    to_the_end(manager)
    assert "running" not in states(manager).values()
    assert cluster.store.items(f"plan/{id_}/") == before, "nothing of it is changed or thrown away"
    (check,) = health.unreadable(manager.unreadable, {}, {})
    assert check.code == health.JOURNAL
    assert check.detail == (
        f"plan '{name}': a later version of the module wrote it (format {LATER}; this one reads up to "
        f"{FORMAT}), and goes on with it when it is installed again: what it pinned stays as it is; to "
        f"forget the plan, run 'ceph mds_partitioner partition rm {name}'",
    )
    cluster.store.data |= whole  # what a version that can read it finds
    assert states(Manager(cluster))[name] == STATES[name]


def test_a_policy_of_a_later_version_is_left_alone(cluster: FakeCluster) -> None:
    change(cluster, "balance/1", format=LATER, state=None, more=[1, 2])
    before = cluster.store.data["balance/1"]
    host: Any = cluster
    ranks: Any = Ranks()
    balancer = made(host, ranks, Clock())
    balancer.begin()
    balancer.tick()
    assert cluster.store.data["balance/1"] == before
    assert set(balancer.unreadable) == {"balance/1"}
    with pytest.raises(NotPermitted, match=f"format {LATER}.*balance off"):
        balancer.on(cluster.state, "lunule", None, force=True)
    assert cluster.store.data["balance/1"] == before
    (check,) = health.unreadable([], {"cephfs": balancer.unreadable["balance/1"]}, {})
    assert "policy of 'cephfs': a later version" in check.detail[0]
    assert "run 'ceph mds_partitioner balance off cephfs'" in check.detail[0]
    balancer.off(cluster.state)
    assert balancer.unreadable == {} and "balance/1" not in cluster.store.data


@pytest.mark.parametrize(("root", "kind"), [("scheduler/", Kept), ("judgement/", Found)])
def test_what_a_later_version_archived_is_an_error_and_stays(
    cluster: FakeCluster, root: str, kind: type[Any]
) -> None:
    change(cluster, f"{root}1/seal", format=LATER, id="elsewhere")
    before = dict(cluster.store.data)
    kept = Archive(cluster.store, root, kind).load()[1]
    assert isinstance(kept, ValueError) and f"format {LATER}" in str(kept)
    assert cluster.store.data == before


def names(journal: Mapping[str, str]) -> Mapping[str, set[str]]:
    """Of the fields that each kind of strictly read key has, however deep."""
    shapes = journals.shapes(dict(journal)).items()
    return {kind: set(re.findall(r'(\w+)\\*":', " ".join(of))) for kind, of in shapes if STRICT.match(kind)}


def test_who_goes_back_to_the_first_version_loses_no_plan() -> None:
    """It makes plans, records, heads and switches of all the fields that it finds."""
    first = names(json.loads(KEPT[0].read_text())["journal"])
    now = names(journals.everything()[1])
    assert len(first) == 5 and {"rows", "name", "phase"} <= first["plan/ID/body/N"]
    assert {kind: found - first[kind] for kind, found in now.items()} == {kind: set() for kind in first}


def test_what_is_written_today_is_among_what_is_kept() -> None:
    kept = json.loads(KEPT[-1].read_text())["journal"]
    now = journals.everything()[1]
    assert journals.shapes(now) == journals.shapes(kept), (
        "records have other fields than those of the newest journal in journals/: if earlier versions would "
        "misread them, FORMAT must grow; keep the old journals, and add one of this version (journals.py)"
    )


@pytest.mark.parametrize(
    ("version", "after", "by_an_operator"),
    [("0.9.0", 0.3, False), ("0.9.0", 900.0, True), ("0.9.1", 0.3, True)],
)
def test_a_plan_of_the_scheduler_from_the_first_version_was_not_begun_by_hand(
    version: str, after: float, by_an_operator: bool
) -> None:
    """That one wrote when a plan was begun, which is a moment later than when it was made."""
    cluster = FakeCluster()
    made = replace(plan(cluster, {100: 1}), scheduled=True, created=1000.0)
    run = Manager(cluster).journal.create(made, [], Head(RUNNING, started=1000.0 + after))
    if version == "0.9.0":
        change(cluster, f"plan/{run.id}/seal", analyzed=None)
    (known,) = Manager(cluster).runs
    assert by_hand(known) is by_an_operator
