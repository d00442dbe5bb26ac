# SPDX-License-Identifier: LGPL-2.1-or-later
"""From cells of runs that end to ratios, tables and pictures."""

import csv
import math
import random
from pathlib import Path
from typing import Any

import pytest

from docs.claims import scale
from experiments.common.cells import cpu, store
from experiments.common.figures import compare, figures, run_figures, summary
from experiments.common.figures.interval import chance, interval, shown
from experiments.matrix import report, tables
from lab.clients.latency_histogram import bucket
from lab.errors import LabError


def cell(balancer: str, ops: float = 100.0, *, run: int = 1, ready: int = 4, **more: Any) -> dict[str, Any]:
    """Two ranks for 40 s: rank 0 serves all of it, or under an oracle each a half; four clients."""
    share = [0.5, 0.5] if balancer == "oracle" else [1.0, 0.0]
    samples = [
        {
            "t": 100.0 + second,
            "ranks": {
                str(rank): {
                    "requests": share[rank] * ops * second, "forwards": 0, "exported_inodes": 5 * second,
                    "imported_inodes": 0, "exports": 0, "slow": rank,
                }
                for rank in (0, 1)
            },
            "subtrees": {"/": 0, "/v/web/a": 1, "/v/web/b#0*": 0, "/v/web/b#1*": 1} if second == 0 else None,
        }
        for second in range(41)
    ]  # fmt: skip
    return {
        "key": f"web-tentacle-2x10-{balancer}-{run}",
        "workload": "web",
        "balancer": balancer,
        "run": run,
        "release": "tentacle",
        "hook": False,
        "ranks": 2,
        "mds_cpu": 10,
        "limit": 40.0,
        "capacity": 100.0,
        "pins": 0,
        "paths": {"web": "/v/web"},
        "seconds": {"switch_on": 1.0},
        "spans": {"run": [100.0, 140.0]},
        "samples": samples,
        "clients": [[100 + s, ops, 5.0, 0] for s in range(1, 41)],
        "done": {
            f"c{k}": [
                100.0,
                110.0 + 10 * k if k < ready else None,
                {"open": 10},
                {"open: x": 1} if k == 0 else {},
            ]
            for k in range(4)
        },
        "histogram": {str(bucket(0.001)): 98, str(bucket(0.1)): 2},
        "cpu": [
            {
                "t": 100.0 + 2 * k,
                "busy": 2.0 * k,
                "used": {"mds.a": 0.2 * k, "mds.b": 0.1 * k, "clients": 0.8 * k},
            }
            for k in range(21)
        ],
    } | more


def test_completion_times_are_known_for_those_who_got_there() -> None:
    whole, cut = cell("builtin"), cell("builtin", ready=3)
    assert run_figures.completions(whole) == [10.0, 20.0, 30.0, 40.0]
    assert (run_figures.completion(whole, 50), run_figures.completion(whole, 99)) == (20.0, 40.0)
    assert (run_figures.completion(cut, 50), run_figures.completion(cut, 99)) == (20.0, None)


def test_who_was_busy() -> None:
    one = cell("builtin")
    assert run_figures.cores(one, "clients") == pytest.approx(0.4)
    assert run_figures.cores(one, "busy") == pytest.approx(1.0)
    assert run_figures.cores(one, "osd") == 0.0
    assert run_figures.errors(one) == 1
    assert run_figures.latency(one, 50) == pytest.approx(1.0, rel=0.03)
    assert run_figures.latency(one, 99) == pytest.approx(100.0, rel=0.03)


def test_time_is_counted_by_kind_of_process() -> None:
    assert cpu.name_of(b"/usr/bin/ceph-mds\0-i\0b\0") == "mds.b"
    assert cpu.name_of(b"/usr/bin/ceph-osd\0-i\0" + b"0\0") == "osd"
    assert cpu.name_of(b"/usr/bin/python3\0-m\0lab.clients.worker\0") == "clients"
    assert cpu.name_of(b"/usr/bin/python3\0-m\0engine\0--nice\0") == "engine"
    assert cpu.name_of(b"/usr/bin/python3\0-m\0lab.sandboxed.sampler\0") is None


