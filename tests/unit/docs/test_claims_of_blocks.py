# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is told of the scheduler is of all blocks that there are, and losses are told like wins."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from docs.claims import blocks, losses, noise, scheduler, tails, texts
from docs.claims.results import Results
from experiments.common.cells import store
from experiments.common.figures import correction
from experiments.common.figures.limits import limits
from experiments.conditions import tables
from experiments.conditions.tables import OURS
from lab.errors import LabError
from lab.sandbox import checkout

TOP = checkout() / "docs/results"
RESULTS = Results(TOP)


def of_scheduler(*folders: str) -> set[Path]:
    return {path for folder in folders for path in (TOP / folder).rglob("*-scheduler-*.json.gz")}


def key(path: Path) -> tuple[str, str]:
    cell = store.load(path.parent, path.name.removesuffix(".json.gz"))
    return str(cell["date"]), str(cell["workload"])


def test_no_block_of_the_scheduler_is_left_out() -> None:
    five = [
        *blocks.of_five_minutes(RESULTS),
        blocks.block(RESULTS, blocks.UNLIKE, (tables.OURS, "oracle")),
    ]
    short = [scheduler.short(RESULTS, folder, load) for folder, load, _ in scheduler.SHORT]
    told = {(str(b[tables.OURS]["date"]), blocks.load(b)) for b in (*five, *short)}
    assert {key(path) for path in of_scheduler("cold", "scheduler")} == told


def cell(ops: float = 100.0, capacity: float = 100.0, busy: float = 1.0, **more: Any) -> dict[str, Any]:
    return {
        "workload": "zipf",
        "capacity": capacity,
        "mds_cpu": 10,
        "spans": {"run": [0.0, 60.0]},
        "clients": [[float(t), ops, 1.0, 0] for t in range(1, 61)],
        "done": {},
        "cpu": [{"t": 2.0 * k, "busy": 2.0 * busy * k, "used": {"mds.a": 0.2 * k}} for k in range(31)],
        **more,
    }


def block(ours: dict[str, Any], **others: dict[str, Any]) -> blocks.Block:
    return {tables.OURS: ours, **{name.replace("_", "-"): other for name, other in others.items()}}


def test_the_better_of_the_built_in_ones_is_what_counts() -> None:
    found = block(cell(100.0), builtin=cell(125.0), builtin_to_auth=cell(50.0))
    assert blocks.over_better(found, tables.whole) == pytest.approx(0.8)
    alone = block(cell(100.0), builtin_to_auth=cell(50.0))
    assert blocks.over_better(alone, tables.whole) == pytest.approx(2.0)
    full = block(cell(100.0), builtin=cell(125.0, busy=1.9), builtin_to_auth=cell(50.0))
    assert blocks.over_better(full, tables.whole) is None, "which had more is not known"


def test_a_block_whose_machine_changed_is_told_by_what_a_rank_serves_too() -> None:
    alike = block(cell(capacity=100.0), builtin=cell(capacity=119.0))
    assert not blocks.changed(alike) and list(blocks.measures(alike)) == ["op/s"]
    other = block(cell(120.0, capacity=150.0), builtin=cell(100.0, capacity=100.0))
    assert blocks.changed(other) and list(blocks.measures(other)) == ["op/s", "op/s / C"]
    ratios = [blocks.over_better(other, of) for of in blocks.measures(other).values()]
    assert ratios == pytest.approx([1.2, 0.8])


@pytest.fixture
def linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """op/s go with the machine's speed, and 1,000 units in a second of CPU are usual."""
    monkeypatch.setattr(correction, "kept", lambda: correction.Correction(1.0, 1000.0, 0.2, 0.1, 0.01))


def beside(units: float) -> list[list[float]]:
    return [[float(t), 0.05 * units, 0.05] for t in range(1, 61)]


@pytest.mark.usefixtures("linear")
def test_a_block_is_told_by_one_speed_of_the_machine_too() -> None:
    found = block(cell(80.0, reference=beside(800)), builtin=cell(100.0, reference=beside(1250)))
    assert list(blocks.measures(found)) == ["op/s", "op/s, corrected"]
    assert blocks.over_better(found, blocks.corrected) == pytest.approx(1.25)
    before = block(cell(80.0, reference=beside(800)), builtin=cell(100.0))
    assert list(blocks.measures(before)) == ["op/s"], "of one run it is not known"
    with pytest.raises(LabError, match="zipf-1 has no reference load"):
        blocks.corrected(cell(key="zipf-1"))


