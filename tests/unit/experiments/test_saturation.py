# SPDX-License-Identifier: LGPL-2.1-or-later
"""What experiments.saturation makes of the epochs it has seen."""

from dataclasses import asdict
from typing import Any

import pytest

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
    wanted = settings((10, 20), 2)
    assert len({setting.key for setting in wanted}) == len(wanted) == 2 * 2 * (len(CLIENTS) + 1)
    cells = [cell(setting, LIGHT if setting.rate else FULL) for setting in wanted]
    result = {"command": "x", "date": "today", "ceph": "tentacle", "cells": cells}
    assert [row["part"] for row in rows(result) if not row["control"]] == pytest.approx(
        [rows(result)[0]["capacity"] / 350.0] * 24
    )
    page = text(result)
    assert "full within 3 epochs of 5 s: 24 of 24" in page
    assert "never called full: 4 of 4" in page
