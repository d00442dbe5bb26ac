# SPDX-License-Identifier: LGPL-2.1-or-later
"""What experiments.saturation makes of the epochs it has seen."""

import argparse
import json
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from experiments.saturation import __main__ as saturation
from experiments.saturation.__main__ import (
    CLIENTS,
    CONTROL_CLIENTS,
    Setting,
    half,
    judged,
    most,
    recognised,
    rows,
    settings,
    text,
)
from lab.errors import LabError


def epoch(rate: float, inside: float) -> dict[str, Any]:
    """Rank 0 serves so many req/s with so many inside; the others nothing."""
    ranks = [{"rank": 0, "requests": rate, "quickest": inside / rate, "fetches": 0.0}]
    ranks += [{"rank": r, "requests": 0.0, "quickest": 0.0, "fetches": 0.0} for r in (1, 2, 3)]
    return {"ranks": ranks, "saturated": [0], "capacity": {"value": 400.0, "source": "learned"}}


FULL = [epoch(rate, 50.0) for rate in (300.0, 340.0, 360.0, 330.0)]
LIGHT = [epoch(150.0, inside) for inside in (0.2, 4.0, 0.3, 0.9, 0.2, 0.1)]


def cell(setting: Setting, epochs: list[dict[str, Any]]) -> dict[str, Any]:
    return judged({"setting": asdict(setting), "epochs": epochs, "op/s": 250.0})


def test_a_full_rank_is_recognised_at_the_second_epoch_and_a_hiccup_is_not() -> None:
    assert recognised(FULL) == 2
    assert recognised(LIGHT) is None
    assert recognised(FULL[:1]) is None


def test_the_most_is_of_ten_seconds() -> None:
    assert most(FULL) == 350.0
    assert most(FULL[:1]) == 0.0


@pytest.mark.parametrize("clients", CLIENTS)
def test_a_load_has_as_many_synchronous_clients_as_it_says(clients: int) -> None:
    load = Setting(10, 1, clients).load("/a")
    assert sum(client.workers for client in load.clients) == clients
    assert len({client.first_dir for client in load.clients}) == len(load.clients) <= 16


def test_the_control_asks_for_half_of_the_capacity_that_was_found() -> None:
    cells = [cell(Setting(10, 1, count), FULL) for count in CLIENTS]
    other = cell(Setting(20, 1, 8), [epoch(9000.0, 50.0)] * 3)
    control = half(Setting(10, 1, CONTROL_CLIENTS, 1.0), [*cells, other])
    assert control.rate == pytest.approx(cells[0]["capacity"] / 332.5 * 250.0 / 2)
    load = control.load("/a")
    assert sum(client.rate or 0.0 for client in load.clients) == pytest.approx(control.rate)


def test_every_setting_is_played_once_and_the_page_counts_them() -> None:
    wanted = settings("tentacle", (10, 20), 2)
    assert len({setting.key for setting in wanted}) == len(wanted) == 2 * 2 * (len(CLIENTS) + 1)
    cells = [cell(setting, LIGHT if setting.rate else FULL) for setting in wanted]
    result = {"command": "x", "date": "today", "ceph": "tentacle", "cells": cells}
    assert [row["part"] for row in rows(result) if not row["control"]] == pytest.approx(
        [rows(result)[0]["capacity"] / 350.0] * 24
    )
    page = text(result)
    assert "full within 3 epochs of 5 s: 24 of 24" in page
    assert "never called full: 4 of 4" in page


def arguments(out: Path, **more: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"release": "tentacle", "quotas": (10,), "runs": 1, "out": out, **more})


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Setting]:
    """What was played, in order; each is full."""
    done: list[Setting] = []

    def play(lab: Any, path: str, setting: Setting, epochs: int) -> dict[str, Any]:
        done.append(setting)
        return {"setting": asdict(setting), "epochs": FULL, "op/s": 250.0}

    class Lab:
        up = staticmethod(lambda **_: nullcontext(Lab()))
        make_subvolumes = staticmethod(lambda names: {"a": "/a"})
        prepare = staticmethod(lambda load: None)

    monkeypatch.setattr(saturation, "Lab", Lab)
    monkeypatch.setattr(saturation.module, "enable", lambda *_: None)
    monkeypatch.setattr(saturation, "play", play)
    return done


def test_a_result_that_has_all_is_left_as_it_is(tmp_path: Path, played: list[Setting]) -> None:
    out = tmp_path / "saturation.json"
    saturation.measure(arguments(out), ["--first"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(played) == len(CLIENTS) + 1 and len(before) == 2
    saturation.measure(arguments(out), ["--second"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    committed = Path("docs/results/saturation.json").read_text()
    out.write_text(committed)
    saturation.measure(arguments(out, quotas=(10, 15, 20), runs=3), ["--third"])
    assert out.read_text() == committed and len(played) == len(CLIENTS) + 1


def test_every_cell_tells_its_release_and_when_it_was_played(tmp_path: Path, played: list[Setting]) -> None:
    out = tmp_path / "saturation.json"
    saturation.measure(arguments(out), ["--first"])
    saturation.measure(arguments(out, release="reef"), ["--second"])
    assert [setting.release for setting in played] == ["tentacle"] * 7 + ["reef"] * 7
    cells = json.loads(out.read_text())["cells"]
    assert [c["about"]["ceph"] for c in cells] == [s.release for s in played]
    assert {c["about"]["command"].split()[-1] for c in cells} == {"--first", "--second"}
    page = out.with_suffix(".md").read_text()
    assert "--first`" in page and "--second`" in page
    assert "| tentacle, 10 %, run 1, 64 |" in page and "| reef, 10 %, run 1, 64 |" in page


def test_cells_that_do_not_tell_when_they_were_played_are_not_gone_on_with(
    tmp_path: Path, played: list[Setting]
) -> None:
    out = tmp_path / "saturation.json"
    out.write_text(Path("docs/results/saturation.json").read_text())
    with pytest.raises(
        LabError, match=r"63 cells do not say .*, tentacle, 10 %, run 1, 64 for one: give another --out"
    ):
        saturation.measure(arguments(out, release="reef"), [])
    assert not played