@pytest.mark.usefixtures("linear")
def test_a_loss_by_any_measure_is_one() -> None:
    hidden = block(cell(110.0, reference=beside(1250)), builtin=cell(100.0, reference=beside(1000)))
    found = blocks.by_measure(hidden, blocks.over_better)
    assert found == {"op/s": pytest.approx(1.1), "op/s, corrected": pytest.approx(0.88)}
    assert losses.worst(found) == (pytest.approx(0.88), "op/s, corrected")
    full = block(cell(110.0), builtin=cell(100.0, busy=1.9))
    assert blocks.by_measure(full, blocks.over_better) == {}


def test_all_blocks_are_told_at_one_speed() -> None:
    rows = [line.split(" | ") for line in _text("scheduler-one-speed").splitlines()[2:]]
    assert len(rows) == len(blocks.of_five_minutes(RESULTS)) + 1
    slow = next(row for row in rows if row[1].startswith("c4fb7f09"))
    assert slow[2] == "scheduler 1.00, builtin 1.14, oracle 1.18, builtin-to-auth 1.12", "in their order"
    assert float(slow[7]) == 0.59 and float(slow[8].rstrip(" |")) > 0.8


def test_the_correction_holds_within_runs_that_it_was_not_fitted_on() -> None:
    measured, corrected = re.findall(r"([\d.]+) %", _text("reference-within"))
    assert float(corrected) < 0.85 * float(measured)


def test_the_newest_block_of_each_load_is_shown_first() -> None:
    every = blocks.of_five_minutes(RESULTS)
    for shown in blocks.last(RESULTS):
        dates = [str(b[OURS]["date"]) for b in every if blocks.load(b) == blocks.load(shown)]
        assert str(shown[OURS]["date"]) == max(dates)


def test_the_range_of_the_option_alone_is_of_all_blocks() -> None:
    ratios = (
        tables.between(block, "builtin-to-auth", "builtin", of)
        for block in blocks.of_five_minutes(RESULTS)
        for of in blocks.measures(block).values()
    )
    most = max(ratio for ratio in ratios if ratio is not None)
    assert float(_text("option-alone").split(" to ")[1]) == pytest.approx(most, abs=0.006)


def test_what_is_beyond_chance_is_so_by_each_measure() -> None:
    assert noise.beyond([[1.5], [1.1], []], 1.3) == "more in 1 of 2"
    assert noise.beyond([[1.5, 1.2], [0.7, 0.6]], 1.3) == "less in 1 of 2"
    assert noise.beyond([[1.5, 0.6]], 1.3) == "none beyond"


def test_a_load_whose_baselines_differ_more_is_judged_by_that() -> None:
    bands = noise.Bands(1.35, {"mix": 1.57, "nlp": 1.19})
    assert [bands.of(load) for load in ("mix", "nlp", "programs")] == [1.57, 1.35, 1.35]
    found = noise.bands(RESULTS)
    assert found.of("jumps") > found.of("mix") > found.every == found.of("nlp")
    assert _text("chance-five").endswith(f" to {found.every:.2f}")
    assert f"jumps {found.own['jumps']:.2f}" in _text("chance-five-wider")
    widest = max(float(cell.split(" ")[0]) for cell in _row("chance-by-load", "mix")[1:])
    assert widest == pytest.approx(found.of("mix"), abs=0.006)


def _row(name: str, load: str) -> list[str]:
    """The cells of a table's first row of a load."""
    lines = (line.strip("| ").split(" | ") for line in _text(name).splitlines())
    return next(cells for cells in lines if cells[0].split(" at ")[0] == load)


def test_blocks_whose_scheduler_knew_something_are_apart() -> None:
    primed = [not blocks.cold(of) for of in blocks.of_five_minutes(RESULTS)]
    assert _text("scheduler-primed").startswith(f"{sum(primed)} of {len(primed)} blocks (")
    before = block(cell(date="2026-11-28T11:15:08+00:00"))
    since = block(cell(date="2026-11-28T11:48:36+00:00"))
    assert not blocks.cold(before) and blocks.cold(since)
    md, mix = _row("scheduler-verdict", "md"), _row("scheduler-verdict", "mix")
    assert md[1].endswith("primed") and md[2] == "-" and md[3].startswith("2 of 2: ")
    assert not mix[1].endswith("primed") and "1.33" in mix[3] and "1.33" not in mix[2]


