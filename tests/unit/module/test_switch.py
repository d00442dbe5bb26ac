# SPDX-License-Identifier: LGPL-2.1-or-later
"""A policy on and off: journaled first, finished by the next manager, undone to the last setting."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import Crash, FakeCluster
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.errors import Busy, CephError, InDoubt, Unavailable
from mds_partitioner.policy import switch as switching
from mds_partitioner.policy.hints import Growth, Hints, policy_object
from mds_partitioner.policy.switch import KEPT_OBJECTS, ON, TURNING_OFF, TURNING_ON, Switch
from mds_partitioner.policy.switchboard import Switchboard

HINTS = Hints(1000.0, 0.2, 0.075, 0.01, mask=(0, 1), resting=(1,), growth={1: Growth(10.0, 5.0)}, expires=9)


def fresh(cluster: FakeCluster) -> Switch:
    state = cluster.state
    return Switch("cephfs", 1, TURNING_ON, "lunule", "", state.balancer, state.balance_automate, 1.0, HINTS)


def board(cluster: FakeCluster) -> Switchboard:
    """A manager's, which has read the journal."""
    it = Switchboard(cluster, lambda fs: None)
    it.begin()
    return it


def push(cluster: FakeCluster, switch: Switch, capacity: float) -> Switch:
    hints = replace(switch.hints, capacity=capacity)
    name, text = policy_object("lunule", hints, "return {}")
    it = board(cluster)
    it.put_in_force(switching.intended(replace(switch, hints=hints), name, 2.0), text, it.turn(1))
    found = it.get(1)
    assert found is not None
    return found


def restore(cluster: FakeCluster, switch: Switch) -> list[str]:
    it = board(cluster)
    return it.take_out(switch, it.turn(1))


def next_manager(cluster: FakeCluster) -> None:
    """What a new manager does with what the last one left: finish it, undo it, or end it."""
    for switch in switching.load(cluster.store)[0].values():
        if cluster.fs_by_id(switch.fscid) is None:
            board(cluster).forget(switch.fscid)
        elif switch.state == TURNING_OFF:
            restore(cluster, switch)
        elif switch.state == TURNING_ON:
            _, text = policy_object("lunule", switch.hints, "return {}")
            it = board(cluster)
            it.put_in_force(switch, text, it.turn(1))


def test_the_journal_knows_the_old_balancer_before_anything_changes() -> None:
    cluster = FakeCluster()
    push(cluster, fresh(cluster), 1000.0)
    assert cluster.events[0] == "put balance/1"
    assert [e.split()[0] for e in cluster.events] == ["put", "write", "set", "set", "put"]
    assert cluster.state.balancer.startswith("mds_partitioner.lunule.")


@pytest.mark.parametrize(("interval", "tick"), [(10, 5.0), (20, 1.0)])
def test_what_was_written_is_read_again(interval: int, tick: float) -> None:
    cluster = FakeCluster()
    hints = replace(HINTS, interval=interval, tick=tick)
    switch = push(cluster, replace(fresh(cluster), hints=hints), 1000.0)
    assert switching.load(cluster.store)[0] == {1: switch}
    named = [name in cluster.store.data["balance/1"] for name in ('"interval"', '"tick"')]
    assert named == [interval != 10, tick != 5.0], "older versions refuse a field more"


@pytest.mark.parametrize("broken", ['{"fs": 1}', "{", "[]", "null", '{"hints": {"growth": 1}}'])
def test_a_broken_record_is_named_and_the_others_are_read(broken: str) -> None:
    cluster = FakeCluster()
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.store.data["balance/2"] = broken
    found, unreadable = switching.load(cluster.store)
    assert (found, set(unreadable)) == ({1: switch}, {"balance/2"})


@pytest.mark.parametrize("key", ["x", "-1", "1/x", ""])
def test_a_key_of_no_file_system_is_none_of_ours(key: str) -> None:
    """There is no command that would remove it."""
    cluster = FakeCluster()
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.store.data[f"balance/{key}"] = "{"
    assert switching.load(cluster.store) == ({1: switch}, {})


def test_only_the_newest_objects_stay() -> None:
    cluster = FakeCluster()
    switch = fresh(cluster)
    for capacity in (1000.0, 2000.0, 3000.0, 4000.0):
        switch = push(cluster, switch, capacity)
    assert len(cluster.objects) == KEPT_OBJECTS
    assert cluster.state.balancer == switch.object == list(cluster.objects)[-1]