def idle(one: dict[str, Any]) -> dict[str, Any]:
    """The same cell, in which no MDS had more to do than half of its quota."""
    lines = [line | {"used": {"mds.a": line["used"]["mds.a"] / 2}} for line in one["cpu"]]
    return one | {"cpu": lines}


def three(name: str, *ops: float) -> list[dict[str, Any]]:
    return [cell(name, x, run=run) for run, x in enumerate(ops, 1)]


def test_ratios_are_within_blocks_with_an_interval() -> None:
    found = compare.rows([*three("builtin", 100.0, 120.0, 80.0), *three("lunule", 180.0, 240.0, 240.0)])
    got = compare.ratio(found, "web", "op/s", "lunule", "builtin")
    assert got is not None and got.blocks == pytest.approx((1.8, 2.0, 3.0))
    assert str(got) == "2.00 (1.80 to 3.00)"
    assert compare.ratio(found, "web", "op/s", "lunule", "oracle") is None
    assert compare.ratio(found, "nlp", "op/s", "lunule", "builtin") is None


def test_a_cell_whose_mdss_were_not_the_limit_is_left_out_of_ratios_and_that_is_told() -> None:
    base, ours = three("builtin", 100.0, 100.0, 100.0), three("lunule", 150.0, 900.0, 170.0)
    found = compare.rows([*base, ours[0], idle(ours[1]), ours[2]])
    got = compare.ratio(found, "web", "op/s", "lunule", "builtin")
    assert str(got) == "1.60 (1.50 to 1.70), 2 of 3"
    assert compare.values(found, "web", "lunule", "op/s") == pytest.approx([150.0, 170.0])
    none = compare.ratio(compare.rows([*base[:1], idle(ours[0])]), "web", "op/s", "lunule", "builtin")
    assert str(none) == "none of 1 counts"
    assert none is not None
    with pytest.raises(LabError, match="none of 1 blocks counts"):
        _ = none.median


def test_runs_that_were_hours_apart_are_no_block() -> None:
    def later(one: dict[str, Any], seconds: float) -> dict[str, Any]:
        return one | {"spans": {"run": [at + seconds for at in one["spans"]["run"]]}}

    base, ours = three("builtin", 100.0, 100.0), three("lunule", 150.0, 900.0)
    found = compare.rows(base + ours)
    found["web"][3]["began"] += 3_601
    got = compare.ratio(found, "web", "op/s", "lunule", "builtin")
    assert str(got) == "1.50, 1 of 2"
    rows = compare.rows([base[0], later(ours[0], 3_000.0)])
    assert [row["began"] for row in rows["web"]] == [100, 3_100]


def test_a_ratio_knows_whether_what_a_rank_serves_changed() -> None:
    base, ours = cell("builtin", 100.0), cell("lunule", 150.0)
    for capacity, changed in ((119.0, False), (121.0, True)):
        got = compare.ratio(
            compare.rows([base, ours | {"capacity": capacity}]), "web", "op/s", "lunule", "builtin"
        )
        assert got is not None and got.changed == changed


def test_what_did_not_hold_clients_back_is_told_of_cells_that_do_not_count_too() -> None:
    lines = summary.table([idle(cell("lunule"))]).splitlines()
    rows = dict(line.split(" | ") for line in lines[2:])
    assert rows["| busiest MDS, part of its quota"] == "0.500 |"
    assert rows["| part of the windows with a full MDS"] == "0 |"
    assert rows["| op/s"] == "- |"


def test_one_run_has_no_interval() -> None:
    assert interval([2.0]) is None
    assert shown([2.0]) == "2.00"
    assert interval([2.0, 2.0]) == (2.0, 2.0)
    low, high = interval([1.0, 1.1, 1.2, 1.3, 1.4, 9.0]) or (0.0, 0.0)
    assert 1.0 <= low < 1.25 < high <= 9.0


def test_chance_is_what_repeated_ratios_differ_by() -> None:
    draw = random.Random(2021)
    blocks = [[middle * math.exp(draw.gauss(0.0, 0.2)) for _ in range(3)] for middle in (0.5, 1.0, 4.0) * 200]
    assert chance(blocks) == pytest.approx(math.exp(1.96 * 0.2), rel=0.05)
    assert chance([*blocks, [1.0], []]) == chance(blocks), "what was measured once tells nothing"


