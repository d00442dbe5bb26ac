# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options as operators set them: the mon lets more pass than can be used."""

from __future__ import annotations

import logging
import threading
from dataclasses import fields, replace
from typing import Any

import pytest
from fake_cluster import SETTINGS
from scheduled import Cluster

from mds_partitioner.errors import BadOption
from mds_partitioner.module import ALL_OPTIONS
from mds_partitioner.monitor.options import Address, MonitorSettings
from mds_partitioner.options import LONGEST, MOST, Settings
from mds_partitioner.ranks import Ranks
from mds_partitioner.schedule.options import SchedulerSettings

NUMBERS = [f.name for f in fields(Settings) if isinstance(getattr(SETTINGS, f.name), float)]
WAITED_FOR = {"epoch", "engine_deadline", "scheduler_interval"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_finite_number_is_refused_by_its_name(name: str, value: float) -> None:
    (known,) = (option for option in ALL_OPTIONS if option["name"] == name)
    with pytest.raises(BadOption) as caught:
        replace(SETTINGS, **{name: value}).checked()
    allowed = f"from {known['min']:g} to {known['max']:g}"
    assert f"the option {name} is {value}: give a number {allowed} (" in str(caught.value)
    assert f"'ceph config set mgr mgr/mds_partitioner/{name} NUMBER'" in str(caught.value)
    assert SETTINGS.checked() is SETTINGS


class Forced:
    """A module of whose options some were set with --force."""

    log = logging.getLogger("test")

    def __init__(self, *names: str) -> None:
        self.names, self.value = names, "x"

    def get_module_option(self, name: str) -> Any:
        """MgrModule.get_module_option."""
        if name in self.names:
            raise ValueError(f"could not convert string to float: '{self.value}'")
        return 7

    get_localized_module_option = get_module_option


DEFAULTS = {option["name"]: option["default"] for option in ALL_OPTIONS}


def test_what_ceph_cannot_read_counts_as_not_set() -> None:
    """It was set with --force: commands, a stop among them, are heard all the same."""
    module: Any = Forced("epoch", "scheduler_moves", "server_port", "top_subvolumes")
    settings, ours = Settings.read(module), SchedulerSettings.read(module)
    assert (settings.epoch, settings.max_moves) == (DEFAULTS["epoch"], 7)
    assert (ours.scheduler_moves, ours.scheduler_pins) == (DEFAULTS["scheduler_moves"], 7)
    assert Address.read(module) == Address("7", DEFAULTS["server_port"])
    assert MonitorSettings.read(module) == MonitorSettings(DEFAULTS["top_subvolumes"], 7)


def test_times_are_whole_seconds_though_ceph_gives_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = Forced()
    monkeypatch.setattr(module, "get_module_option", lambda name: 600.0)
    assert str(Settings.read(module).analyze_duration) == "600"
    assert str(Settings.read(module).rank_capacity) == "600.0"


def test_what_ceph_cannot_read_is_logged_once_until_it_is_another(caplog: pytest.LogCaptureFixture) -> None:
    forced = Forced("epoch")
    module: Any = forced
    for forced.value in ("a", "a", "b", "b"):
        Settings.read(module)
    forced.names = ()
    Settings.read(module)
    forced.names = ("epoch",)
    Settings.read(module)
    assert [record.getMessage()[-3:] for record in caplog.records] == ["'a'", "'b'", "'b'"]


def test_the_engine_is_not_asked_about_it() -> None:
    host: Any = (cluster := Cluster())
    asked: list[str] = []
    settings = replace(SETTINGS, smoothness=float("nan"))
    ranks = Ranks(host, lambda name, _: asked.append(name) or {}, lambda: settings, logging.getLogger("test"))
    with pytest.raises(BadOption, match="smoothness is nan"):
        ranks.judge(cluster.state, 0.0)
    assert asked == []


def test_what_a_thread_waits_for_is_no_longer_than_it_can() -> None:
    longest = {option["name"]: option.get("max") for option in ALL_OPTIONS if option["name"] in WAITED_FOR}
    assert longest.keys() == WAITED_FOR
    assert all(most is not None and most <= threading.TIMEOUT_MAX for most in longest.values())


def test_the_mon_refuses_what_no_number_may_be() -> None:
    """It looks at a least value only where there is a most, too."""
    numbers = [option for option in ALL_OPTIONS if option["type"] in MOST]
    bounded = [o for o in numbers if o.get("min") is not None and o.get("max") is not None]
    assert [option["name"] for option in numbers if option not in bounded] == []
    assert all(option["min"] <= option["default"] <= option["max"] for option in bounded)


def test_the_mon_takes_no_longer_analysis_than_can_be_started() -> None:
    assert next(o for o in ALL_OPTIONS if o["name"] == "analyze_duration").get("max") == LONGEST == 604_800
