# SPDX-License-Identifier: LGPL-2.1-or-later
"""An option of the cluster that several users want: whoever is last puts back what was there."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_switch import fresh, next_manager, push, restore
from world import Crash, Manager, World, plan

from mds_partitioner.act import switch as switching
from mds_partitioner.act.run import DONE, ROLLED_BACK, ROLLING_BACK, RUNNING
from mds_partitioner.act.shared import SharedOption, forget
from mds_partitioner.act.switch import SET, asking
from mds_partitioner.plan.circumstances import TO_AUTH

USERS = ("plan/a", "scheduler/1", "balance/2")


def option(world: World, user: str) -> SharedOption:
    return SharedOption(world, TO_AUTH, user, "true")  # type: ignore[arg-type]


@given(st.sampled_from(["", "false"]), st.permutations(USERS), st.permutations(USERS))
def test_whoever_is_last_puts_back_what_was_there(old: str, come: list[str], go: list[str]) -> None:
    world = World()
    world.options[TO_AUTH] = old
    seen = []
    for user in come:
        seen.append(option(world, user).read())
        option(world, user).write("true")
    for user in go:
        assert (world.options[TO_AUTH], option(world, user).read()) == ("true", "true")
        option(world, user).write(old)
        assert option(world, user).read() == old, "for who has let go it is as before"
    assert (seen, world.options[TO_AUTH], world.store.data) == ([old] * 3, old, {})


@given(st.lists(st.tuples(st.sampled_from(USERS), st.integers(0, 3)), max_size=12), st.data())
def test_a_manager_that_dies_at_any_moment_leaves_what_the_next_one_can_finish(
    turns: list[tuple[str, int]], data: st.DataObject
) -> None:
    """A user that began goes on until it has what it wanted, as its own journal says; then all let go."""
    world = World()
    wants: set[str] = set()
    for user, lives in [*turns, *((user, 9) for user in sorted({u for u, _ in turns}))]:
        wants ^= {user}
        if lives == 9:
            wants.discard(user)
        value = "true" if user in wants else ""
        world.crash_at = len(world.events) + lives
        with suppress(Crash):
            option(world, user).write(value)
        world.crash_at = None
        while option(world, user).read() != value:
            option(world, user).write(value)
        if user not in wants:
            option(world, user).let_go()
        assert world.mds_option(TO_AUTH) == ("true" if wants else "")
    assert world.store.data == {}


def test_what_an_operator_had_set_before_is_no_users() -> None:
    world = World()
    world.options[TO_AUTH] = "true"
    assert option(world, "").read() == "true", "there is nothing to do, and nothing to put back"


def test_what_an_operator_sets_in_between_comes_back_whoever_is_last() -> None:
    world = World()
    option(world, "plan/a").write("true")
    world.options[TO_AUTH] = "false"
    option(world, "plan/b").write("true")
    option(world, "plan/b").write("false")
    assert world.options[TO_AUTH] == "true", "the first wants it still"
    option(world, "plan/a").write("")
    assert (world.options[TO_AUTH], world.store.data) == ("false", {})


def test_who_comes_while_another_one_goes_has_what_it_wants() -> None:
    world = World()
    first, second = option(world, "plan/a"), option(world, "plan/b")
    first.write("true")
    put_back = world.set_mds_option

    def meanwhile(name: str, value: str) -> None:
        world.set_mds_option = put_back  # type: ignore[method-assign]
        second.write("true")
        put_back(name, value)

    world.set_mds_option = meanwhile  # type: ignore[method-assign]
    first.write("")
    assert world.options[TO_AUTH] == "true"
    second.write("")
    assert (world.options[TO_AUTH], world.store.data) == ("", {})


def test_a_plan_that_nobody_can_read_any_more_holds_nothing() -> None:
    world = World()
    option(world, "plan/a").write("true")
    option(world, "plan/b").write("true")
    forget(world.store, "plan/a")  # type: ignore[arg-type]
    option(world, "plan/b").write("")
    assert (world.options[TO_AUTH], world.store.data) == ("", {})


@pytest.mark.parametrize("policy_first", [True, False])
def test_a_plan_and_a_policy_share_it(policy_first: bool) -> None:
    world = World()
    manager = Manager(world)
    run = manager.journal.create(plan(world, {}, option=TO_AUTH), [])
    manager.journal.head(run, state=RUNNING)
    switch = push(world, asking(fresh(world), True, option(world, "").read()), 1000.0)
    while run.head.state != DONE:
        manager.tick(run)
    assert (switch.to_auth, world.options[TO_AUTH]) == (SET, "true")

    def roll_back() -> None:
        manager.journal.head(run, state=ROLLING_BACK)
        while run.head.state != ROLLED_BACK:
            manager.tick(run)

    ends = [lambda: restore(world, switch), roll_back]
    first, last = ends if policy_first else reversed(ends)
    first()
    assert world.options[TO_AUTH] == "true"
    last()
    assert world.options[TO_AUTH] == ""
    assert not world.store.items("option/")


@given(st.integers(0, 12))
def test_a_policy_that_dies_with_its_manager_at_any_moment_gives_it_back(events: int) -> None:
    world = World()
    before = world.snapshot()
    switch = asking(fresh(world), True, "")
    world.crash_at = events
    with suppress(Crash):
        switch = push(world, push(world, switch, 1000.0), 2000.0)
        restore(world, switch)
    world.crash_at = None
    next_manager(world)
    for left in switching.load(world.store)[0].values():
        assert world.options[TO_AUTH] == "true"
        restore(world, left)
    assert (world.snapshot(), world.store.data) == (before, {})


def test_what_is_pushed_again_does_not_set_it_again_and_what_is_not_asked_for_goes_back() -> None:
    world = World()
    switch = push(world, asking(fresh(world), True, ""), 1000.0)
    world.options[TO_AUTH] = "false"
    switch = push(world, switch, 2000.0)
    assert switch.to_auth == SET
    assert world.options[TO_AUTH] == "false", "an operator has set it since"
    (told,) = restore(world, switch)
    assert "is 'false', as an operator set it since" in told
    world.options[TO_AUTH] = ""
    switch = push(world, asking(fresh(world), True, ""), 1000.0)
    assert world.options[TO_AUTH] == "true"
    assert push(world, asking(switch, False, ""), 1000.0).to_auth == switching.LEFT
    assert (world.options[TO_AUTH], world.store.items("option/")) == ("", {})


def test_of_a_file_system_that_was_removed_it_goes_back() -> None:
    world = World()
    switch = push(world, asking(fresh(world), True, ""), 1000.0)
    world.state = replace(world.state, fscid=2)
    restore(world, switch)
    assert (world.options[TO_AUTH], world.store.data) == ("", {})