def test_each_of_our_policies_is_told_beside_the_built_in_one_and_the_oracle() -> None:
    cells = [cell("builtin"), cell("subvolume-pinning", 300.0), cell("lunule", 150.0), cell("oracle", 200.0)]
    text = tables.text(compare.rows(cells))
    assert "## subvolume-pinning\n" in text
    assert "## lunule\n" in text
    assert "## lunule-mindex\n" not in text, "it has no cell"
    table = compare.of_one(compare.rows(cells), "subvolume-pinning")
    row = next(line for line in table.splitlines() if "web" in line)
    assert row.split(" | ")[1:6] == ["3.00", "3.00", "3.00", "1.50", "1.50"]


def test_what_has_no_ratio_has_no_table() -> None:
    text = tables.text(compare.rows([cell("builtin"), cell("lunule")]))
    assert "## op/s against the built-in balancer" in text
    assert "oracle (the goal" not in text
    assert "cnn" not in text


def test_a_ratio_with_clients_that_were_stopped_is_not_known() -> None:
    cells = [cell("builtin"), cell("builtin", run=2, ready=3), cell("lunule"), cell("lunule", run=2)]
    found = compare.rows(cells)
    assert compare.ratio(found, "web", "completion p99, s", "lunule", "builtin") is None
    assert compare.ratio(found, "web", "op/s", "lunule", "builtin") is not None


def test_a_report_has_tables_and_pictures(tmp_path: Path) -> None:
    cells = [cell("builtin"), cell("dir-hash", 150.0), cell("lunule", 180.0), cell("oracle", 200.0)]
    cells += [one | {"workload": "mix", "key": one["key"].replace("web", "mix")} for one in cells]
    for one in cells:
        store.save(tmp_path, one)
    report.write(tmp_path, tmp_path / "pictures", [one["key"] for one in cells] + ["not-measured-yet"])
    text = (tmp_path / "matrix.md").read_text()
    assert "| web | lunule | 1.80 | 0.90 | 1.00 |" in text
    rows = list(csv.DictReader((tmp_path / "cells.csv").open()))
    assert len(rows) == 8
    assert {(r["workload"], r["balancer"]): r["op/s"] for r in rows}["mix", "oracle"] == "200"
    pictures = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert pictures == {"fig07-throughput.png", "mix-tentacle.png", "web-tentacle.png"}


def test_scale_is_a_ratio_to_linear() -> None:
    peaks = {1: [100.0], 2: [190.0], 4: [320.0], 8: [400.0]}
    assert scale.ratio_to_linear(peaks, 4) == pytest.approx(0.8)
    assert "400 (0.50)" in scale.table({"lunule": peaks})
    assert scale.ratio_to_linear(peaks | {1: []}, 4) is None
    assert "none counts | 190 |" in scale.table({"lunule": peaks | {1: []}})


def test_scale_has_the_best_ten_seconds_and_the_whole_run_of_everybody() -> None:
    one = [
        cell(name, ops) | {"ranks": ranks} for name, ops, ranks in (("lunule", 90.0, 1), ("oracle", 80.0, 2))
    ]
    assert scale.measured([*one, idle(one[1])]) == {
        "lunule, best ten seconds": {1: [90.0], 2: [], 4: [], 8: []},
        "lunule, whole run": {1: [90.0], 2: [], 4: [], 8: []},
        "oracle, best ten seconds": {1: [], 2: [80.0], 4: [], 8: []},
        "oracle, whole run": {1: [], 2: [80.0], 4: [], 8: []},
    }


def test_a_rank_that_comes_later_serves_nothing_before() -> None:
    one = cell("oracle")
    for sample in one["samples"][:20]:
        del sample["ranks"]["1"]
    loads = dict(figures.known_loads(one))
    assert loads[115.0][1] == 0.0 and loads[140.0] == [50.0, 50.0]
    factor = dict(figures.known_imbalance(one, 100.0))
    assert factor[115.0] == 0.0, "one rank alone is even"
    assert factor[140.0] == pytest.approx(0.0)
