# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `balance` commands and their loop: hints, new names, and a stop that waits for nobody."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cluster import LOG, SETTINGS, Crash, Manager, plan
from fake_cluster import FakeCluster as Cluster
from verdicts import UNKNOWN, verdict

from mds_partitioner import desk
from mds_partitioner.act.registry import Plans
from mds_partitioner.act.run import DONE, ROLLED_BACK, ROLLING_BACK, RUNNING, balancing
from mds_partitioner.ceph.tick import TICK
from mds_partitioner.clock import Now, read
from mds_partitioner.commands.balance import BalanceCommands
from mds_partitioner.engine.capacity_source import CapacitySource
from mds_partitioner.errors import BadInput, Busy, JournalError, NotPermitted, Unavailable
from mds_partitioner.judge.history import History
from mds_partitioner.judge.verdict import RankCapacity, Verdict
from mds_partitioner.model import HealthCheck, RankSample
from mds_partitioner.module import Module as MgrModule
from mds_partitioner.policy import balancer as module
from mds_partitioner.policy import policies
from mds_partitioner.policy import switch as switching
from mds_partitioner.policy.balancer import AGAIN, FORECAST_FROM, Balancer
from mds_partitioner.policy.beats import Beat, Fallback
from mds_partitioner.policy.decisions import REMEMBERED, Watch
from mds_partitioner.policy.hints import policy_object
from mds_partitioner.policy.switch import TURNING_OFF
from mds_partitioner.report import balance as report

BEAT = Beat(tuple({"req_rate": load, "auth.meta_load": 7 * load} for load in (400.0, 0.0, 0.0, 0.0)))
STILL = "local t = {} for i = 0, #mds do t[i] = 0 end return t"


class Ranks:
    """Judges as told."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = verdict(None, UNKNOWN)
        self.past = History()

    def judge(self, fs: Any, now: float) -> Verdict:
        """Ranks.judge."""
        if self.verdict is None:
            raise Unavailable("the engine failed")
        return self.verdict

    def history(self, fs: Any, now: float) -> History:
        """Ranks.history."""
        return self.past

    def capacity(self, value: float) -> None:
        """Learned from now on."""
        self.verdict = verdict(0.9, RankCapacity(value, CapacitySource.LEARNED))

    def growing(self) -> None:
        """From now on rank 0's load grows, and is known for long enough."""
        self.verdict, self.past = verdict(0.9), History(epochs=((),) * FORECAST_FROM)


@dataclass
class Clock:
    """Time passes when a test says so."""

    now: float = 1e9

    def __call__(self) -> Now:
        """clock.read."""
        return Now(self.now, self.now)


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(module, "last_beat", lambda host, fs: BEAT)
    monkeypatch.setattr(module, "fallbacks", lambda host, objects, since: [])
    monkeypatch.setattr(module, "silent", lambda host, fs, now: {})
    monkeypatch.setattr(module, "beat_interval", lambda host, fs, before: host.config("mds_bal_interval"))
    monkeypatch.setattr(module, "tick_interval", lambda host, fs, before: host.configured.get(TICK, before))
    return Cluster()


@pytest.fixture
def ranks() -> Ranks:
    return Ranks()


def made(cluster: Any, ranks: Any, now: Callable[[], Now] = read, **more: Any) -> Balancer:
    """Without plans, unless told otherwise."""
    usual = {"busy": lambda fs: None, "needs": lambda fs: None, "failed": lambda: None}
    return Balancer(host=cluster, ranks=ranks, settings=lambda: SETTINGS, log=LOG, now=now, **(usual | more))


@pytest.fixture
def balancer(cluster: Cluster, ranks: Ranks, time: Clock) -> Balancer:
    it = made(cluster, ranks, time)
    it.begin()
    return it


def capacity(balancer: Balancer, cluster: Cluster) -> float | None:
    """What the policy in force is told."""
    switch = balancer.get(cluster.state)
    assert switch is not None
    assert cluster.state.balancer == switch.object
    told = cluster.objects[switch.object].partition("}")[0]
    assert ("capacity" in told) == (switch.hints.capacity is not None)
    return switch.hints.capacity