@given(st.booleans(), st.sampled_from(["", "mine.lua"]))
def test_off_restores_what_was_there(automate: bool, balancer: str) -> None:
    cluster = FakeCluster()
    cluster.state = replace(cluster.state, balance_automate=automate, balancer=balancer)
    before = cluster.snapshot()
    assert restore(cluster, push(cluster, push(cluster, fresh(cluster), 1000.0), 2000.0)) == []
    assert cluster.snapshot() == before
    assert cluster.store.data == {}


@given(st.integers(0, 8), st.booleans(), st.sampled_from(["", "mine.lua"]))
def test_a_manager_that_dies_anywhere_leaves_what_the_next_one_can_finish(
    events: int, automate: bool, balancer: str
) -> None:
    cluster = FakeCluster()
    cluster.state = replace(cluster.state, balance_automate=automate, balancer=balancer)
    before = cluster.snapshot()
    cluster.crash_at = events
    switch = fresh(cluster)
    try:
        switch = push(cluster, push(cluster, switch, 1000.0), 2000.0)
    except Crash:
        next_manager(cluster)
    cluster.crash_at = None
    found, _ = switching.load(cluster.store)
    if found:
        assert found[1].state == ON
        assert switching.in_force(cluster.state, found[1])
        restore(cluster, found[1])
    assert cluster.snapshot() == before


@given(st.integers(0, 7), st.booleans(), st.sampled_from(["", "mine.lua"]), st.booleans())
def test_a_manager_that_dies_while_turning_off_leaves_nothing_on(
    events: int, automate: bool, balancer: str, cleared: bool
) -> None:
    """Also of what an operator has cleared by hand, when only the record tells that the flag is ours."""
    cluster = FakeCluster()
    cluster.state = replace(cluster.state, balance_automate=automate, balancer=balancer)
    before = cluster.snapshot()
    switch = push(cluster, fresh(cluster), 1000.0)
    if cleared:
        cluster.state = replace(cluster.state, balancer=balancer)
    cluster.crash_at = len(cluster.events) + events
    try:
        restore(cluster, switch)
        cluster.crash_at = None
    except Crash:
        next_manager(cluster)
        for left in switching.load(cluster.store)[0].values():
            restore(cluster, left)
    assert cluster.snapshot() == before


@pytest.mark.parametrize("cleared", [False, True])
def test_where_plans_cannot_be_read_yet_the_policy_goes_when_they_are(cleared: bool) -> None:
    """As it is written down, a next manager takes it out, too, if an operator has not cleared it."""
    cluster, plans = FakeCluster(), list[None]()
    before = cluster.snapshot()
    switch = push(cluster, fresh(cluster), 1000.0)
    if cleared:
        cluster.state = replace(cluster.state, balancer="")

    def needs(fs: Any) -> None:
        if not plans:
            raise Unavailable("the module is starting")

    starting = Switchboard(cluster, needs)
    starting.begin()
    with pytest.raises(Unavailable, match="is taken out as soon as that is over"):
        starting.take_out(switch, starting.turn(1))
    left = starting.get(1)
    assert left is not None and left.state == TURNING_OFF
    if not cleared:
        assert switching.load(cluster.store)[0][1].state == TURNING_OFF
    plans.append(None)
    starting.take_out(left, starting.turn(1))
    assert cluster.snapshot() == before


def test_what_an_operator_set_meanwhile_stays_and_is_told() -> None:
    cluster = FakeCluster()
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.state = replace(cluster.state, balancer="mine.lua")
    kept = restore(cluster, switch)
    assert "mine.lua" in kept[0]
    assert (cluster.state.balancer, cluster.objects) == ("mine.lua", {})


def test_a_balance_automate_that_an_operator_turned_off_meanwhile_stays_off_and_is_told() -> None:
    cluster = FakeCluster()
    cluster.state = replace(cluster.state, balance_automate=True)
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.state = replace(cluster.state, balance_automate=False)
    kept = restore(cluster, switch)
    assert kept == ["balance_automate is false, as an operator set it since: it was left"]
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("", False)


def test_where_an_operator_cleared_the_balancer_the_flag_that_we_set_goes_too() -> None:
    cluster = FakeCluster()
    before = cluster.state
    assert not before.balance_automate
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.state = replace(cluster.state, balancer="")
    assert restore(cluster, switch) == ["balance_automate, which 'balance on' had set, is false again"]
    assert (cluster.state, cluster.objects) == (before, {})


