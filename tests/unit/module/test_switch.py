# SPDX-License-Identifier: LGPL-2.1-or-later
"""A policy on and off: journaled first, finished by the next manager, undone to the last setting."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import Crash, World

from mds_partitioner.act import switch as switching
from mds_partitioner.act.switch import KEPT_OBJECTS, ON, TURNING_OFF, TURNING_ON, Switch
from mds_partitioner.act.switchboard import Switchboard
from mds_partitioner.errors import Busy, CephError
from mds_partitioner.plan.hints import Growth, Hints, policy_object

HINTS = Hints(1000.0, 0.2, 0.075, 0.01, mask=(0, 1), resting=(1,), growth={1: Growth(10.0, 5.0)}, expires=9)


def fresh(world: World) -> Switch:
    state = world.state
    return Switch("cephfs", 1, TURNING_ON, "lunule", "", state.balancer, state.balance_automate, 1.0, HINTS)


def board(world: World) -> Switchboard:
    """A manager's, which has read the journal."""
    it = Switchboard(world)  # type: ignore[arg-type]
    it.begin()
    return it


def push(world: World, switch: Switch, capacity: float) -> Switch:
    hints = replace(switch.hints, capacity=capacity)
    name, text = policy_object("lunule", hints, "return {}")
    it = board(world)
    it.put_in_force(switching.intended(replace(switch, hints=hints), name, 2.0), text, it.turn(1))
    found = it.get(1)
    assert found is not None
    return found


def restore(world: World, switch: Switch) -> list[str]:
    it = board(world)
    return it.take_out(switch, it.turn(1))


def next_manager(world: World) -> None:
    """What a new manager does with what the last one left: finish it, undo it, or end it."""
    for switch in switching.load(world.store)[0].values():
        if world.fs_by_id(switch.fscid) is None:
            board(world).forget(switch.fscid)
        elif switch.state == TURNING_OFF:
            restore(world, switch)
        elif switch.state == TURNING_ON:
            _, text = policy_object("lunule", switch.hints, "return {}")
            it = board(world)
            it.put_in_force(switch, text, it.turn(1))


def test_the_journal_knows_the_old_balancer_before_anything_changes() -> None:
    world = World()
    push(world, fresh(world), 1000.0)
    assert world.events[0] == "put balance/1"
    assert [e.split()[0] for e in world.events] == ["put", "write", "set", "set", "put"]
    assert world.state.balancer.startswith("mds_partitioner.lunule.")


def test_what_was_written_is_read_again() -> None:
    world = World()
    switch = push(world, fresh(world), 1000.0)
    assert switching.load(world.store)[0] == {1: switch}


@pytest.mark.parametrize("broken", ['{"fs": 1}', "{", "[]", "null", '{"hints": {"growth": 1}}'])
def test_a_broken_record_is_named_and_the_others_are_read(broken: str) -> None:
    world = World()
    switch = push(world, fresh(world), 1000.0)
    world.store.data["balance/2"] = world.store.data["balance/x"] = broken
    found, unreadable = switching.load(world.store)
    assert (found, set(unreadable)) == ({1: switch}, {"balance/2", "balance/x"})


def test_only_the_newest_objects_stay() -> None:
    world = World()
    switch = fresh(world)
    for capacity in (1000.0, 2000.0, 3000.0, 4000.0):
        switch = push(world, switch, capacity)
    assert len(world.objects) == KEPT_OBJECTS
    assert world.state.balancer == switch.object == list(world.objects)[-1]


@given(st.booleans(), st.sampled_from(["", "mine.lua"]))
def test_off_restores_what_was_there(automate: bool, balancer: str) -> None:
    world = World()
    world.state = replace(world.state, balance_automate=automate, balancer=balancer)
    before = world.snapshot()
    assert restore(world, push(world, push(world, fresh(world), 1000.0), 2000.0)) == []
    assert world.snapshot() == before
    assert world.store.data == {}


@given(st.integers(0, 8), st.booleans(), st.sampled_from(["", "mine.lua"]))
def test_a_manager_that_dies_anywhere_leaves_what_the_next_one_can_finish(
    events: int, automate: bool, balancer: str
) -> None:
    world = World()
    world.state = replace(world.state, balance_automate=automate, balancer=balancer)
    before = world.snapshot()
    world.crash_at = events
    switch = fresh(world)
    try:
        switch = push(world, push(world, switch, 1000.0), 2000.0)
    except Crash:
        next_manager(world)
    world.crash_at = None
    found, _ = switching.load(world.store)
    if found:
        assert found[1].state == ON
        assert switching.in_force(world.state, found[1])
        restore(world, found[1])
    assert world.snapshot() == before


@given(st.integers(0, 5), st.booleans(), st.sampled_from(["", "mine.lua"]))
def test_a_manager_that_dies_while_turning_off_leaves_nothing_on(
    events: int, automate: bool, balancer: str
) -> None:
    world = World()
    world.state = replace(world.state, balance_automate=automate, balancer=balancer)
    before = world.snapshot()
    switch = push(world, fresh(world), 1000.0)
    world.crash_at = len(world.events) + events
    try:
        restore(world, switch)
        world.crash_at = None
    except Crash:
        next_manager(world)
        for left in switching.load(world.store)[0].values():
            restore(world, left)
    assert world.snapshot() == before


