# SPDX-License-Identifier: LGPL-2.1-or-later
"""Medians of several runs as Markdown: `python3 -m demo.medians docs/results/demo-[0-9].json`."""

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.common.figures.markdown import table

Run = Mapping[str, Any]

Number = tuple[str, Callable[[Run], float], str]

NUMBERS: tuple[Number, ...] = (
    ("throughput before, op/s", lambda r: r["before"]["ops"], ",.0f"),
    ("throughput after, op/s", lambda r: r["after"]["ops"], ",.0f"),
    ("**throughput after / before**", lambda r: r["throughput_ratio"], ".2f"),
    ("**IF before**", lambda r: r["before"]["imbalance_factor"], ".3f"),
    ("**IF after**", lambda r: r["after"]["imbalance_factor"], ".3f"),
    ("C learned, req/s a rank", lambda r: r["capacity"]["value"], ",.0f"),
    ("fullest rank's part before", lambda r: r["before"]["fullest_share"], ".0%"),
    ("fullest rank's part after", lambda r: r["after"]["fullest_share"], ".0%"),
    ("p95 latency before, ms", lambda r: r["before"]["p95_ms"], ".0f"),
    ("p95 latency after, ms", lambda r: r["after"]["p95_ms"], ".0f"),
    ("requests an operation, before", lambda r: sum(r["before"]["loads"]) / r["before"]["ops"], ".2f"),
    ("requests an operation, after", lambda r: sum(r["after"]["loads"]) / r["after"]["ops"], ".2f"),
    ("failed operations, before and after", lambda r: r["before"]["errors"] + r["after"]["errors"], ".0f"),
    ("seconds in all", lambda r: r["seconds"], ".0f"),
)


def markdown(runs: Sequence[Run]) -> str:
    """A table of the results and one of the steps' times."""
    titles = list(dict.fromkeys(title for run in runs for title in run["steps"]))

    def seconds(title: str) -> Callable[[Run], float]:
        return lambda run: run["steps"].get(title, 0.0)

    results = [_row(name, [get(run) for run in runs], form) for name, get, form in (*NUMBERS, *_later(runs))]
    steps = [_row(title, [seconds(title)(run) for run in runs], ".1f") for title in titles]
    numbers = [*(f"run {number}" for number in range(1, len(runs) + 1)), "median"]
    return f"{table(['', *numbers], results)}\n\n{table(['step, s', *numbers], steps)}"


def _later(runs: Sequence[Run]) -> list[Number]:
    """What came after the partition, of the parts that all runs have."""

    def of(part: str, name: str) -> Callable[[Run], float]:
        return lambda run: float(run["sequel"][part][name])

    parts = [part for part in runs[0]["sequel"] if all(part in run["sequel"] for run in runs)]
    names = (("op/s", "ops", ",.0f"), ("IF", "imbalance_factor", ".3f"))
    return [(f"{part}, {shown}", of(part, name), form) for part in parts for shown, name, form in names]


def median(runs: Sequence[Run], name: str) -> str:
    """One of the numbers, of all runs."""
    get, form = next((get, form) for title, get, form in NUMBERS if title == name)
    return format(statistics.median(get(run) for run in runs), form)


def _row(name: str, values: Sequence[float], form: str) -> list[str]:
    return [name, *(format(value, form) for value in (*values, statistics.median(values)))]


if __name__ == "__main__":
    print(markdown([json.loads(Path(path).read_text()) for path in sys.argv[1:]]))