def test_so_it_does_when_the_first_try_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    before = cluster.state
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.state = replace(cluster.state, balancer="")
    it = board(cluster)

    def fails(prefix: str, **args: Any) -> None:
        raise CephError(f"{prefix}: no quorum", 11)

    with monkeypatch.context() as away, pytest.raises(CephError):
        away.setattr(cluster, "mon", fails)
        it.take_out(switch, it.turn(1))
    left = it.get(1)
    assert left is not None and left.state == TURNING_OFF
    assert it.take_out(left, it.turn(1)) == ["balance_automate, which 'balance on' had set, is false again"]
    assert (cluster.state, cluster.objects) == (before, {})


def test_what_an_operator_sets_while_objects_are_removed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.state = replace(cluster.state, balancer="")
    it = board(cluster)

    def fails(pool: int, name: str) -> None:
        raise CephError("the pool does not answer")

    with monkeypatch.context() as away:
        away.setattr(cluster, "remove_object", fails)
        it.take_out(switch, it.turn(1))
    assert not cluster.state.balance_automate
    cluster.state = replace(cluster.state, balance_automate=True)
    left = it.get(1)
    assert left is not None and "were left" in it.take_out(left, it.turn(1))[0]
    assert (cluster.state.balance_automate, cluster.objects) == (True, {})


def test_an_operator_who_restored_the_old_balancer_himself_is_told_nothing() -> None:
    cluster = FakeCluster()
    switch = push(cluster, fresh(cluster), 1000.0)
    cluster.state = replace(cluster.state, balancer="", balance_automate=False)
    assert restore(cluster, switch) == []


@given(st.integers(0, 9), st.booleans(), st.sampled_from(["", "mine.lua"]))
def test_a_file_system_that_is_renamed_at_any_moment_is_switched_back_under_its_new_name(
    events: int, automate: bool, balancer: str
) -> None:
    cluster = FakeCluster()
    cluster.state = replace(cluster.state, balance_automate=automate, balancer=balancer)
    before = cluster.snapshot()
    cluster.crash_at = events
    switch = fresh(cluster)
    with suppress(Crash):
        push(cluster, push(cluster, switch, 1000.0), 2000.0)
    cluster.crash_at = None
    cluster.state = replace(cluster.state, name="renamed")
    next_manager(cluster)
    for left in switching.load(cluster.store)[0].values():
        assert switching.in_force(cluster.state, left)
        assert restore(cluster, left) == []
    assert cluster.snapshot() == before
    assert cluster.store.data == {}


def test_a_renamed_file_system_has_its_new_name_in_the_record() -> None:
    cluster = FakeCluster()
    fs = cluster.state
    switch = push(cluster, replace(fresh(cluster), metadata_pool=fs.metadata_pool), 1000.0)
    cluster.state = replace(fs, name="renamed")
    it = board(cluster)
    it.keep(replace(switch, fs="renamed"), it.turn(1))
    assert it.all() == list(switching.load(cluster.store)[0].values()) == [replace(switch, fs="renamed")]


@given(st.integers(0, 9))
def test_of_a_file_system_that_was_removed_the_record_goes_and_nothing_else_is_changed(events: int) -> None:
    cluster = FakeCluster()
    cluster.crash_at = events
    with suppress(Crash):
        push(cluster, push(cluster, fresh(cluster), 1000.0), 2000.0)
    cluster.crash_at = None
    cluster.state = replace(cluster.state, fscid=2)  # another one, of the same name
    before, done = cluster.snapshot(), len(cluster.events)
    next_manager(cluster)
    assert switching.load(cluster.store)[0] == {}
    assert (cluster.snapshot(), cluster.events[done:]) == (before, [])


class Overtaken(FakeCluster):
    """In the middle of the step that contains ``at``, something else happens once."""

    at = ""

    def event(self, text: str) -> None:
        """Something durable happens now."""
        if self.at and self.at in text:
            self.at = ""
            self.meanwhile()
        super().event(text)

    def meanwhile(self) -> None:
        """What happens."""


STEPS = ["put balance/1", "write ", "set balancer ", "set balance_automate "]