def test_what_an_operator_set_meanwhile_stays_and_is_told() -> None:
    world = World()
    switch = push(world, fresh(world), 1000.0)
    world.state = replace(world.state, balancer="mine.lua")
    kept = restore(world, switch)
    assert "mine.lua" in kept[0]
    assert (world.state.balancer, world.objects) == ("mine.lua", {})


def test_an_operator_who_restored_the_old_balancer_himself_is_told_nothing() -> None:
    world = World()
    switch = push(world, fresh(world), 1000.0)
    world.state = replace(world.state, balancer="", balance_automate=False)
    assert restore(world, switch) == []


@given(st.integers(0, 9), st.booleans(), st.sampled_from(["", "mine.lua"]))
def test_a_file_system_that_is_renamed_at_any_moment_is_switched_back_under_its_new_name(
    events: int, automate: bool, balancer: str
) -> None:
    world = World()
    world.state = replace(world.state, balance_automate=automate, balancer=balancer)
    before = world.snapshot()
    world.crash_at = events
    switch = fresh(world)
    with suppress(Crash):
        push(world, push(world, switch, 1000.0), 2000.0)
    world.crash_at = None
    world.state = replace(world.state, name="renamed")
    next_manager(world)
    for left in switching.load(world.store)[0].values():
        assert switching.in_force(world.state, left)
        assert restore(world, left) == []
    assert world.snapshot() == before
    assert world.store.data == {}


def test_a_renamed_file_system_has_its_new_name_in_the_record() -> None:
    world = World()
    switch = push(world, fresh(world), 1000.0)
    world.state = replace(world.state, name="renamed")
    it = board(world)
    it.rename(switch, "renamed", it.turn(1))
    assert it.all() == list(switching.load(world.store)[0].values()) == [replace(switch, fs="renamed")]


@given(st.integers(0, 9))
def test_of_a_file_system_that_was_removed_the_record_goes_and_nothing_else_is_changed(events: int) -> None:
    world = World()
    world.crash_at = events
    with suppress(Crash):
        push(world, push(world, fresh(world), 1000.0), 2000.0)
    world.crash_at = None
    world.state = replace(world.state, fscid=2)  # another one, of the same name
    before, done = world.snapshot(), len(world.events)
    next_manager(world)
    assert switching.load(world.store)[0] == {}
    assert (world.snapshot(), world.events[done:]) == (before, [])


class Overtaken(World):
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
    world = Overtaken()
    world.state = replace(world.state, balance_automate=automate)
    before = world.snapshot()
    if automate and "automate" in at:
        return
    it = board(world)
    name, text = policy_object("lunule", HINTS, "return {}")
    switch = switching.intended(fresh(world), name, 2.0)

    def off() -> None:
        present, turn = it.interrupt(1)
        assert present is not None
        it.take_out(present, turn)
        assert it.get(1) is not None, "the step that is under way takes effect afterwards"

    world.at, world.meanwhile = at, off  # type: ignore[method-assign]
    with pytest.raises(Busy):
        it.put_in_force(switch, text, it.turn(1))
    assert it.idle(1)
    for left in it.all():  # the loop's next tick
        assert left.state == TURNING_OFF
        it.take_out(left, it.turn(1))
    assert world.snapshot() == before
    assert world.store.data == {}


def test_an_on_that_made_up_its_mind_before_an_off_is_refused() -> None:
    world = World()
    it = board(world)
    turn = it.turn(1)
    assert it.interrupt(1)[0] is None
    name, text = policy_object("lunule", HINTS, "return {}")
    with pytest.raises(Busy):
        it.put_in_force(switching.intended(fresh(world), name, 2.0), text, turn)
    assert (world.events, it.all()) == ([], [])


def test_the_loop_gives_way_to_a_command_that_tries_a_policy() -> None:
    world = World()
    it = board(world)
    switch = push(world, fresh(world), 1000.0)
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
    world = Overtaken()
    before = world.snapshot()

    def full() -> None:
        raise CephError("the pool is full")

    world.at, world.meanwhile = "write ", full  # type: ignore[method-assign]
    it = board(world)
    name, text = policy_object("lunule", HINTS, "return {}")
    with pytest.raises(CephError, match="full"):
        it.put_in_force(switching.intended(fresh(world), name, 2.0), text, it.turn(1))
    (left,) = it.all()
    it.undo(left)
    it.take_out(it.all()[0], it.turn(1))
    assert (world.snapshot(), world.store.data) == (before, {})


def test_settings_are_put_back_before_a_pool_that_takes_nothing_is_asked() -> None:
    world = Overtaken()
    switch = push(world, fresh(world), 1000.0)

    def full() -> None:
        raise CephError("the pool is full")

    world.at, world.meanwhile = "remove ", full  # type: ignore[method-assign]
    it = board(world)
    (told,) = it.take_out(switch, it.turn(1))
    assert "will be removed: the pool is full" in told
    assert (world.state.balancer, world.state.balance_automate) == ("", False)
    it.take_out(it.all()[0], it.turn(1))
    assert (world.objects, world.store.data) == ({}, {})
