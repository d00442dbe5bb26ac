# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scenario that cannot be is refused with the value and what is allowed."""

from dataclasses import replace

import pytest

from sim.errors import SimError
from sim.scenario import Failure, find, instead, parse

GOOD = """
about = "x"
policy = "lunule"
fails_with = "nothing"
seconds = 10
[ranks]
count = 2
[[subvolumes]]
name = "vol"
count = 4
[[clients]]
name = "all"
on = [0, 4]
[must]
"""


def test_a_good_one_is_read_with_its_defaults() -> None:
    scenario = parse(GOOD, "good")
    assert scenario.fails_with == ("nothing",)
    assert (scenario.name, scenario.seeds, scenario.ranks.capacity) == ("good", (1, 2, 3), 1100.0)
    assert scenario.settings.imbalance_threshold == 0.075


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seconds = 10", "seconds = -1", r"seconds is -1: .*greater than 0"),
        ("seconds = 10", "secs = 10", r"secs is 10: Unexpected keyword"),
        ('policy = "lunule"', 'policy = "lunlue"', r"'lunlue' is no policy; allowed: nothing, builtin"),
        ("count = 2", "count = 0", r"ranks.count is 0: .*greater than or equal to 1"),
        ("count = 2", "count = 2\ncapacity = [1.0]", r"ranks.capacity has 1 values; allowed: 2"),
        ("count = 2", "count = 2\nmask = [2]", r"ranks.mask is 2; allowed: 0 to 1"),
        ("on = [0, 4]", "on = [0, 5]", r"clients 'all': on is \[0, 5\]; allowed: .* 0 to 4"),
        ("on = [0, 4]", 'on = [0, 4]\nuses = "zif"', r"clients.0.uses is 'zif': .*'uniform', 'zipf'"),
        ("count = 4", "count = 4\nrank = 2", r"subvolumes 'vol': rank is 2; allowed: 0 to 1"),
        ("[must]", "[must]\ncosts = 1", r"must.costs is 1: Unexpected keyword"),
        ("[must]", "[must]\n[options]\nmin_gian = 1", r"options: 'min_gian' is none of the module's"),
        ("[must]", "[must]\n[physics]\ntock = 1", r"physics.tock is 1: Unexpected keyword"),
        (
            "[must]",
            '[must]\n[[events]]\nat = 1\nrank = 5\nwhat = "dies"',
            r"event at 1 s: rank is 5; allowed: 0 to 1",
        ),
        (
            "[must]",
            '[must]\n[known_failure]\nkinds = ["safety"]\nwhy = "x"',
            r"known_failure.kinds.0 is 'safety': .*'balance', 'steady', 'cost' or 'throughput'",
        ),
        (
            "[must]",
            '[must]\n[known_failure]\nkinds = []\nwhy = "x"',
            r"known_failure.kinds is \[\]: .*at least 1",
        ),
        ("about", "about = = 1\nabout", r"scenario 'bad' is not TOML"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(old: str, new: str, told: str) -> None:
    assert old in GOOD
    with pytest.raises(SimError, match=told):
        parse(GOOD.replace(old, new, 1), "bad")


def test_another_policy_is_judged_as_it_is_and_one_that_must_fail_is_not() -> None:
    slow = Failure(("throughput",), "it is slow")
    scenario = replace(parse(GOOD, "good"), known_failure=slow, elsewhere={"plan": slow})
    assert instead(scenario, "scheduler") == replace(scenario, policy="scheduler", known_failure=None)
    assert instead(scenario, "plan").known_failure == slow
    assert instead(scenario, "lunule") == scenario
    with pytest.raises(SimError, match="'nothing' is a policy that must fail"):
        instead(scenario, "nothing")
    with pytest.raises(SimError, match="'magic' is no policy; allowed: nothing"):
        instead(scenario, "magic")


def test_an_unknown_scenario_is_named_with_those_there_are() -> None:
    with pytest.raises(SimError, match=r"there is no scenario 'nosuch'; there are: .*one-hot-rank"):
        find(["nosuch"])


def test_all_that_ship_can_be_read_and_say_what_they_are_about() -> None:
    found = find([])
    assert len({scenario.name for scenario in found}) == len(found) >= 40
    assert all(scenario.about.endswith(".") for scenario in found)
    assert all(scenario.policy not in scenario.fails_with for scenario in found)