@given(st.sampled_from(STEPS), st.booleans())
def test_an_off_in_the_middle_of_an_on_waits_for_nothing_and_leaves_nothing_on(
    at: str, automate: bool
) -> None:
    cluster = Overtaken()
    cluster.state = replace(cluster.state, balance_automate=automate)
    before = cluster.snapshot()
    if automate and "automate" in at:
        return
    it = board(cluster)
    name, text = policy_object("lunule", HINTS, "return {}")
    switch = switching.intended(fresh(cluster), name, 2.0)

    def off() -> None:
        present, turn = it.interrupt(1)
        assert present is not None
        it.take_out(present, turn)
        assert it.get(1) is not None, "the step that is under way takes effect afterwards"

    cluster.at, cluster.meanwhile = at, off
    with pytest.raises(Busy):
        it.put_in_force(switch, text, it.turn(1))
    assert it.idle(1)
    for left in it.all():  # the loop's next tick
        assert left.state == TURNING_OFF
        it.take_out(left, it.turn(1))
    assert cluster.snapshot() == before
    assert cluster.store.data == {}


def test_an_on_that_made_up_its_mind_before_an_off_is_refused() -> None:
    cluster = FakeCluster()
    it = board(cluster)
    turn = it.turn(1)
    assert it.interrupt(1)[0] is None
    name, text = policy_object("lunule", HINTS, "return {}")
    with pytest.raises(Busy):
        it.put_in_force(switching.intended(fresh(cluster), name, 2.0), text, turn)
    assert (cluster.events, it.all()) == ([], [])


def test_the_loop_gives_way_to_a_command_that_tries_a_policy() -> None:
    cluster = FakeCluster()
    it = board(cluster)
    switch = push(cluster, fresh(cluster), 1000.0)
    it.begin()
    name, text = policy_object("lunule", HINTS, "return {}")
    with it.preparing(1) as turn:
        with pytest.raises(Busy):
            it.put_in_force(switching.intended(switch, name, 3.0), text, it.turn(1))
        it.put_in_force(switching.intended(switch, name, 4.0), text, turn)
    assert it.all()[0].pushed == 4.0
    it.put_in_force(switching.intended(it.all()[0], name, 5.0), text, it.turn(1))
    assert it.all()[0].pushed == 5.0


def test_an_on_that_fails_is_undone() -> None:
    cluster = Overtaken()
    before = cluster.snapshot()

    def full() -> None:
        raise CephError("the pool is full")

    cluster.at, cluster.meanwhile = "write ", full
    it = board(cluster)
    name, text = policy_object("lunule", HINTS, "return {}")
    with pytest.raises(CephError, match="full"):
        it.put_in_force(switching.intended(fresh(cluster), name, 2.0), text, it.turn(1))
    (left,) = it.all()
    it.undo(left)
    it.take_out(it.all()[0], it.turn(1))
    assert (cluster.snapshot(), cluster.store.data) == (before, {})


def test_settings_are_put_back_before_a_pool_that_takes_nothing_is_asked() -> None:
    cluster = Overtaken()
    switch = push(cluster, fresh(cluster), 1000.0)

    def full() -> None:
        raise CephError("the pool is full")

    cluster.at, cluster.meanwhile = "remove ", full
    it = board(cluster)
    (told,) = it.take_out(switch, it.turn(1))
    assert "will be removed: the pool is full" in told
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("", False)
    it.take_out(it.all()[0], it.turn(1))
    assert (cluster.objects, cluster.store.data) == ({}, {})


@pytest.mark.parametrize(
    ("pushed", "balancer", "automate", "over"),
    [
        (1.0, "mine.lua", False, False),  # what his own order is to replace
        (1.0, "mine.lua", True, True),  # or was, as it was on
        (1.0, "theirs.lua", False, True),
        (2.0, "mine.lua", False, True),
    ],
)
def test_what_is_gone_on_with_stops_where_an_operator_has_set_something_since(
    pushed: float, balancer: str, automate: bool, over: bool
) -> None:
    state = FakeCluster().state
    ours = replace(
        fresh(FakeCluster()),
        objects=("mds_partitioner.a", "mds_partitioner.b"),
        old_balancer="mine.lua",
        old_automate=automate,
        started=1.0,
        pushed=pushed,
    )
    assert switching.taken_over(replace(state, balancer=balancer), ours) is over
    assert not switching.taken_over(replace(state, balancer=ours.objects[0], balance_automate=True), ours)


def test_what_is_in_force_is_recorded_so_before_old_objects_go() -> None:
    cluster = Overtaken()
    switch = fresh(cluster)
    for capacity in (1000.0, 2000.0):
        switch = push(cluster, switch, capacity)

    def full() -> None:
        raise CephError("the pool is full")

    cluster.at, cluster.meanwhile = "remove ", full
    with pytest.raises(CephError, match="full"):
        push(cluster, switch, 3000.0)
    left = switching.load(cluster.store)[0][1]
    assert (left.state, len(left.objects)) == (ON, KEPT_OBJECTS + 1)
    push(cluster, left, 4000.0)
    assert len(cluster.objects) == KEPT_OBJECTS


