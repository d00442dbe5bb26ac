# SPDX-License-Identifier: LGPL-2.1-or-later
"""A policy on and off: journaled first, finished by the next manager, undone to the last setting."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import Crash, World

from mds_partitioner.act import switch as switching
from mds_partitioner.act.switch import KEPT_OBJECTS, ON, TURNING_OFF, TURNING_ON, Switch
from mds_partitioner.errors import JournalError
from mds_partitioner.plan.hints import Growth, Hints, policy_object

HINTS = Hints(1000.0, 0.2, 0.075, 0.01, mask=(0, 1), resting=(1,), growth={1: Growth(10.0, 5.0)}, expires=9)


def fresh(world: World) -> Switch:
    state = world.state
    return Switch("cephfs", 1, TURNING_ON, "lunule", "", state.balancer, state.balance_automate, 1.0, HINTS)


def push(world: World, switch: Switch, capacity: float) -> Switch:
    hints = replace(switch.hints, capacity=capacity)
    name, text = policy_object("lunule", hints, "return {}")
    intended = switching.intend(world.store, replace(switch, hints=hints), name, 2.0)
    return switching.put_in_force(world, world.store, intended, text)  # type: ignore[arg-type]


def restore(world: World, switch: Switch) -> list[str]:
    return switching.restore(world, world.store, switch)  # type: ignore[arg-type]


def next_manager(world: World) -> None:
    """What a new manager does with what the last one left: finish it, or undo it."""
    for switch in switching.load(world.store).values():
        if switch.state == TURNING_OFF:
            restore(world, switch)
        elif switch.state == TURNING_ON:
            _, text = policy_object("lunule", switch.hints, "return {}")
            switching.put_in_force(world, world.store, switch, text)  # type: ignore[arg-type]


def test_the_journal_knows_the_old_balancer_before_anything_changes() -> None:
    world = World()
    push(world, fresh(world), 1000.0)
    assert world.events[0] == "put balance/1"
    assert [e.split()[0] for e in world.events] == ["put", "write", "set", "set", "put"]
    assert world.state.balancer.startswith("mds_partitioner.lunule.")


def test_what_was_written_is_read_again() -> None:
    world = World()
    switch = push(world, fresh(world), 1000.0)
    assert switching.load(world.store) == {1: switch}


def test_a_broken_record_is_an_error_that_names_it() -> None:
    world = World()
    world.store.data["balance/1"] = '{"fs": 1}'
    with pytest.raises(JournalError, match="balance/1"):
        switching.load(world.store)


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
    found = switching.load(world.store)
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
        for left in switching.load(world.store).values():
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
