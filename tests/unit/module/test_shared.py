# SPDX-License-Identifier: LGPL-2.1-or-later
"""An option of the cluster that several users want: whoever is last puts back what was there."""

import itertools
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import LOG, Crash, FakeCluster, Manager, plan
from hypothesis import given
from hypothesis import strategies as st
from test_switch import HINTS, fresh, next_manager, push, restore

from mds_partitioner.act.registry import Plans
from mds_partitioner.act.run import DONE, KEPT, ROLLED_BACK, ROLLING_BACK, RUNNING, Run
from mds_partitioner.ceph.shared_option import SharedOption, sweep
from mds_partitioner.clock import Now
from mds_partitioner.errors import CephError, JournalError, Unavailable
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.policy import switch as switching
from mds_partitioner.policy.hints import policy_object
from mds_partitioner.policy.switch import SET, asking

USERS = ("plan/a", "scheduler/1", "balance/2")


def option(cluster: FakeCluster, user: str) -> SharedOption:
    return SharedOption(cluster, TO_AUTH, user, "true")


def make(of: SharedOption, value: str) -> None:
    if value == "true":
        of.take()
    else:
        of.give_back(value)


@given(st.sampled_from(["", "false"]), st.permutations(USERS), st.permutations(USERS))
def test_whoever_is_last_puts_back_what_was_there(old: str, come: list[str], go: list[str]) -> None:
    cluster = FakeCluster()
    cluster.options[TO_AUTH] = old
    seen = []
    for user in come:
        seen.append(option(cluster, user).read())
        option(cluster, user).take()
    for user in go:
        assert (cluster.options[TO_AUTH], option(cluster, user).read()) == ("true", "true")
        option(cluster, user).give_back(old)
        assert option(cluster, user).read() == old, "for who has let go it is as before"
    assert (seen, cluster.options[TO_AUTH], cluster.store.data) == ([old] * 3, old, {})


@given(st.lists(st.tuples(st.sampled_from(USERS), st.integers(0, 3)), max_size=12), st.data())
def test_a_manager_that_dies_at_any_moment_leaves_what_the_next_one_can_finish(
    turns: list[tuple[str, int]], data: st.DataObject
) -> None:
    """A user that began goes on until it has what it wanted, as its own journal says; then all let go."""
    cluster = FakeCluster()
    wants: set[str] = set()
    for user, lives in [*turns, *((user, 9) for user in sorted({u for u, _ in turns}))]:
        wants ^= {user}
        if lives == 9:
            wants.discard(user)
        value = "true" if user in wants else ""
        cluster.crash_at = len(cluster.events) + lives
        with suppress(Crash):
            make(option(cluster, user), value)
        cluster.crash_at = None
        while option(cluster, user).read() != value:
            make(option(cluster, user), value)
        if user not in wants:
            option(cluster, user).let_go()
        assert cluster.mds_option(TO_AUTH) == ("true" if wants else "")
    assert cluster.store.data == {}


def test_what_an_operator_had_set_before_is_no_users() -> None:
    cluster = FakeCluster()
    cluster.options[TO_AUTH] = "true"
    assert option(cluster, "").read() == "true", "there is nothing to do, and nothing to put back"


def test_what_an_operator_sets_in_between_comes_back_whoever_is_last() -> None:
    cluster = FakeCluster()
    option(cluster, "plan/a").take()
    cluster.options[TO_AUTH] = "false"
    option(cluster, "plan/b").take()
    option(cluster, "plan/b").give_back("false")
    assert cluster.options[TO_AUTH] == "true", "the first wants it still"
    option(cluster, "plan/a").give_back("")
    assert (cluster.options[TO_AUTH], cluster.store.data) == ("false", {})


