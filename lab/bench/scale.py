# SPDX-License-Identifier: LGPL-2.1-or-later
"""Peak throughput at 1, 2, 4 and 8 ranks (Figure 13a): `python3 -m lab.bench.scale`.

16 clients create in private directories; the quota of a rank is low enough that eight fit two cores.
"""

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lab.bench import compare, figures, run_figures, runner, store
from lab.bench.balancers import BALANCERS
from lab.bench.figures import Cell
from lab.bench.options import add_options
from lab.bench.order import Cluster, Order
from lab.bench.plots.canvas import COLOURS, canvas
from lab.bench.workloads.md import MD
from lab.errors import LabError
from lab.measurement import exit_status

WORKLOAD = replace(MD, kind="scale", operations=1_000_000_000, clients=16)
RANKS = (1, 2, 4, 8)
Peaks = Mapping[str, Mapping[int, Sequence[float]]]
"""By balancer and measure, then ranks: op/s of each run that counts."""
PEAK, WHOLE = "best ten seconds", "whole run"


def measured(cells: Sequence[Cell]) -> dict[str, dict[int, list[float]]]:
    """Both measures of every balancer."""
    found: dict[str, dict[int, list[float]]] = {}
    for balancer in dict.fromkeys(str(cell["balancer"]) for cell in cells):
        for measure, of in ((PEAK, _peak), (WHOLE, _whole)):
            by_ranks: dict[int, list[float]] = {ranks: [] for ranks in RANKS}
            for cell in cells:
                if cell["balancer"] == balancer and run_figures.counts(cell):
                    by_ranks[cell["ranks"]].append(of(cell))
            found[f"{balancer}, {measure}"] = by_ranks
    return found


def _peak(cell: Cell) -> float:
    return max(ops for _, ops in figures.moving(cell, cell["spans"]["run"]))


def _whole(cell: Cell) -> float:
    return figures.throughput(cell, cell["spans"]["run"])


def ratio_to_linear(peaks: Mapping[int, Sequence[float]], ranks: int) -> float | None:
    """Of medians: what so many ranks reach of so many times what one does; None: no run of either counts."""
    if not peaks[ranks] or not peaks[1]:
        return None
    return statistics.median(peaks[ranks]) / (ranks * statistics.median(peaks[1]))


def table(peaks: Peaks) -> str:
    """A row a balancer and measure, a column a number of ranks."""
    lines = [[name, *(_shown(mine, n) for n in RANKS)] for name, mine in peaks.items()]
    return compare.table(["op/s (part of linear), by ranks", *map(str, RANKS)], lines)


def _shown(mine: Mapping[int, Sequence[float]], ranks: int) -> str:
    part = ratio_to_linear(mine, ranks)
    of_linear = "" if part is None else f" ({part:.2f})"
    return f"{statistics.median(mine[ranks]):,.0f}{of_linear}" if mine[ranks] else "none counts"


def _draw(peaks: Peaks, path: Path) -> None:
    with canvas(1, 1, "As Figure 13a: peak op/s by ranks, creates", path) as axes:
        panel = axes[0][0]
        best = {name.removesuffix(f", {PEAK}"): mine for name, mine in peaks.items() if name.endswith(PEAK)}
        for balancer, mine in best.items():
            known = [n for n in RANKS if mine[n]]
            middles = [statistics.median(mine[n]) for n in known]
            panel.plot(known, middles, marker="o", color=COLOURS[balancer], label=balancer)
        one = statistics.median(statistics.median(mine[1]) for mine in best.values() if mine[1])
        panel.plot(RANKS, [one * n for n in RANKS], color="#444444", linestyle=":", label="linear")
        panel.set_xlabel("ranks")
        panel.set_ylabel("op/s, best ten seconds")
        panel.set_ylim(bottom=0)
        panel.legend(frameon=False, fontsize=8)


def main(argv: Sequence[str]) -> int:
    """Measure what is missing, then report; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.bench.scale", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    add_options(parser, ["lunule-mindex", "oracle"], mds_cpu=6, runs=1)
    parser.add_argument("--seconds", type=float, default=40.0, help="half of a cell's")
    args = parser.parse_args(argv)
    orders = [
        Order(
            Cluster(WORKLOAD, args.release, ranks, args.mds_cpu, BALANCERS[balancer].hook),
            balancer,
            run,
            args.seconds,
        )
        for run in range(1, args.runs + 1)
        for ranks in RANKS
        for balancer in args.balancers
    ]

    def work() -> None:
        failures = runner.run(orders, args.out)
        if failures:
            raise LabError("; ".join(failures))
        peaks = measured([store.load(args.out, order.key) for order in orders])
        text = f"{table(peaks)}\n"
        (args.out / "scale.md").write_text(text)
        _draw(peaks, args.out / "fig13a-scale.png")
        print(text)

    return exit_status("scale", work, "finished cells are kept, and not run again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
