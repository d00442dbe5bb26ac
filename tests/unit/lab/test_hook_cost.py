# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the cost of the hook is concluded from."""

import json
import random
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from lab.errors import LabError
from lab.hook_cost.__main__ import earlier
from lab.hook_cost.bed import IDLE, RANKS, RECORDING, STOCK, VARIANTS
from lab.hook_cost.course import INSTRUCTIONS, MDS_CPU, MEMORY, RATES, SAMPLES, TREES, WIRE, rotations
from lab.hook_cost.sampled import of_the_hook, parsed
from lab.hook_cost.summary import of_instructions, of_memory, of_rates, summary

MIB = 1 << 20
SECONDS = 20.0


def one_round(cost: dict[str, float], ranks: list[float], quota: float = 1.0) -> list[dict[str, Any]]:
    """Saturated ranks that differ by themselves; cost: CPU time a reply by variant."""
    cpu_s = quota * SECONDS * MDS_CPU / 100
    return [
        {
            "seconds": SECONDS,
            "ranks": [
                {
                    "variant": v,
                    "replies": cpu_s * speed / cost[v],
                    "cpu_s": cpu_s,
                    "instructions": round(cpu_s * speed * 1e9),
                }
                for v, speed in zip(variants, ranks, strict=True)
            ],
        }
        for variants in rotations(random.Random(1))
    ]


def memory(in_use: float, rss: float = 100 * MIB, recorded: float = 0) -> list[dict[str, float]]:
    return [{"in_use": in_use, "rss": rss, "recorded_inodes": recorded}]


def memories(recording_large: float = 80 * MIB, recording_wide: float = 80 * MIB) -> dict[str, Any]:
    return {
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


def test_in_a_round_every_variant_is_on_every_rank_once() -> None:
    windows = rotations(random.Random(3))
    for rank in range(RANKS):
        assert {window[rank] for window in windows} == set(VARIANTS)
    assert all(set(window) == set(VARIANTS) for window in windows)


def test_ranks_that_differ_do_not_make_variants_differ() -> None:
    alike = dict.fromkeys(VARIANTS, 150e-6)
    found = of_rates([one_round(alike, [1.0, 1.3, 0.8])])
    for figure in ("op_s_against_stock_percent", "cpu_against_stock_percent"):
        assert found[figure] == {v: {"median": 0, "lowest": 0, "highest": 0} for v in (IDLE, RECORDING)}


def test_variants_are_compared_within_rounds_and_the_median_of_rounds_counts() -> None:
    rounds = [
        one_round({STOCK: base, IDLE: base, RECORDING: base * more}, [1.0, 1.0, 1.0])
        for base, more in ((100e-6, 1.25), (200e-6, 1.0), (400e-6, 1.6))
    ]
    found = of_rates(rounds)
    assert found["op_s_against_stock_percent"][RECORDING] == {
        "median": -20.0,
        "lowest": -37.5,
        "highest": 0.0,
        "mean": -19.17,
        "standard_error": 10.83,
    }
    assert found["cpu_against_stock_percent"][RECORDING]["median"] == 25.0
    assert found["cpu_us_a_reply"] == {STOCK: 200.0, IDLE: 200.0, RECORDING: 200.0}
    assert found["op_s"][STOCK] == 750.0  # 15 % of a core at 200 us a reply


def test_instructions_are_those_a_reply() -> None:
    found = of_instructions([one_round({STOCK: 100e-6, IDLE: 100e-6, RECORDING: 101e-6}, [1.0, 1.3, 0.8])])
    assert found["instructions_a_reply"] == {STOCK: 100_000, IDLE: 100_000, RECORDING: 101_000}
    assert found["instructions_against_stock_percent"][RECORDING]["median"] == 1.0


def test_ranks_that_were_not_saturated_show() -> None:
    alike = dict.fromkeys(VARIANTS, 150e-6)
    rounds = [one_round(alike, [1.0] * RANKS), one_round(alike, [1.0] * RANKS, quota=0.5)]
    assert of_rates(rounds)["least_part_of_the_quota_used"] == 0.5


REPORT = """# Overhead  Symbol
# ........  ......
#
    28.39%  [k] finish_task_switch.isra.0          -      -
     0.23%  [.] SubtreeStats::record               -      -
     0.02%  [.] MDBalancer::name_authority
     0.09%  [.] MDBalancer::hit_dir
     0.01%  [.] std::less<unsigned int> SubtreeStats::x
"""


def test_time_in_the_hook_is_that_of_its_own_functions() -> None:
    found = parsed(REPORT)
    assert found["finish_task_switch.isra.0"] == 28.39
    assert of_the_hook(found) == {
        "SubtreeStats::record": 0.23,
        "MDBalancer::name_authority": 0.02,
        "std::less<unsigned int> SubtreeStats::x": 0.01,
    }


def test_memory_that_grew_is_that_of_inodes_and_of_dirfrags() -> None:
    dirfrags = TREES["wide"][0]
    result = of_memory(memories(80 * MIB + 20 * 1000, 80 * MIB + 20 * 500 + 7 * dirfrags))
    assert result["bytes_a_recorded_inode"] == 20.0
    assert result["bytes_a_recorded_dirfrag"] == 7.0
    assert result["rss_against_stock_percent"] == {IDLE: 0.0, RECORDING: 1.0}


def test_bytes_a_beat_are_medians() -> None:
    wires = {"bytes_a_beat": {v: [10.0, 30.0, 20.0] for v in VARIANTS}}
    rounds = {"rounds": [one_round(dict.fromkeys(VARIANTS, 1e-4), [1.0] * RANKS)]}
    found = summary(memories(), wires, rounds, rounds, {"percent": {}})
    assert found["bytes_a_beat"] == dict.fromkeys(VARIANTS, 20)


def test_what_is_not_measured_anew_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "cost.json"
    out.write_text(
        json.dumps({MEMORY: {"large": 1}, WIRE: {"stock": [2]}, RATES: {"op_s": {}}, "summary": {}})
    )
    kept = earlier(Namespace(out=out, parts=[RATES, INSTRUCTIONS, SAMPLES]))
    assert kept == {MEMORY: {"large": 1}, WIRE: {"stock": [2]}}


def test_a_part_that_was_never_measured_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no earlier result of wire"):
        earlier(Namespace(out=tmp_path / "cost.json", parts=[RATES]))
