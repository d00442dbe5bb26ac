# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bringing subtrees home, and balancers that pin, on a cluster that is a table."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from experiments.common.balancers import subtrees
from experiments.common.balancers.balancers import BALANCERS
from experiments.common.balancers.setting import Setting
from experiments.common.balancers.subtrees import DISTRIBUTED, PIN, Pin, bring_home, settled
from lab.errors import LabError


class FakeLab:
    """Obeys a pin at the second look; a pinned directory that is stuck stays where it is."""

    def __init__(self, away: dict[str, int], stuck: bool = False) -> None:
        self.where = {"/": 0, **away}
        self.calls: list[tuple[str, Any]] = []
        self.stuck = stuck
        self.settings: list[dict[str, str]] = []
        self._orders: list[list[str]] = []

    @property
    def monitor(self) -> "FakeLab":
        return self

    def command(self, prefix: str, **arguments: str) -> None:
        self.settings.append({"prefix": prefix, **arguments})

    def exec(self, argv: list[str], *, stdin: str | None, timeout: float) -> Any:
        program = argv[argv.index("-m") + 1].rpartition(".")[2]
        answer = ""
        if program == "sampler":
            answer = json.dumps({"subtrees": self.where})
            self._obey()
        else:
            assert stdin is not None
            self.calls.append((program, json.loads(stdin)))
            if program == "xattrs":
                taken_away = {PIN: "-1", DISTRIBUTED: "0"}
                self._orders += [order for order in json.loads(stdin) if order[2] != taken_away[order[1]]]
                self._home = any(order == ["/volumes", PIN, "0"] for order in json.loads(stdin))
                if self._home and not self.stuck:
                    self.where = dict.fromkeys(self.where, 0)
        return type("Done", (), {"stdout": answer})

    def _obey(self) -> None:
        for path, name, value in self._orders if not self.stuck else ():
            self.where = self.where | {path: int(value) if name == PIN else 1}
        self._orders = []


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each look at the clock is a second later, and nobody sleeps."""
    ticks = itertools.count()
    monkeypatch.setattr(subtrees.time, "monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr(subtrees.time, "sleep", lambda _: None)
    yield


def test_all_comes_home_whole_and_no_pin_is_left() -> None:
    lab: Any = FakeLab({"/volumes/a": 2, "/volumes/b#0*": 1, "/volumes/b#1*": 0})
    bring_home(lab, "/volumes", [Pin("/volumes/a", PIN, "2"), Pin("/volumes", DISTRIBUTED, "1")])
    assert lab.calls == [
        ("xattrs", [["/volumes/a", PIN, "-1"], ["/volumes", DISTRIBUTED, "0"]]),
        ("xattrs", [["/volumes", PIN, "0"]]),
        ("xattrs", [["/volumes", PIN, "-1"]]),
        ("merge_fragments", ["/volumes/b"]),
    ]


def test_what_does_not_come_home_is_told_and_the_pin_is_taken_away() -> None:
    lab: Any = FakeLab({"/volumes/a": 2}, stuck=True)
    with pytest.raises(LabError, match="not within 120 s: 1 subtrees come back"):
        bring_home(lab, "/volumes", [])
    assert lab.calls[-1] == ("xattrs", [["/volumes", PIN, "-1"]])


def test_settled_is_when_nothing_moved_for_two_ticks() -> None:
    lab: Any = FakeLab({})
    subtrees.put(lab, [Pin("/volumes/a", PIN, "3")])
    assert settled(lab) == {"/": 0, "/volumes/a": 3}


DEMAND = {"/volumes/g/a/x": 2.0, "/volumes/g/a/y": 1.0, "/volumes/g/b": 3.0}


def test_the_oracle_pins_and_makes_sure() -> None:
    lab: Any = FakeLab({})
    pins = BALANCERS["oracle"].switch_on(Setting(lab, 2, 100.0, DEMAND))
    assert {pin.path: pin.value for pin in pins} == {
        "/volumes/g": "1",
        "/volumes/g/a": "0",
        "/volumes/g/b": "1",
    }
    assert [setting["name"] for setting in lab.settings] == ["mds_forward_all_requests_to_auth"]
    stuck: Any = FakeLab({}, stuck=True)
    with pytest.raises(LabError, match="did nothing"):
        BALANCERS["oracle"].switch_on(Setting(stuck, 2, 100.0, DEMAND))


def test_directory_hashing_is_asked_of_all_that_have_directories() -> None:
    lab: Any = FakeLab({})
    pins = BALANCERS["dir-hash"].switch_on(Setting(lab, 2, 100.0, DEMAND))
    assert [(pin.path, pin.name, pin.value) for pin in pins] == [
        ("/volumes/g", DISTRIBUTED, "1"),
        ("/volumes/g/a", DISTRIBUTED, "1"),
    ]