def test_the_mean_is_told_without_the_loads_that_make_most_of_it() -> None:
    first, newest, calm = (
        line.strip("| ").split(" | ") for line in _text("scheduler-seven-over-better").splitlines()[2:5]
    )
    assert _text("scheduler-seven") == f"{first[1]} by op/s, {first[2]} by op/s / C"
    assert float(calm[1]) < float(first[1]) < float(newest[1])


def test_who_ran_first_is_told() -> None:
    first, of, last = map(int, re.findall(r"\d+", _text("scheduler-order")))
    assert of == len(blocks.of_five_minutes(RESULTS)) and last < of / 4 < first, "the order was not rotated"


def test_slow_operations_are_told_of_every_block() -> None:
    worse, of = map(int, re.findall(r"(\d+) of (\d+)", _text("scheduler-p99-mix"))[0])
    assert of == sum(blocks.load(b) == "mix" for b in blocks.of_five_minutes(RESULTS)) and worse > of / 2
    assert _row("scheduler-tails", "mix")[3] == "140 / 216 / 140 / 99"
    assert len(_text("scheduler-tails").splitlines()) == 2 + len(blocks.last(RESULTS))


def test_what_the_scheduler_takes_outside_of_the_quota_is_told_by_quota() -> None:
    ours = cell(ranks=5, cpu=used(0.02), mds_cpu=4)
    found = block(ours, **{"builtin_to_auth": cell(ranks=5, cpu=used(0.01), mds_cpu=4)})
    assert tails.outside(found) == pytest.approx(5.0), "0.01 of 0.2 cores"
    assert len(_text("scheduler-outside").split(", ")) == 3


def used(cores: float) -> list[dict[str, Any]]:
    """CPU times of the manager, in a minute."""
    return [{"t": t, "busy": t, "used": {"mgr": cores * t, "engine": 0.0}} for t in (0.0, 60.0)]


def test_pins_are_told_run_by_run_and_why_they_gain() -> None:
    runs = [float(ratio) for ratio in _text("pinning-zipf-runs").split(", ")]
    assert len(runs) == 3 and "5.49" in _row("pinning", "zipf")[1]
    used, needed, served = map(float, re.findall(r"[\d.]+", _text("pinning-zipf-split")))
    assert used * needed * served == pytest.approx(runs[1], rel=0.02)
    assert all(float(ratio) < 1.0 for ratio in _text("pinning-mix-runs-oracle").split(", ")), "a loss"
    assert float(_text("settled-zipf-pinning-over-to-auth")) < 1.2


def test_the_correction_is_told_with_either_half_as_the_judge() -> None:
    rows = [line.strip("| ").split(" | ") for line in _text("reference-halves").splitlines()[2:]]
    assert rows[0][1] == f"{correction.fitted(RESULTS.cells('reference/*')).exponent:.2f}"
    assert float(rows[1][1]) > 3.0 and float(rows[1][4].rstrip(" %")) > 5.0, "it would not be kept"


def test_ratios_are_corrected_by_what_the_twenty_cells_tell() -> None:
    told, used = correction.fitted(RESULTS.cells("reference/*")), correction.kept()
    assert used is not None and told.kept
    assert asdict(used) == pytest.approx(asdict(told)), "python3 -m experiments.reference_load writes it"


def test_blocks_of_lunule_with_the_option_have_their_commit() -> None:
    rows = [line.strip("| ").split(" | ") for line in _text("lunule-to-auth").splitlines()[2:]]
    named = [tuple(row[:2]) for row in rows if " at " in row[0]]
    assert len(set(named)) == len(named)
    assert [row[0] for row in rows if row[0].startswith("mean of ")] == ["mean of 7 loads, newest"]


def test_a_run_that_does_not_count_says_so_where_it_is_shown_in_parts() -> None:
    rows = [line for line in _text("scheduler-line").splitlines() if "does not count" in line]
    assert [row.split(",")[0] for row in rows] == ["| builtin-to-auth"]