def test_who_comes_while_another_one_goes_has_what_it_wants() -> None:
    cluster = FakeCluster()
    first, second = option(cluster, "plan/a"), option(cluster, "plan/b")
    first.take()
    put_back = cluster.set_mds_option

    def meanwhile(name: str, value: str) -> None:
        cluster.set_mds_option = put_back
        second.take()
        put_back(name, value)

    cluster.set_mds_option = meanwhile
    first.give_back("")
    assert cluster.options[TO_AUTH] == "true"
    second.give_back("")
    assert (cluster.options[TO_AUTH], cluster.store.data) == ("", {})


def test_a_plan_that_nobody_can_read_any_more_holds_nothing() -> None:
    cluster = FakeCluster()
    option(cluster, "plan/a").take()
    option(cluster, "plan/b").take()
    sweep(cluster.store, ("plan",), lambda: {"plan/b"})
    option(cluster, "plan/b").give_back("")
    assert (cluster.options[TO_AUTH], cluster.store.data) == ("", {})


class Both:
    """Plan 'cephfs' of a file system of that name and plan 'b' of another one have set the same option."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.one = self.cluster.state
        self.other = replace(self.one, name="b", fscid=2)
        self.manager = Manager(self.cluster)
        made = plan(self.cluster, {}, option=TO_AUTH)
        for fs in (self.one, self.other):
            of_fs = replace(made, name=fs.name, fs=fs.name, fscid=fs.fscid)
            self.takes(RUNNING, self.manager.journal.create(of_fs, []), DONE)
        self.plans = Plans(self.cluster, self.manager.journal, lambda: Now(1000.0, 0.0), LOG)
        self.plans.load()
        self.cluster.state = self.one

    def takes(self, state: str, run: Run, until: str) -> None:
        self.cluster.state = self.one if run.plan.fscid == 1 else self.other
        self.manager.journal.head(run, state=state)
        for _ in range(5):
            self.manager.tick(run)
        assert run.head.state == until


def test_what_a_plan_was_not_forgotten_for_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both()

    def refused(run: Run) -> None:
        raise JournalError("the mon refused it")

    monkeypatch.setattr(both.manager.journal, "forget", refused)
    with pytest.raises(JournalError):
        both.plans.remove(both.one.name)
    for fs in (both.one, both.other):
        both.takes(ROLLING_BACK, both.plans.named(fs, fs.name), ROLLED_BACK)
    assert (both.cluster.options[TO_AUTH], both.cluster.store.items("option/")) == ("", {})


def test_what_a_forgotten_plan_leaves_to_the_operator_is_taken_from_him_by_nobody() -> None:
    both = Both()
    cluster = both.cluster
    assert both.plans.remove(both.one.name) == 1
    (run,) = both.plans.known()
    both.takes(ROLLING_BACK, run, ROLLED_BACK)
    assert (cluster.options[TO_AUTH], cluster.store.items("option/")) == ("true", {})
    assert (run.records[0].state, run.records[0].why) == (
        KEPT,
        "it is yours since another plan was forgotten ('partition rm')",
    )


@pytest.mark.parametrize("policy_first", [True, False])
def test_a_plan_and_a_policy_share_it(policy_first: bool) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {}, option=TO_AUTH), [])
    manager.journal.head(run, state=RUNNING)
    switch = push(cluster, asking(fresh(cluster), True, option(cluster, "").read()), 1000.0)
    while run.head.state != DONE:
        manager.tick(run)
    assert (switch.to_auth, cluster.options[TO_AUTH]) == (SET, "true")

    def roll_back() -> None:
        manager.journal.head(run, state=ROLLING_BACK)
        while run.head.state != ROLLED_BACK:
            manager.tick(run)

    ends = [lambda: restore(cluster, switch), roll_back]
    first, last = ends if policy_first else reversed(ends)
    first()
    assert cluster.options[TO_AUTH] == "true"
    last()
    assert cluster.options[TO_AUTH] == ""
    assert not cluster.store.items("option/")


@given(st.integers(0, 12))
def test_a_policy_that_dies_with_its_manager_at_any_moment_gives_it_back(events: int) -> None:
    cluster = FakeCluster()
    before = cluster.snapshot()
    switch = asking(fresh(cluster), True, "")
    cluster.crash_at = events
    with suppress(Crash):
        switch = push(cluster, push(cluster, switch, 1000.0), 2000.0)
        restore(cluster, switch)
    cluster.crash_at = None
    next_manager(cluster)
    for left in switching.load(cluster.store)[0].values():
        assert cluster.options[TO_AUTH] == "true"
        restore(cluster, left)
    assert (cluster.snapshot(), cluster.store.data) == (before, {})


def test_what_is_pushed_again_does_not_set_it_again_and_what_is_not_asked_for_goes_back() -> None:
    cluster = FakeCluster()
    switch = push(cluster, asking(fresh(cluster), True, ""), 1000.0)
    cluster.options[TO_AUTH] = "false"
    switch = push(cluster, switch, 2000.0)
    assert switch.to_auth == SET
    assert cluster.options[TO_AUTH] == "false", "an operator has set it since"
    (told,) = restore(cluster, switch)
    assert "is 'false', as an operator set it since" in told
    cluster.options[TO_AUTH] = ""
    switch = push(cluster, asking(fresh(cluster), True, ""), 1000.0)
    assert cluster.options[TO_AUTH] == "true"
    assert push(cluster, asking(switch, False, ""), 1000.0).to_auth == switching.LEFT
    assert (cluster.options[TO_AUTH], cluster.store.items("option/")) == ("", {})


def test_of_a_file_system_that_was_removed_it_goes_back() -> None:
    cluster = FakeCluster()
    switch = push(cluster, asking(fresh(cluster), True, ""), 1000.0)
    cluster.state = replace(cluster.state, fscid=2)
    restore(cluster, switch)
    assert (cluster.options[TO_AUTH], cluster.store.data) == ("", {})


def objects_stay(cluster: FakeCluster) -> None:
    def full(pool: int, name: str) -> None:
        raise CephError("the pool is full")

    cluster.remove_object = full


def test_what_is_off_but_for_its_objects_touches_the_option_no_more_and_can_be_switched_on_again() -> None:
    cluster = FakeCluster()
    switch = push(cluster, asking(fresh(cluster), True, ""), 1000.0)
    remove = cluster.remove_object
    objects_stay(cluster)
    restore(cluster, switch)
    cluster.remove_object = remove
    left = switching.load(cluster.store)[0][1]
    assert (left.to_auth, cluster.options[TO_AUTH]) == (switching.LEFT, "")
    again = push(cluster, asking(replace(left, state=switching.TURNING_ON), True, ""), 1000.0)
    assert (again.to_auth, cluster.options[TO_AUTH]) == (SET, "true")
    objects_stay(cluster)
    restore(cluster, again)
    cluster.options[TO_AUTH] = "true"  # by an operator
    cluster.remove_object = remove
    next_manager(cluster)
    assert cluster.options[TO_AUTH] == "true"


@pytest.mark.parametrize("claimed", [True, False])
def test_what_was_only_about_to_be_set_is_not_taken_from_an_operator(claimed: bool) -> None:
    cluster = FakeCluster()
    name, _ = policy_object("lunule", HINTS, "return {}")
    switch = switching.intended(asking(fresh(cluster), True, ""), name, 2.0)
    host: Any = cluster
    switching.carry_out(host, switching.Save(switch), "")
    if claimed:
        switching.option(host, 1).claim("")
    cluster.options[TO_AUTH] = "true"
    cluster.crash_at = len(cluster.events) + 1
    with pytest.raises(Crash):
        restore(cluster, switch)
    next_manager(cluster)
    assert cluster.options[TO_AUTH] == ("" if claimed else "true")
    assert cluster.store.data == {}


def test_what_an_operator_had_set_and_changed_since_is_what_comes_back() -> None:
    cluster = FakeCluster()
    cluster.options[TO_AUTH] = "true"
    switch = push(cluster, asking(fresh(cluster), True, "true"), 1000.0)
    cluster.options[TO_AUTH] = "false"
    option(cluster, "plan/b").take()
    option(cluster, "plan/b").give_back("false")
    assert cluster.options[TO_AUTH] == "true", "the policy is there"
    restore(cluster, switch)
    assert (cluster.options[TO_AUTH], cluster.store.items("option/")) == ("false", {})


def test_one_that_an_operator_has_taken_away_is_asked_for_again() -> None:
    cluster = FakeCluster()
    switch = push(cluster, asking(fresh(cluster), True, ""), 1000.0)
    cluster.options[TO_AUTH] = "false"
    again = asking(switch, True, "false")
    assert (again.to_auth, again.old_to_auth) == (switching.SETTING, "false")
    assert asking(switch, True, "true") == switch


def test_who_looks_while_another_one_gives_it_back_sees_no_operators_value() -> None:
    cluster = FakeCluster()
    first, second = option(cluster, "balance/2"), option(cluster, "plan/a")
    first.take()
    look = cluster.mds_option

    def between(name: str) -> str:
        value = look(name)
        cluster.mds_option = look
        first.give_back("")
        return value

    cluster.mds_option = between
    second.take()
    assert cluster.options[TO_AUTH] == "true"
    second.give_back("")
    assert (cluster.options[TO_AUTH], cluster.store.data) == ("", {})


@pytest.mark.parametrize("broken", ["{", "{}", "[]", "null", '{"value": "true"}'])
def test_a_claim_that_nobody_can_read_holds_up_no_off(broken: str) -> None:
    cluster = FakeCluster()
    switch = push(cluster, asking(fresh(cluster), True, ""), 1000.0)
    cluster.store.data[f"option/{TO_AUTH}/plan/x"] = broken
    restore(cluster, switch)
    assert (cluster.options[TO_AUTH], cluster.state.balance_automate) == ("", False)


def test_two_that_let_go_at_once_leave_nothing_set() -> None:
    cluster = FakeCluster()
    first, second = option(cluster, "plan/a"), option(cluster, "plan/b")
    first.take()
    second.take()
    delete = cluster.store.delete

    def meanwhile(key: str) -> None:
        cluster.store.delete = delete
        second.give_back("")
        delete(key)

    cluster.store.delete = meanwhile
    first.give_back("")
    assert (cluster.options[TO_AUTH], cluster.store.data) == ("", {})


def test_a_step_that_found_it_so_takes_no_claim_of_another_plan_away() -> None:
    cluster = FakeCluster()
    cluster.options[TO_AUTH] = "true"  # by an operator
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {}, option=TO_AUTH), scheduled=True), [])
    option(cluster, "scheduler/1").claim("")  # of an older plan of the scheduler's
    manager.journal.head(run, state=RUNNING)
    while run.head.state != DONE:
        manager.tick(run)
    assert option(cluster, "scheduler/1").replaced() == ""


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("times", [1, 2])
def test_what_an_operator_sets_while_the_claim_is_written_comes_back(alone: bool, times: int) -> None:
    """A slow mon takes up to 20 s for a claim."""
    cluster, his = FakeCluster(), iter(["false", "0"][:times])
    if not alone:
        option(cluster, "balance/2").take()

    def changed(event: str) -> None:
        if event.startswith("put option/"):
            cluster.options[TO_AUTH] = next(his, cluster.options.get(TO_AUTH, ""))

    cluster.watch = changed
    option(cluster, "plan/a").take()
    assert (cluster.options[TO_AUTH], list(his)) == ("true", [])
    for user in ("balance/2", "plan/a"):
        option(cluster, user).give_back("")
    assert cluster.options[TO_AUTH] == ("false" if times == 1 else "0")


def test_one_that_is_changed_again_and_again_is_not_set() -> None:
    cluster, made = FakeCluster(), itertools.count()
    cluster.watch = lambda event: cluster.options.update({TO_AUTH: str(next(made))})
    with pytest.raises(Unavailable, match="was not set: somebody else sets it"):
        option(cluster, "plan/a").take()
    assert cluster.options[TO_AUTH] == "2"