def test_a_capacity_that_is_learned_first_is_told_at_once_and_later_changes_keep_a_distance(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    balancer.tick()
    assert capacity(balancer, cluster) is None
    ranks.capacity(400.0)
    time.now += SETTINGS.epoch
    balancer.tick()
    assert capacity(balancer, cluster) == 400.0
    ranks.capacity(800.0)
    for passed, told in ((59, 400.0), (1, 400.0), (SETTINGS.epoch, 800.0)):  # hint_interval is 60 s
        time.now += passed
        balancer.tick()
        assert capacity(balancer, cluster) == told


def test_the_interval_of_beats_is_told_and_told_again_when_it_is_set(
    cluster: Cluster, balancer: Balancer, time: Clock
) -> None:
    cluster.configured["mds_bal_interval"] = 20
    balancer.on(cluster.state, "lunule", None, False)
    assert "interval = 20" in cluster.objects[cluster.state.balancer].partition("}")[0]
    cluster.configured["mds_bal_interval"] = 40
    time.now += 60.0  # hint_interval
    balancer.tick()
    assert "interval = 40" in cluster.objects[cluster.state.balancer].partition("}")[0]
    cluster.configured[TICK] = 12.0
    time.now += 60.0
    balancer.tick()
    assert "interval = 48" in cluster.objects[cluster.state.balancer].partition("}")[0]


def test_another_mask_is_told_at_once(cluster: Cluster, balancer: Balancer, time: Clock) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    # MDSs go on with one of ranks that are not there, and the policy is to move nothing then.
    for mask, told in (("0xf", "mask = {0, 1, 2, 3}"), ("0x3", "mask = {0, 1}"), ("0x30", "mask = {4, 5}")):
        cluster.state = replace(cluster.state, bal_rank_mask=mask)
        time.now += SETTINGS.epoch
        balancer.tick()
        assert told in cluster.objects[cluster.state.balancer].partition("\n")[0]


SLOW = HealthCheck("1 MDSs report slow requests", ("mds.m1(mds.1): 3 slow requests",))


@pytest.mark.parametrize("code", ["MDS_SLOW_REQUEST", "MDS_CACHE_OVERSIZED"])
def test_mdss_that_have_enough_to_do_are_told_hints(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, code: str
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    cluster.checks = {code: SLOW}
    cluster.state = replace(cluster.state, max_mds=5)
    ranks.capacity(400.0)
    balancer.tick()
    assert (capacity(balancer, cluster), balancer.watch(cluster.state).problem) == (400.0, "")


def test_while_a_rank_is_away_hints_are_not_told_and_the_status_says_so(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    whole = cluster.state
    cluster.state = replace(whole, failed=(2,), mds=tuple(m for m in whole.mds if m.rank != 2))
    ranks.capacity(400.0)
    balancer.tick()
    watch, switch = balancer.watch(cluster.state), balancer.get(cluster.state)
    assert capacity(balancer, cluster) is None
    told = "hints are not told, as rank 2 has failed: start its MDS or a standby"
    assert f"problem: {told}" in report.text(cluster.state, switch, watch)
    cluster.state = whole
    time.now += SETTINGS.epoch
    balancer.tick()
    assert (capacity(balancer, cluster), watch.problem) == (400.0, "")


def test_of_a_policy_that_an_operator_stopped_nothing_is_said_of_hints(
    cluster: Cluster, balancer: Balancer
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, balance_automate=False, failed=(2,))
    balancer.tick()
    assert balancer.watch(cluster.state).problem == ""


def of_an_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    source_of = policies.source_of
    monkeypatch.setattr(policies, "source_of", lambda policy: source_of(policy) + "-- as it was before\n")


def test_after_an_upgrade_the_new_text_is_put_in_force_and_then_shown(
    cluster: Cluster, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        of_an_older_version(before)
        balancer.on(cluster.state, "lunule", None, False)
    old = cluster.state.balancer
    balancer.tick()
    assert cluster.state.balancer != old
    assert cluster.objects[cluster.state.balancer].endswith(policies.source_of("lunule"))
    assert balancer.watch(cluster.state).decisions == {}, "of the old text's nothing is known"
    time.now += SETTINGS.epoch
    pushes = len(cluster.events)
    balancer.tick()
    assert len(balancer.watch(cluster.state).decisions) == 4
    assert len(cluster.events) == pushes


def test_a_second_on_after_an_upgrade_puts_the_new_text_in_force(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    untouched = cluster.snapshot()
    with monkeypatch.context() as before:
        of_an_older_version(before)
        balancer.on(cluster.state, "lunule", None, False)
    balancer.on(cluster.state, "lunule", None, False)
    assert cluster.objects[cluster.state.balancer].endswith(policies.source_of("lunule"))
    now = len(cluster.events)
    balancer.on(cluster.state, "lunule", None, False)
    assert len(cluster.events) == now, "once"
    balancer.off(cluster.state)
    assert cluster.snapshot() == untouched


def test_an_upgrade_in_the_middle_of_an_on_writes_the_new_text_under_its_own_name(
    cluster: Cluster, balancer: Balancer, ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(text: str) -> None:
        if text.startswith("set balancer"):
            raise Crash

    untouched = cluster.snapshot()
    cluster.watch = dies
    with monkeypatch.context() as before, pytest.raises(Crash):
        of_an_older_version(before)
        balancer.on(cluster.state, "lunule", None, False)
    cluster.watch = lambda text: None
    after = made(cluster, ranks)
    after.begin()
    after.tick()
    (switch,) = switching.load(cluster.store)[0].values()
    name, text = policy_object("lunule", switch.hints, policies.source_of("lunule"))
    assert (cluster.state.balancer, switch.object, cluster.objects[name]) == (name, name, text)
    after.off(cluster.state)
    assert cluster.snapshot() == untouched


def test_what_nobody_expected_of_one_file_system_stops_no_other(
    cluster: Cluster, ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    errors: list[Exception] = [KeyError("strange"), Unavailable("no mon"), Busy("another order came")]
    counted: list[int] = []
    balancer = made(cluster, ranks, failed=lambda: counted.append(len(errors)))
    balancer.begin()
    balancer.on(cluster.state, "lunule", None, False)
    (switch,) = balancer._board.all()
    monkeypatch.setattr(balancer._board, "all", lambda: [switch, replace(switch, fscid=2, fs="other")])

    def step(fscid: int, watch: Watch, now: Now) -> None:
        looked.append(fscid)
        if fscid == 1:
            raise errors[0]

    monkeypatch.setattr(balancer, "_step", step)
    balancer.tick()
    assert looked == [1, 2]
    assert balancer.watch(cluster.state).problem == "KeyError: 'strange'; see the manager's log"
    while len(errors) > 1:
        errors.pop(0)
        balancer.tick()
    assert counted == [3, 2], "an order that was quicker is no failure"


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_step_of_the_hosts_clock_neither_ends_nor_prolongs_the_wait(
    cluster: Cluster, ranks: Ranks, step: int
) -> None:
    times = iter([Now(1e9, 0.0), Now(1e9 + step, 30.0), Now(1e9 + step, 60.0)])  # hint_interval is 60 s
    ranks.capacity(400.0)
    it = made(cluster, ranks, lambda: next(times))
    it.begin()
    it.on(cluster.state, "lunule", None, False)
    ranks.capacity(800.0)
    it.tick()
    assert capacity(it, cluster) == 400.0
    it.tick()
    assert capacity(it, cluster) == 800.0


@pytest.mark.parametrize(("passed", "told"), [(30, 400.0), (60, 800.0), (-3600, 400.0)])
def test_the_next_manager_waits_for_what_is_left_of_the_time(
    cluster: Cluster, balancer: Balancer, ranks: Ranks, passed: int, told: float
) -> None:
    ranks.capacity(400.0)
    balancer.on(cluster.state, "lunule", None, False)
    ranks.capacity(800.0)
    it = made(cluster, ranks, lambda: Now(1e9 + passed, 5.0))
    it.begin()
    it.tick()
    assert capacity(it, cluster) == told


def no_answer(pool: int, name: str, text: str = "") -> None:
    raise Unavailable("no answer within 20 s")


def push_fails(cluster: Cluster, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer hints cannot be put in force."""
    time.now += 60.0  # hint_interval
    with monkeypatch.context() as full:
        full.setattr(cluster, "write_object", no_answer)
        balancer.tick()


def test_a_push_that_failed_halfway_counts_when_it_is_made(
    cluster: Cluster, balancer: Balancer, ranks: Ranks, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks.capacity(400.0)
    balancer.on(cluster.state, "lunule", None, False)
    ranks.capacity(800.0)
    push_fails(cluster, balancer, time, monkeypatch)
    for passed, told in ((AGAIN, 800.0), (30.0, 800.0), (30.0, 1600.0)):
        time.now += passed
        balancer.tick()
        assert capacity(balancer, cluster) == told
        ranks.capacity(1600.0)


def test_on_right_after_off_does_not_take_a_removed_object_for_an_operators(
    cluster: Cluster, balancer: Balancer
) -> None:
    before = cluster.snapshot()
    balancer.on(cluster.state, "lunule", None, False)
    stale = cluster.state  # what a manager whose FSMap lags behind sees
    balancer.off(cluster.state)
    balancer.on(stale, "lunule", None, False)
    balancer.off(cluster.state)
    assert cluster.snapshot() == before


def test_a_remainder_of_ours_is_nothing_to_go_back_to(cluster: Cluster, balancer: Balancer) -> None:
    cluster.state = replace(cluster.state, balancer="mds_partitioner.lunule.gone")
    balancer.on(cluster.state, "lunule", None, False)
    balancer.off(cluster.state)
    assert cluster.state.balancer == ""


@pytest.mark.parametrize("policy", ["lunule", "greedyspill"])
def test_a_balancer_that_an_operator_set_after_an_earlier_on_is_replaced_with_force_only_and_comes_back(
    cluster: Cluster, balancer: Balancer, policy: str
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, balancer="mine.lua")
    before = cluster.state
    with pytest.raises(NotPermitted, match=r"mine\.lua"):
        balancer.on(cluster.state, policy, None, False)
    assert cluster.state == before
    balancer.on(cluster.state, policy, None, True)
    assert cluster.state.balancer.startswith(f"mds_partitioner.{policy}")
    assert balancer.off(cluster.state) == []
    assert (cluster.state, cluster.objects) == (before, {})


def test_after_an_operator_cleared_the_balancer_a_second_on_remembers_what_the_first_replaced(
    cluster: Cluster, balancer: Balancer
) -> None:
    before = cluster.state
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, balancer="")
    balancer.on(cluster.state, "lunule", None, False)
    assert balancer.off(cluster.state) == []
    assert (cluster.state, cluster.objects, before.balance_automate) == (before, {}, False)


@pytest.mark.parametrize("ended", ["it failed", "off came"])
def test_so_it_does_when_the_second_on_comes_to_nothing(
    cluster: Cluster, balancer: Balancer, ended: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cluster.state
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, balancer="")
    with monkeypatch.context() as full:
        full.setattr(cluster, "write_object", no_answer)
        with pytest.raises(Unavailable):
            balancer.on(cluster.state, "greedyspill", None, False)
    if ended == "off came":
        balancer.off(cluster.state)
    for _ in range(3):
        balancer.tick()
    assert (cluster.state, cluster.objects, before.balance_automate) == (before, {}, False)


def test_where_mdss_could_not_read_it_no_policy_is_switched_on(cluster: Cluster, balancer: Balancer) -> None:
    before = cluster.state
    cluster.configured["mds_bal_interval"] = 1
    with pytest.raises(NotPermitted, match="mds_bal_interval is 1, and MDSs wait 0 s for a policy then: set"):
        balancer.on(cluster.state, "lunule", None, False)
    assert cluster.state == before
    cluster.configured["mds_bal_interval"] = 2
    balancer.on(cluster.state, "lunule", None, False)


@pytest.mark.parametrize("by_hand", [{"balance_automate": False}, {"balancer": "mine.lua"}])
def test_what_an_operator_set_after_a_push_failed_is_not_undone_by_the_next_try(
    cluster: Cluster,
    balancer: Balancer,
    ranks: Ranks,
    time: Clock,
    by_hand: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    ranks.capacity(400.0)
    push_fails(cluster, balancer, time, monkeypatch)
    running, cluster.state = cluster.state, replace(cluster.state, **by_hand)
    stopped = cluster.state
    time.now += 60.0
    balancer.tick()
    assert (cluster.state, balancer.watch(stopped).problem) == (stopped, "")
    cluster.state = running
    balancer.tick()
    assert capacity(balancer, cluster) == 400.0, "the operator lets it go on"


@pytest.mark.parametrize("again", [False, True])
def test_what_on_had_set_goes_where_an_operator_cleared_the_balancer_after_a_push_failed(
    cluster: Cluster,
    balancer: Balancer,
    ranks: Ranks,
    time: Clock,
    again: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So it does after a second 'on'."""
    before = cluster.state
    balancer.on(cluster.state, "lunule", None, False)
    ranks.capacity(400.0)
    push_fails(cluster, balancer, time, monkeypatch)
    cluster.state = replace(cluster.state, balancer="")
    if again:
        balancer.on(cluster.state, "lunule", None, False)
    balancer.off(cluster.state)
    assert (cluster.state, cluster.objects, before.balance_automate) == (before, {}, False)


def test_where_beats_are_off_hints_are_told_all_the_same(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    cluster.configured["mds_bal_interval"] = 0
    balancer.on(cluster.state, "lunule", None, False)
    ranks.growing()
    cluster.state = replace(cluster.state, bal_rank_mask="0x3")
    time.now += SETTINGS.hint_interval
    balancer.tick()
    assert "mask = {0, 1}" in cluster.objects[cluster.state.balancer]
    assert balancer.watch(cluster.state).problem == ""


def test_a_second_on_that_fails_leaves_nothing_on_that_an_operator_had_stopped(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, balance_automate=False)
    with monkeypatch.context() as full:
        full.setattr(cluster, "write_object", no_answer)
        with pytest.raises(Unavailable, match="is undone as soon"):
            balancer.on(cluster.state, "greedyspill", None, False)
    balancer.tick()
    assert (cluster.state.balance_automate, cluster.state.balancer, cluster.store.data) == (False, "", {})


@pytest.mark.parametrize("policy_first", [True, False])
@pytest.mark.parametrize("off_first", [True, False])
def test_a_plan_and_a_policy_leave_balance_automate_on_for_each_other_and_the_last_puts_it_back(
    cluster: Cluster, ranks: Ranks, policy_first: bool, off_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cluster.snapshot()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {}, "0x3", name="plan-1"), [])
    it = made(cluster, ranks, needs=lambda fs: balancing([run], fs.fscid))
    it.begin()

    def go(state: str, end: str) -> None:
        manager.journal.head(run, state=state)
        while run.head.state != end:
            manager.tick(run)

    come = [lambda: it.on(cluster.state, "lunule", None, False), lambda: go(RUNNING, DONE)]
    for each in come if policy_first else reversed(come):
        each()
    if off_first:
        with monkeypatch.context() as full:
            full.setattr(cluster, "remove_object", no_answer)
            for told in (it.off(cluster.state), it.off(cluster.state)):
                assert "stays on, as plan 'plan-1' needs it" in told[0]
        it.tick()
    else:
        go(ROLLING_BACK, ROLLED_BACK)
        assert "'balance off' puts it back" in run.records[1].why
    assert cluster.state.balance_automate
    if off_first:
        go(ROLLING_BACK, ROLLED_BACK)
    else:
        assert it.off(cluster.state) == []
    assert cluster.snapshot() == before


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("policy_first", [False, True])
def test_a_balance_automate_that_a_forgotten_plan_has_left_to_an_operator_stays_on(
    cluster: Cluster, ranks: Ranks, policy_first: bool, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``refused``: the mon did not take the policy's record at first."""
    manager = Manager(cluster)
    plans = Plans(cluster, manager.journal, lambda: Now(1000.0, 0.0), LOG)
    it = made(cluster, ranks, needs=lambda fs: balancing(plans.known(), fs.fscid))
    plans.leave_automate = it.leave_automate
    plans.load()
    it.begin()
    plans.save(plan(cluster, {}, "0x3", name="plan-1"))
    (run,) = plans.known()

    def execute() -> None:
        manager.journal.head(run, state=RUNNING)
        while run.head.state != DONE:
            manager.tick(run)

    come = [lambda: it.on(cluster.state, "lunule", None, False), execute]
    for each in come if policy_first else reversed(come):
        each()
    if refused:
        with monkeypatch.context() as full, pytest.raises(JournalError):
            full.setattr(cluster.store, "fail", True)
            plans.remove("plan-1")
    assert plans.remove("plan-1") == 2
    assert next(iter(switching.load(cluster.store)[0].values())).old_automate
    assert it.off(cluster.state) == []
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("", True)


def test_without_a_policy_a_forgotten_plan_leaves_its_balance_automate(balancer: Balancer) -> None:
    balancer.leave_automate(1)
    assert balancer.get(Cluster().state) is None


def test_a_second_on_that_fails_like_the_push_before_it_leaves_the_policy_that_is_in_force(
    cluster: Cluster, balancer: Balancer, ranks: Ranks, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    before = cluster.state
    ranks.capacity(400.0)
    time.now += 60.0  # hint_interval
    with monkeypatch.context() as full:
        full.setattr(cluster, "write_object", no_answer)
        balancer.tick()
        with pytest.raises(Unavailable, match="is finished as soon"):
            balancer.on(cluster.state, "greedyspill", None, False)
    assert cluster.state == before
    balancer.tick()
    assert cluster.state.balancer.startswith("mds_partitioner.greedyspill")


def test_without_an_engine_a_policy_is_put_in_force_all_the_same(
    cluster: Cluster, ranks: Ranks, balancer: Balancer
) -> None:
    ranks.verdict = None
    balancer.on(cluster.state, "lunule", None, False)
    assert capacity(balancer, cluster) is None


def test_what_is_shown_is_of_one_moment_and_says_so(
    cluster: Cluster, ranks: Ranks, balancer: Balancer
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    ranks.capacity(400.0)
    balancer.tick()  # decided without a capacity, measured with one
    watch = balancer.watch(cluster.state)
    switch = balancer.get(cluster.state)
    text = report.text(cluster.state, switch, watch)
    assert "s ago: imbalance factor 0.900" in text
    told = [any(amount > 0 for amount in d[-1].targets) for d in watch.decisions.values()]
    roles = [row["role"] for row in report.value(cluster.state, switch, watch)["ranks"]]
    assert [role == "exporter" for role in roles] == told, "roles are the decisions'"


def test_what_is_shown_does_not_change_while_it_is_read(
    cluster: Cluster, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    balancer.tick()
    read = balancer.watch(cluster.state).decisions
    before = dict(read)
    assert [len(decisions) for decisions in read.values()] == [1] * 4
    for beat in range(REMEMBERED + 1):
        rates = tuple({"req_rate": beat + 1.0, "auth.meta_load": 7.0} for _ in range(4))
        monkeypatch.setattr(module, "last_beat", lambda host, fs, rates=rates: Beat(rates))
        time.now += SETTINGS.epoch
        balancer.tick()
    assert read == before
    now = balancer.watch(cluster.state).decisions
    assert [len(decisions) for decisions in now.values()] == [REMEMBERED] * 4


@pytest.mark.parametrize("ordered", [False, True])
def test_an_object_that_is_gone_from_the_pool_is_written_again_when_an_mds_falls_back(
    cluster: Cluster,
    ranks: Ranks,
    balancer: Balancer,
    time: Clock,
    monkeypatch: pytest.MonkeyPatch,
    ordered: bool,
) -> None:
    ranks.capacity(400.0)
    balancer.on(cluster.state, "lunule", None, False)
    balancer.tick()
    name = cluster.state.balancer
    cluster.objects.clear()

    def fell(host: Any, objects: frozenset[str], since: float) -> list[Fallback]:
        return [Fallback("mds.m0", "(2) No such file or directory", time.now)]

    monkeypatch.setattr(module, "fallbacks", fell)
    time.now += SETTINGS.epoch
    balancer.tick()
    assert not cluster.objects, "not in each epoch: an MDS falls back of other reasons, too"
    if ordered:
        balancer.on(cluster.state, "lunule", None, False)
    else:
        ranks.capacity(404.0)  # within the dead band: no reason for another FSMap
        time.now += SETTINGS.hint_interval
        balancer.tick()
    assert list(cluster.objects) == [cluster.state.balancer] == [name]


def test_another_mask_is_told_also_while_the_engine_fails(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    ranks.verdict = None
    cluster.state = replace(cluster.state, bal_rank_mask="0x3")
    time.now += SETTINGS.epoch
    balancer.tick()
    assert "mask = {0, 1}" in cluster.objects[cluster.state.balancer]
    assert balancer.watch(cluster.state).problem == "the engine failed"
    before = cluster.state.balancer
    time.now += SETTINGS.epoch
    balancer.tick()
    assert cluster.state.balancer == before, "once"


@pytest.mark.parametrize(
    ("policy", "mask", "pushes"),
    [
        *(("lunule", "-1", True), ("lunule", "0x30", False), ("lunule", "0x0", False)),
        ("greedyspill", "-1", False),
    ],
)
def test_a_policy_is_told_what_it_reads(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock, policy: str, mask: str, pushes: bool
) -> None:
    """GreedySpill looks at the mask alone, and without a rank nothing moves: a forecast would be an FSMap for
    nothing."""
    balancer.on(cluster.state, policy, None, False)
    cluster.state = replace(cluster.state, bal_rank_mask=mask)
    balancer.tick()
    first = cluster.state.balancer
    ranks.growing()
    time.now += SETTINGS.hint_interval
    balancer.tick()
    assert (cluster.state.balancer != first) == pushes
    cluster.state = replace(cluster.state, bal_rank_mask="0x3")
    time.now += SETTINGS.hint_interval
    balancer.tick()
    assert "mask = {0, 1}" in cluster.objects[cluster.state.balancer].partition("\n")[0]


def test_a_forecast_that_is_over_is_withdrawn_also_while_the_engine_fails(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    ranks.growing()
    time.now += SETTINGS.hint_interval
    balancer.tick()
    assert "growth = {[" in cluster.objects[cluster.state.balancer]
    ranks.verdict = None
    for passed, told in ((SETTINGS.hint_interval, True), (2 * SETTINGS.hint_interval, False)):
        time.now += passed
        balancer.tick()
        assert ("growth = {[" in cluster.objects[cluster.state.balancer]) == told


def test_an_object_that_is_gone_from_the_pool_is_written_again_also_while_the_engine_fails(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    name = cluster.state.balancer
    ranks.verdict = None
    del cluster.objects[name]
    monkeypatch.setattr(module, "fallbacks", lambda *_: [Fallback("mds.m0", "gone", time.now + 1)])
    time.now += SETTINGS.hint_interval
    balancer.tick()
    assert list(cluster.objects) == [cluster.state.balancer] == [name]


def test_a_fallback_is_told_and_cleared_also_while_the_engine_fails(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    ranks.verdict = None
    fell = [Fallback("mds.m0", "boom", time.now + 1)]
    for epochs, told, shown in ((1, fell, fell), (1, [], fell), (10, [], [])):
        monkeypatch.setattr(module, "fallbacks", lambda host, objects, since, told=told: told)
        time.now += epochs * SETTINGS.epoch
        balancer.tick()
        assert balancer.watch(cluster.state).fallbacks == shown, "the log may have no room for it any more"


def test_a_fallback_is_told_of_the_file_system_whose_daemon_it_was(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where hints are alike the objects of two file systems have one name."""
    balancer.on(cluster.state, "lunule", None, False)
    ranks.past = History().plus((RankSample(0, "m0", 9.0, 0.0, 0, 0, 0, 0.0, 0.0, 0),), 0.0)
    balancer.tick()
    fell = [Fallback(of, "boom", time.now + 1) for of in ("mds.m0", "mds.of_another", "mds.standby")]
    monkeypatch.setattr(module, "fallbacks", lambda host, objects, since: fell)
    standby = replace(cluster.state.mds[0], name="standby")
    cluster.state = replace(cluster.state, mds=(standby, *cluster.state.mds[1:]))
    time.now += SETTINGS.epoch
    balancer.tick()
    assert balancer.watch(cluster.state).fallbacks == [fell[0], fell[2]], "m0 failed over since"


@pytest.mark.parametrize(
    "ended", [{"balancer": ""}, {"balancer": "mine"}, {"balance_automate": False}, {"bal_rank_mask": "0x0"}]
)
def test_a_policy_that_an_operator_has_ended_does_not_pass_for_one_in_force(
    cluster: Cluster, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch, ended: dict[str, Any]
) -> None:
    """Else an uneven file system is left to it: no plan and no scheduler is advised."""
    manager: Any = SimpleNamespace(balancer=balancer)
    assert MgrModule._fallen_back(manager, cluster.state) is None
    balancer.on(cluster.state, "lunule", None, False)
    assert MgrModule._fallen_back(manager, cluster.state) == frozenset()
    monkeypatch.setattr(module, "fallbacks", lambda *_: [Fallback("mds.m0", "boom", time.now + 1)])
    balancer.tick()
    assert MgrModule._fallen_back(manager, cluster.state) == {"mds.m0"}
    cluster.state = replace(cluster.state, **ended)
    assert MgrModule._fallen_back(manager, cluster.state) is None


def test_an_mds_that_goes_on_without_the_policy_is_told_apart_while_that_is_in_force(
    cluster: Cluster, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    once = Fallback("mds.m0", "late", time.now + 1)
    goes_on = Fallback("mds.m1", "boom", time.now + 1, before=time.now - 9)
    for told, left in (([once], ""), ([once, goes_on], "mds.m1: boom")):
        monkeypatch.setattr(module, "fallbacks", lambda *_, told=told: told)
        time.now += SETTINGS.epoch
        balancer.tick()
        assert balancer.left(cluster.state) == left
    assert balancer.left(replace(cluster.state, balance_automate=False)) == ""


def test_a_fallback_is_told_also_where_the_clock_was_put_back_since_it_was_turned_on(
    cluster: Cluster, ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall, steady, asked = 1e9, 100.0, list[float]()
    balancer = made(cluster, ranks, lambda: Now(wall, steady))
    balancer.begin()
    balancer.on(cluster.state, "lunule", None, False)
    monkeypatch.setattr(module, "fallbacks", lambda host, objects, since: asked.append(since) or [])
    wall, steady = 1e9 - 3600.0, steady + SETTINGS.epoch
    balancer.tick()
    assert asked[-1] < wall


def test_a_fallback_is_told_for_no_longer_where_the_clock_was_put_back(
    cluster: Cluster, ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall, steady = 1e9, 100.0
    balancer = made(cluster, ranks, lambda: Now(wall, steady))
    balancer.begin()
    balancer.on(cluster.state, "lunule", None, False)
    log = [Fallback("mds.m0", "boom", wall)]
    monkeypatch.setattr(
        module, "fallbacks", lambda host, objects, since: [of for of in log if of.at >= since]
    )
    for step, told in ((0.0, True), (-3600.0, True), (0.0, True), (0.0, False), (0.0, False)):
        wall, steady = wall + step + SETTINGS.epoch, steady + SETTINGS.epoch
        balancer.tick()
        assert bool(balancer.watch(cluster.state).fallbacks) is told
    log.append(Fallback("mds.m0", "boom", wall))
    steady += SETTINGS.epoch
    balancer.tick()
    assert balancer.watch(cluster.state).fallbacks == [Fallback("mds.m0", "boom")], "another one"


def test_an_mds_that_does_not_tell_its_last_beat_does_not_keep_a_policy_out(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(host: Any, fs: Any) -> None:
        raise Unavailable("mds.m0 and 'dump loads': no answer within 16 s")

    monkeypatch.setattr(module, "last_beat", hang)
    switch = balancer.on(cluster.state, "lunule", None, False)
    assert cluster.state.balancer == switch.object


def test_totals_of_a_rank_count_as_moved_from_its_first_report_on(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    unheard = RankSample(0, "m0", 0.0, 0.0, 0, 0, 0, 0.0, 0.0, 0, heard=False, rated=False)
    told = []
    for total in (None, 5000, 5100):
        sample = unheard if total is None else replace(unheard, exported_total=total, heard=True)
        ranks.past = History().plus((sample,), 0.0)
        time.now += SETTINGS.epoch
        balancer.tick()
        value = report.value(cluster.state, balancer.get(cluster.state), balancer.watch(cluster.state))
        told.append(value["ranks"][0]["exported_inodes"])
    assert told == [0, 0, 100]


def test_totals_count_from_0_after_a_restart_and_from_its_first_report_of_another_mds(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    heard = RankSample(0, "m0", 0.0, 0.0, 0, 0, 0, 0.0, 0.0, 0, imported_total=7)
    told = []
    for name, total in (("m0", 5000), ("m0", 5100), ("m0", 30), ("m0", 5200), ("m4", 700), ("m4", 750)):
        ranks.past = History().plus((replace(heard, name=name, exported_total=total),), 0.0)
        time.now += SETTINGS.epoch
        balancer.tick()
        value = report.value(cluster.state, balancer.get(cluster.state), balancer.watch(cluster.state))
        told.append((value["ranks"][0]["exported_inodes"], value["ranks"][0]["imported_inodes"]))
    assert told == [(0, 0), (100, 0), (30, 7), (5200, 7), (0, 0), (50, 0)]


def test_a_renamed_file_system_goes_on_and_off_restores_it(cluster: Cluster, balancer: Balancer) -> None:
    before = cluster.snapshot()
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, name="renamed")
    balancer.tick()
    assert [s.fs for s in switching.load(cluster.store)[0].values()] == ["renamed"]
    assert balancer.get(cluster.state) is not None
    assert balancer.off(cluster.state) == []
    assert (cluster.snapshot(), cluster.store.data) == (before, {})


def test_off_right_after_a_rename_restores_it(cluster: Cluster, balancer: Balancer) -> None:
    before = cluster.snapshot()
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, name="renamed")
    assert balancer.off(cluster.state) == []
    assert (cluster.snapshot(), cluster.store.data) == (before, {})


def left_without_pool(cluster: Cluster, balancer: Balancer) -> None:
    """A policy is in force, as one that knows of no pools left it."""
    balancer.on(cluster.state, None, None, force=False)
    for key in cluster.store.items(switching.POOLS):
        cluster.store.delete(key)


@pytest.mark.parametrize("fails_over", [False, True])
def test_a_policy_of_an_older_version_is_tied_to_the_pool_that_was_there_at_the_upgrade(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, fails_over: bool
) -> None:
    left_without_pool(cluster, balancer)
    balancer.begin()
    cluster.state = other = replace(cluster.state, metadata_pool=30)
    if fails_over:
        balancer = made(cluster, ranks)
        balancer.begin()
    (told,) = balancer.off(other)
    assert "has other pools than when this was made" in told and cluster.state == other


@pytest.mark.parametrize("other", ["", "operators.lua"])
def test_what_has_no_object_of_a_policy_is_not_taken_for_its_file_system(
    cluster: Cluster, balancer: Balancer, other: str
) -> None:
    left_without_pool(cluster, balancer)
    cluster.state = replace(cluster.state, balancer=other)
    balancer.begin()
    assert switching.load(cluster.store)[0][1].metadata_pool is None


def test_of_a_policy_with_other_pools_only_the_record_goes_and_by_command(
    cluster: Cluster, balancer: Balancer
) -> None:
    held = "has other pools than when this was made"
    balancer.on(cluster.state, None, None, force=False)
    cluster.state = replace(cluster.state, metadata_pool=30)
    before = (cluster.state, dict(cluster.objects))
    balancer.tick()
    assert held in balancer.watch(cluster.state).problem
    with pytest.raises(NotPermitted, match=held):
        balancer.on(cluster.state, None, None, force=False)
    assert switching.policy_in_force(cluster.store, cluster.state) is None
    assert switching.load(cluster.store)[0][1].metadata_pool == -1
    (told,) = balancer.off(cluster.state)
    assert held in told and (cluster.state, dict(cluster.objects)) == before
    assert not cluster.store.items("balance")


def test_the_switch_of_a_removed_file_system_ends(cluster: Cluster, balancer: Balancer) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    cluster.state = replace(cluster.state, fscid=2, balancer="")  # another one, of the same name
    settings = cluster.state
    balancer.tick()
    assert (cluster.store.data, cluster.state, balancer.active()) == ({}, settings, False)
    assert balancer.off(cluster.state) == []


@pytest.mark.parametrize(
    ("of_another", "there", "answers", "left"),
    [
        (30, True, True, False),
        (20, True, True, True),  # 'fs new --recover', 'fs swap'
        (30, False, True, True),  # it is not even tried
        (30, True, False, True),
    ],
)
def test_a_policys_objects_go_from_the_pool_that_fs_rm_has_left(
    cluster: Cluster,
    balancer: Balancer,
    monkeypatch: pytest.MonkeyPatch,
    of_another: int,
    there: bool,
    answers: bool,
    left: bool,
) -> None:
    """``of_another``: the metadata pool of the file system that there is then."""
    cluster.state = replace(cluster.state, metadata_pool=20)
    balancer.on(cluster.state, "lunule", None, False)
    assert cluster.objects
    cluster.state = replace(cluster.state, fscid=2, balancer="", metadata_pool=of_another)
    if not there:
        cluster.pool_ids.discard(20)
    if not answers:
        monkeypatch.setattr(cluster, "remove_object", no_answer)
    balancer.tick()
    assert (cluster.store.data, balancer.active(), bool(cluster.objects)) == ({}, False, left)


def during_trial(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    usual = module.refuse_unless_usable

    def trial(contents: Iterable[str], beat: Beat | None, ranks: int | None = None) -> None:
        then()
        usual(contents, beat, ranks)

    monkeypatch.setattr(module, "refuse_unless_usable", trial)


def test_an_emergency_stop_does_not_wait_for_a_policy_that_is_being_tried(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    tried, go_on = threading.Event(), threading.Event()
    refused: list[Exception] = []

    def wait() -> None:
        tried.set()
        assert go_on.wait(60)

    def on() -> None:
        try:
            balancer.on(cluster.state, "custom", STILL, False)
        except Busy as e:
            refused.append(e)

    during_trial(monkeypatch, wait)
    trying = threading.Thread(target=on)
    trying.start()
    assert tried.wait(60)
    assert balancer.off(cluster.state) == []
    assert (cluster.state.balancer, cluster.state.balance_automate, cluster.objects) == ("", False, {})
    go_on.set()
    trying.join()
    assert len(refused) == 1, "the operator's last word was off"
    assert (cluster.state.balancer, cluster.store.data, balancer.active()) == ("", {}, False)


def test_a_plan_that_starts_while_a_policy_is_tried_comes_first(
    cluster: Cluster, ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    it = made(cluster, ranks, busy=lambda fs: plans[0] if plans else None)
    it.begin()
    during_trial(monkeypatch, lambda: plans.append("plan-1"))
    with pytest.raises(Busy, match="plan-1"):
        it.on(cluster.state, "lunule", None, False)
    assert cluster.events == []


def test_a_balancer_that_an_operator_sets_while_a_policy_is_tried_is_not_replaced_without_force(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile() -> None:
        cluster.state = replace(cluster.state, balancer="mine.lua", balance_automate=True)

    during_trial(monkeypatch, meanwhile)
    with pytest.raises(NotPermitted, match=r"'mine\.lua', which an operator set"):
        balancer.on(cluster.state, "lunule", None, False)
    assert cluster.events == []
    balancer.on(cluster.state, "lunule", None, True)
    assert balancer.off(cluster.state) == []
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("mine.lua", True)


def test_what_an_operator_stops_while_hints_are_made_stays_so(
    cluster: Cluster, balancer: Balancer, ranks: Ranks, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    ranks.capacity(400.0)
    time.now += 60.0  # hint_interval
    object_of = module.policy_object

    def meanwhile(*of: Any) -> tuple[str, str]:
        cluster.state = replace(cluster.state, balancer="mine.lua", balance_automate=False)
        return object_of(*of)

    monkeypatch.setattr(module, "policy_object", meanwhile)
    balancer.tick()
    monkeypatch.setattr(module, "policy_object", object_of)
    stopped = cluster.state
    assert (stopped.balancer, stopped.balance_automate) == ("mine.lua", False)
    balancer.off(cluster.state)
    assert cluster.state == stopped


def test_what_an_operator_sets_while_a_push_is_written_stays_so(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    balancer.tick()
    ranks.capacity(400.0)
    time.now += SETTINGS.epoch

    def theirs(text: str) -> None:
        if text.startswith("write "):
            cluster.state = replace(cluster.state, balancer="theirs.lua")

    cluster.watch = theirs
    for _ in range(3):
        balancer.tick()
        time.now += SETTINGS.epoch
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("theirs.lua", True)
    assert "as an operator set them since: they were left" in balancer.off(cluster.state)[0]
    assert (cluster.state.balancer, cluster.objects) == ("theirs.lua", {})


def test_what_fails_is_tried_again_after_a_while_and_the_rest_goes_on(
    cluster: Cluster, balancer: Balancer, ranks: Ranks, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    ranks.capacity(400.0)
    time.now += 60.0  # hint_interval
    monkeypatch.setattr(cluster, "write_object", no_answer)
    before = len(cluster.events)
    for _ in range(60):
        balancer.tick()
        time.now += 1.0
    assert len(cluster.events) - before <= 2 + 60 / AGAIN
    ranks.verdict = verdict(0.9, UNKNOWN)
    time.now += SETTINGS.epoch
    balancer.watch(cluster.state).again = time.now + 1.0
    balancer.tick()
    assert balancer.watch(cluster.state).verdict is ranks.verdict, "what is in force is watched"


def test_an_off_whose_objects_stay_is_tried_again_after_a_while_and_says_so(
    cluster: Cluster, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    with monkeypatch.context() as full:
        full.setattr(cluster, "remove_object", no_answer)
        balancer.off(cluster.state)
        before = len(cluster.events)
        for _ in range(60):
            balancer.tick()
            time.now += 1.0
        assert 60 / AGAIN <= len(cluster.events) - before <= 2 + 60 / AGAIN
        assert "will be removed: no answer within 20 s" in balancer.watch(cluster.state).problem
    time.now += AGAIN
    balancer.tick()
    assert (balancer.active(), cluster.store.data) == (False, {})


def test_the_mon_is_not_asked_for_what_is_there(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.store.data["balance/1"] = cluster.store.data["balance/2"] = "{"
    balancer.begin()
    asked = list[int]()
    monkeypatch.setattr(cluster, "fs_of_mon", asked.append)  # None: it is gone
    balancer.tick()
    assert (asked, list(balancer.unreadable)) == ([2], ["balance/1"])


@pytest.mark.parametrize("at", ["put balance", "write "])
def test_what_an_operator_sets_while_a_policy_is_put_in_force_stays_so(
    cluster: Cluster, balancer: Balancer, at: str
) -> None:
    def theirs(text: str) -> None:
        if text.startswith(at):
            cluster.state = replace(cluster.state, balancer="theirs.lua")

    cluster.watch = theirs
    with pytest.raises(Busy, match="an operator has set another balancer"):
        balancer.on(cluster.state, "lunule", None, False)
    balancer.tick()
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("theirs.lua", False)
    assert (cluster.objects, cluster.store.data, balancer.active()) == ({}, {}, False)


def test_what_an_operator_sets_before_the_next_manager_goes_on_stays_so(
    cluster: Cluster, balancer: Balancer, ranks: Ranks
) -> None:
    def dies(text: str) -> None:
        if text.startswith("write "):
            raise Crash

    cluster.watch = dies
    with pytest.raises(Crash):
        balancer.on(cluster.state, "lunule", None, False)
    cluster.watch = lambda text: None
    cluster.state = replace(cluster.state, balancer="theirs.lua")
    after = made(cluster, ranks)
    after.begin()
    after.tick()
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("theirs.lua", False)


def test_off_needs_no_policys_text(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "custom", STILL, False)
    written = list[str]()
    put = cluster.store.put

    def kept(key: str, value: str) -> None:
        written.append(value)
        put(key, value)

    monkeypatch.setattr(cluster.store, "put", kept)
    balancer.off(cluster.state)
    assert written and not any("return t" in value for value in written)


def test_a_policy_that_would_kill_an_mds_changes_nothing(cluster: Cluster, balancer: Balancer) -> None:
    with pytest.raises(BadInput, match=r"not put in force: .* which is itself"):
        balancer.on(cluster.state, "custom", STILL.replace("return", "t[whoami] = 1000 return"), False)
    assert (cluster.events, balancer.active()) == ([], False)


@pytest.mark.parametrize("mask", ["0x0", "0x30"])
def test_a_mask_that_names_no_rank_is_not_balanced_in(
    cluster: Cluster, balancer: Balancer, mask: str
) -> None:
    cluster.state = replace(cluster.state, bal_rank_mask=mask)
    with pytest.raises(NotPermitted, match=rf"{mask} .*'ceph fs set cephfs bal_rank_mask all'"):
        balancer.on(cluster.state, "lunule", None, force=True)
    assert (cluster.events, balancer.active()) == ([], False)


@pytest.mark.parametrize("mask", ["0x0", "all", "0x30"])
def test_a_policy_without_a_record_is_taken_back_whatever_the_mask_is(
    cluster: Cluster, balancer: Balancer, mask: str
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    cluster.store.data.clear()
    balancer.begin()
    cluster.state = replace(cluster.state, bal_rank_mask=mask)
    balancer.off(cluster.state)
    assert (cluster.state.balancer, cluster.state.bal_rank_mask, cluster.objects) == ("", mask, {})


def test_an_on_that_fails_halfway_is_undone_by_the_loop(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cluster.snapshot()
    write = cluster.write_object

    def fail(pool: int, name: str, text: str) -> None:
        write(pool, name, text)
        raise Unavailable("no answer within 20 s")

    monkeypatch.setattr(cluster, "write_object", fail)
    with pytest.raises(Unavailable):
        balancer.on(cluster.state, "lunule", None, False)
    switch = balancer.get(cluster.state)
    assert switch is not None
    assert switch.state == TURNING_OFF
    balancer.tick()
    assert (cluster.snapshot(), cluster.store.data) == (before, {})


@pytest.mark.parametrize("record", [None, "{"])
def test_off_also_stops_a_policy_of_ours_that_no_record_can_be_read_of(
    cluster: Cluster, balancer: Balancer, record: str | None
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    cluster.store.data.clear()
    if record is not None:
        cluster.store.data["balance/1"] = record
    balancer.begin()
    (told,) = balancer.off(cluster.state)
    assert "without a readable record" in told
    assert (cluster.state.balancer, cluster.state.balance_automate, cluster.objects) == ("", False, {})
    assert (cluster.store.data, balancer.active()) == ({}, False)
    cluster.store.data["balance/1"] = "{"
    assert (balancer.off(cluster.state), cluster.store.data) == ([], {})


class Module(BalanceCommands):
    """Nothing but the commands."""

    def __init__(self, host: Any, balancer: Balancer) -> None:
        self.desk, self.host, self.balancer = desk.Desk(), host, balancer

    def wake(self) -> None:
        """After each command."""


def test_what_an_operator_set_a_moment_ago_is_shown(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = cluster.state  # what a manager whose FSMap lags behind sees
    monkeypatch.setattr(cluster, "fs", lambda name: stale, raising=False)
    commands = Module(cluster, balancer)
    assert json.loads(commands.balance_on(format="json").stdout)["balancer"].startswith("mds_partitioner")
    stale = cluster.state
    cluster.state = replace(cluster.state, balancer="mine.lua")
    assert "not in force: balancer is 'mine.lua'" in commands.balance_status().stdout
    assert "mine.lua" in commands.balance_off().stdout
    assert cluster.state.balancer == "mine.lua"
    commands.desk.shutdown()


def test_where_lua_is_missing_hints_are_pushed_all_the_same_and_the_package_is_named(
    cluster: Cluster, ranks: Ranks, balancer: Balancer, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer.on(cluster.state, "lunule", None, False)
    monkeypatch.setenv("PATH", "/nowhere")
    ranks.capacity(400.0)
    for _ in range(2):
        time.now += SETTINGS.epoch
        balancer.tick()
        assert "install the package lua5.3" in balancer.watch(cluster.state).problem
    assert capacity(balancer, cluster) == 400.0
    with pytest.raises(Unavailable, match=r"not put in force: .* install the package lua5\.3"):
        balancer.on(cluster.state, "greedyspill", None, False)


@pytest.mark.parametrize("told", ["capacity", "growth", "resting", "mask"])
def test_a_policy_is_tried_with_what_it_may_be_told_later(
    cluster: Cluster, balancer: Balancer, told: str
) -> None:
    """No capacity is known yet, and nothing was forecast."""
    own = f"local more = hints.{told} and next(type(hints.{told}) == 'table' and hints.{told} or {{1}})"
    with pytest.raises(BadInput, match="was not put in force"):
        balancer.on(cluster.state, "custom", f"{own} if more then error('boom') end {STILL}", False)
    assert balancer.get(cluster.state) is None
    balancer.on(cluster.state, "custom", f"{own} {STILL}", False)


def test_forecasts_are_tried_with_as_many_ranks_as_there_are(cluster: Cluster, balancer: Balancer) -> None:
    own = "for rank, g in pairs(hints.growth or {}) do local load = mds[rank]['auth.meta_load'] + g.by end"
    balancer.on(cluster.state, "custom", f"{own} {STILL}", False)
    assert balancer.get(cluster.state) is not None


@pytest.mark.parametrize("order", ["on", "off"])
def test_what_was_done_is_told_as_done_though_the_mon_does_not_answer_any_more(
    cluster: Cluster, balancer: Balancer, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    def silent(fscid: int) -> None:
        raise Unavailable("no mon")

    def carried_out(*args: Any) -> Any:
        found = carry_out(*args)
        monkeypatch.setattr(cluster, "fs_of_mon", silent)
        return found

    before = cluster.state
    monkeypatch.setattr(cluster, "fs", lambda name: before, raising=False)
    commands, carry_out = Module(cluster, balancer), getattr(balancer, order)
    monkeypatch.setattr(balancer, order, carried_out)
    answer = getattr(commands, f"balance_{order}")()
    assert answer.retval == 0, answer
    assert answer.stdout.endswith("\nthat is done; what is in force now is not known: no mon")
    monkeypatch.setattr(cluster, "fs_of_mon", lambda fscid: cluster.state)
    value = json.loads(getattr(commands, f"balance_{order}")(format="json").stdout)
    assert (value["balancer"], value["balance_automate"], value["problem"][:12]) == (
        None,
        None,
        "that is done",
    )
    assert value["in_force"] is (None if order == "on" else False)
    commands.desk.shutdown()