def test_work_that_is_not_the_cells_is_told() -> None:
    found = block(cell(busy=0.1), builtin=cell(busy=0.3))
    assert blocks.other_work(found["builtin"]) == pytest.approx(0.2)
    assert blocks.flattering(found) == ["builtin"]
    assert not blocks.flattering(block(cell(busy=0.1), builtin=cell(busy=0.2)))
    assert not blocks.flattering(block(cell(busy=0.9), builtin=cell(busy=0.2)))


def test_a_mean_says_of_how_many_it_is() -> None:
    assert blocks.mean([1.0, 4.0], 2) == "2.00"
    assert blocks.mean([1.0, None, 4.0], 3) == "2.00 (of 2)"
    assert blocks.mean([None], 1) == "-"


def test_where_the_oracle_is_not_the_limit_it_is_in_brackets_and_in_no_range() -> None:
    rows = {
        line.split(" | ")[0].removesuffix(" (C changed)"): line.split(" | ")
        for line in _text("scheduler-cold").splitlines()
    }
    assert all(rows[f"| {load}"][5].startswith("(") for load in ("mix", "web", "flash"))
    assert not rows["| zipf"][5].startswith("(")
    assert rows["| the seven, op/s"][5].endswith("(of 5)")
    most = max(
        ratio
        for b in blocks.of_five_minutes(RESULTS)
        if (ratio := tables.ratio(b, "oracle", tables.whole)) is not None
    )
    assert float(_text("scheduler-over-oracle").split(" to ")[1]) < round(most, 2)


def _text(name: str) -> str:
    return texts.CLAIMS[name](RESULTS).text


def test_losses_of_the_scheduler_are_told_of_every_block() -> None:
    rows = {row[2:].split(" (")[0]: row for row in _text("scheduler-losses").splitlines()}
    assert "2 of 2, least 0.92 (62ff5ec)" in rows["flash"] and "3 of 7, least 0.86 (e2dd7d6)" in rows["churn"]
    assert "least 0.81 (96e7878, by op/s / C)" in rows["dbench"]
    assert "cnn (3), two or three minutes | 1 of 2, least 0.69 (four)" in _text("scheduler-losses")
    low, _ = map(float, _text("scheduler-over-better").split(" to "))
    assert low == 0.81, "the range begins at the greatest loss"
    assert ": 0.81 to " in next(row for row in _text("scheduler-verdict").splitlines() if "dbench" in row)
    assert _text("scheduler-short-least") == "0.69 in cnn"


def test_a_machine_that_was_full_for_a_part_of_a_run_is_told() -> None:
    (line,) = (row for row in _text("scheduler-conditions").splitlines() if "| line, 3d70e92-dirty" in row)
    assert "| 100 / 100 / 100 / 100 | 0 / 0 / 90 / 0 |" in line
    assert line.split(" | ")[3] == "does not count"


def test_versions_are_of_blocks_that_have_a_ratio() -> None:
    others = tuple(name for name in blocks.NAMES if name != OURS)
    versions = {
        str(b[OURS]["version"])
        for b in blocks.of_five_minutes(RESULTS)
        if any(tables.ratio(b, other, tables.whole) for other in others if other in b)
    }
    assert _text("scheduler-commits").startswith(f"{len(versions)} commits, ")


def test_pairs_of_a_trial_are_beside_the_option_where_it_ran() -> None:
    assert _text("scheduler-churn") == "1.9 (no such run) and 3.0 (2.7)"


def test_a_crowd_is_told_by_phase() -> None:
    head, _, *lines = _text("scheduler-flash").splitlines()
    ratios = dict(zip(head.split(" | "), lines[-1].split(" | "), strict=True))
    assert float(ratios["while it is there"]) < 0.9 < float(ratios["before the crowd"])


def test_a_goal_that_both_miss_is_shown() -> None:
    assert "| mix: op/s 1.60 times the built-in balancer's |" in _text("goals")


def test_an_old_cell_of_a_full_machine_does_not_count() -> None:
    assert limits(cell()).counts and not limits(cell(busy=1.9)).counts
    asleep = scheduler.short(RESULTS, "jumps-asleep", "jumps")
    assert not any(limits(of).counts for of in asleep.values())
