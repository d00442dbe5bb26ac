# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the cost of the hook is concluded from."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.hook_cost import IDLE, MEMORY, RATES, RECORDING, STOCK, TREES, WIRE, earlier, summary

MIB = 1 << 20


def memory(in_use: float, rss: float = 100 * MIB, recorded: float = 0) -> list[dict[str, float]]:
    return [{"in_use": in_use, "rss": rss, "recorded_inodes": recorded}]


def found(recording_large: float = 80 * MIB, recording_wide: float = 80 * MIB) -> dict[str, object]:
    memories = {
        "large": {
            STOCK: memory(80 * MIB),
            IDLE: memory(80 * MIB),
            RECORDING: memory(recording_large, 101 * MIB, 1000),
        },
        "wide": {
            STOCK: memory(80 * MIB),
            IDLE: memory(80 * MIB),
            RECORDING: memory(recording_wide, recorded=500),
        },
    }
    rates = {STOCK: [100.0, 200.0, 400.0], IDLE: [101.0, 202.0, 404.0], RECORDING: [98.0, 190.0, 396.0]}
    times = {STOCK: [50.0, 60.0, 70.0], IDLE: [50.0, 60.0, 70.0], RECORDING: [55.0, 63.0, 71.0]}
    wires = {v: [10.0, 30.0, 20.0] for v in (STOCK, IDLE, RECORDING)}
    return summary(
        {MEMORY: memories, WIRE: {"bytes_a_beat": wires}, RATES: {"op_s": rates, "cpu_us_a_reply": times}}
    )


def test_op_s_and_cpu_time_are_compared_round_by_round() -> None:
    assert found()["op_s_against_stock_percent"] == {IDLE: 1.0, RECORDING: -2.0}
    assert found()["cpu_against_stock_percent"] == {IDLE: 0.0, RECORDING: 5.0}


def test_memory_that_grew_is_that_of_inodes_and_of_dirfrags() -> None:
    dirfrags = TREES["wide"][0]
    result = found(80 * MIB + 20 * 1000, 80 * MIB + 20 * 500 + 7 * dirfrags)
    assert result["bytes_a_recorded_inode"] == 20.0
    assert result["bytes_a_recorded_dirfrag"] == 7.0
    assert result["rss_against_stock_percent"] == {IDLE: 0.0, RECORDING: 1.0}


def test_bytes_a_beat_are_medians() -> None:
    assert found()["bytes_a_beat"] == dict.fromkeys((STOCK, IDLE, RECORDING), 20)


def test_what_is_not_measured_anew_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "cost.json"
    out.write_text(
        json.dumps({MEMORY: {"large": 1}, WIRE: {"stock": [2]}, RATES: {"op_s": {}}, "summary": {}})
    )
    assert earlier(Namespace(out=out, parts=[RATES])) == {MEMORY: {"large": 1}, WIRE: {"stock": [2]}}


def test_a_part_that_was_never_measured_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no earlier result of memory"):
        earlier(Namespace(out=tmp_path / "cost.json", parts=[RATES]))
