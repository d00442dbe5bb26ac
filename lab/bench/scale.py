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

from lab.bench import figures, runner, store
from lab.bench.balancers import BALANCERS
from lab.bench.options import add_options
from lab.bench.order import Cluster, Order
from lab.bench.plots.canvas import COLOURS, canvas
from lab.bench.workloads.md import MD
from lab.errors import LabError
from lab.measurement import exit_status

WORKLOAD = replace(MD, kind="scale", operations=1_000_000_000, clients=16)
RANKS = (1, 2, 4, 8)
Peaks = Mapping[str, Mapping[int, Sequence[float]]]
"""By balancer and ranks: best ten seconds of each run, op/s."""


def ratio_to_linear(peaks: Mapping[int, Sequence[float]], ranks: int) -> float:
    """Of medians: what so many ranks reach of so many times one rank's peak."""
    return statistics.median(peaks[ranks]) / (ranks * statistics.median(peaks[1]))


def table(peaks: Peaks) -> str:
    """A row a balancer, a column a number of ranks."""
    lines = ["| | " + " | ".join(map(str, RANKS)) + " |", "|---|" + "---:|" * len(RANKS)]
    for balancer, mine in peaks.items():
        shown = (f"{statistics.median(mine[n]):,.0f} ({ratio_to_linear(mine, n):.2f})" for n in RANKS)
        lines.append(f"| {balancer} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _draw(peaks: Peaks, path: Path) -> None:
    with canvas(1, 1, "As Figure 13a: peak op/s by ranks, creates", path) as axes:
        panel = axes[0][0]
        for balancer, mine in peaks.items():
            middles = [statistics.median(mine[n]) for n in RANKS]
            panel.plot(RANKS, middles, marker="o", color=COLOURS[balancer], label=balancer)
        one = statistics.median(statistics.median(mine[1]) for mine in peaks.values())
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
        peaks = _peaks(orders, args.out)
        text = f"op/s, best ten seconds (part of linear), by ranks\n\n{table(peaks)}\n"
        (args.out / "scale.md").write_text(text)
        _draw(peaks, args.out / "fig13a-scale.png")
        print(text)

    return exit_status("scale", work, "finished cells are kept, and not run again")


def _peaks(orders: Sequence[Order], out: Path) -> dict[str, dict[int, list[float]]]:
    found: dict[str, dict[int, list[float]]] = {}
    for order in orders:
        cell = store.load(out, order.key)
        best = max(ops for _, ops in figures.moving(cell, cell["spans"]["run"]))
        found.setdefault(order.balancer, {}).setdefault(order.cluster.ranks, []).append(best)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