def test_a_file_system_that_is_made_anew_while_a_policy_is_written_keeps_its_settings() -> None:
    cluster = Overtaken()

    def anew() -> None:
        cluster.state = replace(cluster.state, fscid=2)

    cluster.at, cluster.meanwhile = "write ", anew
    it = board(cluster)
    name, text = policy_object("lunule", HINTS, "return {}")
    with pytest.raises(Busy, match="removed or renamed"):
        it.put_in_force(switching.intended(fresh(cluster), name, 2.0), text, it.turn(1))
    assert (cluster.state.balancer, cluster.state.balance_automate) == ("", False)


def test_a_policy_that_is_just_about_to_be_turned_off_is_known() -> None:
    cluster = FakeCluster()
    switch = push(cluster, fresh(cluster), 1000.0)
    assert not switching.turning_off(cluster.store, cluster.state)
    host: Any = cluster
    switching.carry_out(host, switching.Save(replace(switch, state=TURNING_OFF)), "")
    assert switching.turning_off(cluster.store, cluster.state)
    assert switching.policy_in_force(cluster.store, cluster.state) is None


class Late(FakeCluster):
    """A mon that answers one command too late, and carries it out before the next one."""

    def __init__(self, unanswered: str) -> None:
        super().__init__()
        self.unanswered = unanswered
        self.options["mds_forward_all_requests_to_auth"] = ""
        self._pending: list[tuple[str, str]] = []

    def mon(self, prefix: str, **arguments: str) -> str:
        """Host.mon."""
        if prefix == "fs set":
            self.commit()
            if self._hangs(arguments["var"]):
                self._pending.append((arguments["var"], arguments["val"]))
                raise InDoubt("no answer within 20 s")
        return super().mon(prefix, **arguments)

    def set_mds_option(self, option: str, value: str) -> None:
        """Host.set_mds_option."""
        self.commit()
        if self._hangs(option):
            self._pending.append((option, value))
            raise InDoubt("no answer within 20 s")
        super().set_mds_option(option, value)

    def _hangs(self, what: str) -> bool:
        hangs, self.unanswered = what == self.unanswered, "" if what == self.unanswered else self.unanswered
        return hangs

    def mon_in_flight(self, **arguments: str) -> bool:
        """Host.mon_in_flight."""
        of_fs = arguments.get("prefix") == "fs set"
        return any((what not in self.options) is of_fs for what, _ in self._pending)

    def commit(self) -> None:
        """What was not answered is carried out."""
        for what, value in self._pending:
            if what in self.options:
                self.options[what] = value
            else:
                changed: Any = {what: value == "true" if what == "balance_automate" else value}
                self.state = replace(self.state, **changed)
        self._pending = []


@pytest.mark.parametrize(
    ("unanswered", "old"),
    [
        ("balancer", ""),
        ("balancer", "mine.lua"),
        ("balance_automate", ""),
        ("mds_forward_all_requests_to_auth", ""),
        ("mds_forward_all_requests_to_auth", "mine.lua"),
    ],
)
def test_what_the_mon_carries_out_late_is_put_back_all_the_same(unanswered: str, old: str) -> None:
    cluster = Late(unanswered)
    cluster.state = replace(cluster.state, balancer=old, balance_automate=bool(old))
    it, switch = board(cluster), switching.asking(fresh(cluster), True, "")
    name, text = policy_object("lunule", switch.hints, "return {}")
    intended = switching.intended(switch, name, 2.0)
    with pytest.raises(InDoubt):
        it.put_in_force(intended, text, it.turn(1))
    it.take_out(it.all()[0], it.turn(1))
    cluster.commit()
    assert (cluster.state.balancer, cluster.state.balance_automate) == (old, bool(old))
    assert cluster.options["mds_forward_all_requests_to_auth"] == ""
    assert cluster.store.data == {}


def test_what_was_answered_in_the_end_is_in_doubt_no_more() -> None:
    cluster = Late("balancer")
    it = board(cluster)
    name, text = policy_object("lunule", HINTS, "return {}")
    with pytest.raises(InDoubt):
        it.put_in_force(switching.intended(fresh(cluster), name, 1.0), text, it.turn(1))
    cluster.commit()
    cluster.state = replace(cluster.state, balancer="", balance_automate=True)  # by an operator
    theirs = cluster.state
    (told,) = it.take_out(it.all()[0], it.turn(1))
    assert "they were left" in told and cluster.state == theirs
