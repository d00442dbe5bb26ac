# SPDX-License-Identifier: LGPL-2.1-or-later
"""From cold: all on rank 0, nothing known, clients that work for a fixed time. `python3 -m lab.bench.cold`.

Blocks of one run of each balancer, the order rotated; ratios are within a block. The oracle's pins are in
place before. Cells that are there are not run again.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prettytable import PrettyTable, TableStyle

from lab.bench import figures, runner, store
from lab.bench.options import add_names, add_options
from lab.bench.order import Cluster, Order
from lab.bench.workloads import MATRIX, WORKLOADS
from lab.bench.workloads.endless import Endless
from lab.errors import LabError
from lab.measurement import exit_status

BALANCERS = ("scheduler", "builtin", "builtin-to-auth", "oracle")
OUT = Path("docs/results/scheduler")
OURS, LATER_S, EVEN = "scheduler", 60.0, 0.1

Cell = Mapping[str, Any]
Block = Mapping[str, Cell]
"""One run of each balancer, by its name."""


def orders(args: argparse.Namespace) -> list[Order]:
    """Block by block; in each the next balancer is first."""
    found = []
    for workload in args.workloads:
        quotas = tuple(args.quotas)
        ranks = len(quotas) or args.ranks
        cluster = Cluster(Endless(WORKLOADS[workload]), args.release, ranks, args.mds_cpu, quotas=quotas)
        for run in range(1, args.runs + 1):
            first = (run - 1) % len(args.balancers)
            turned = [*args.balancers[first:], *args.balancers[:first]]
            found += [Order(cluster, balancer, run, args.seconds) for balancer in turned]
    return found


def whole(cell: Cell) -> float:
    """op/s of the whole run."""
    return figures.throughput(cell, cell["spans"]["run"])


def later(cell: Cell) -> float:
    """op/s from the sixtieth second on."""
    return figures.throughput(cell, _later(cell))


def _later(cell: Cell) -> tuple[float, float]:
    began, ended = cell["spans"]["run"]
    return began + LATER_S, ended


def even_after(cell: Cell) -> float:
    """s until IF, of loads over ten seconds, stays below 0.1; infinite: never."""
    span = cell["spans"]["run"]
    factor = [
        (t, x)
        for t, x in figures.imbalance(cell, cell["capacity"])
        if span[0] + figures.WINDOW_S < t <= span[1]
    ]
    above = [t for t, x in factor if x >= EVEN]
    if not above:
        return 0.0
    return math.inf if above[-1] >= factor[-1][0] else above[-1] - span[0]


def ratio(block: Block, other: str, of: Callable[[Cell], float]) -> float | None:
    """Of ours to another; None: one of both is not there."""
    if OURS not in block or other not in block or not of(block[other]):
        return None
    return of(block[OURS]) / of(block[other])


def report(cells: Sequence[Cell]) -> str:
    """A row a workload, the median of the blocks; then the geometric means."""
    table = PrettyTable(
        [
            *("load", "blocks", "op/s", "/ oracle", "/ oracle from 60 s", "/ built-in", "/ built-in to auth"),
            *("s until even", "inodes moved", "inodes moved from 60 s"),
        ]
    )
    table.set_style(TableStyle.MARKDOWN)
    columns: dict[str, list[float]] = {"oracle": [], "later": [], "builtin": [], "builtin-to-auth": []}
    for workload in dict.fromkeys(str(cell["workload"]) for cell in cells):
        blocks = _blocks([cell for cell in cells if cell["workload"] == workload])
        ours = [block[OURS] for block in blocks if OURS in block]
        found = {
            "oracle": [ratio(b, "oracle", whole) for b in blocks],
            "later": [ratio(b, "oracle", later) for b in blocks],
            "builtin": [ratio(b, "builtin", whole) for b in blocks],
            "builtin-to-auth": [ratio(b, "builtin-to-auth", whole) for b in blocks],
        }
        middles = {name: _median([x for x in values if x is not None]) for name, values in found.items()}
        for name, value in middles.items():
            columns[name] += [] if value is None else [value]
        moved = [float(figures.total(cell, "exported_inodes", cell["spans"]["run"])) for cell in ours]
        late = [float(figures.total(cell, "exported_inodes", _later(cell))) for cell in ours]
        table.add_row(
            [
                *(workload, len(ours), _number(_median([whole(cell) for cell in ours]))),
                *("-" if value is None else f"{value:.2f}" for value in middles.values()),
                *(_number(_median(x)) for x in ([even_after(cell) for cell in ours], moved, late)),
            ]
        )
    means = ["-" if not values else f"{statistics.geometric_mean(values):.2f}" for values in columns.values()]
    table.add_row(["geometric mean", "", "", *means, *[""] * 3])
    return str(table.get_string())


def _blocks(cells: Sequence[Cell]) -> list[dict[str, Cell]]:
    runs = sorted({int(cell["run"]) for cell in cells})
    return [{str(cell["balancer"]): cell for cell in cells if cell["run"] == run} for run in runs]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _number(value: float | None) -> str:
    return "-" if value is None else "never" if math.isinf(value) else f"{value:,.0f}"


def _head(args: argparse.Namespace) -> str:
    alike = f"{args.ranks} ranks at {args.mds_cpu} % of a core"
    ranks = f"ranks at {', '.join(map(str, args.quotas))} % of a core" if args.quotas else alike
    return f"{ranks}, Ceph {args.release}, {args.seconds:.0f} s"


def main(argv: Sequence[str]) -> int:
    """Measure what is missing, then report; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.bench.cold", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    add_names(parser, "workloads", list(WORKLOADS), MATRIX)
    add_options(parser, BALANCERS, mds_cpu=12, runs=3)
    parser.set_defaults(out=OUT)
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument(
        "--quotas",
        type=int,
        nargs="+",
        default=[],
        metavar="PERCENT",
        help="of a core, rank by rank, in place of --ranks and --mds-cpu",
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="of a run (default: %(default)s)")
    args = parser.parse_args(argv)

    def work() -> None:
        wanted = orders(args)
        failures = runner.run(wanted, args.out)
        there = (order.key for order in wanted if store.path_of(args.out, order.key).exists())
        text = report([store.load(args.out, key) for key in there])
        (args.out / "cold.md").write_text(f"{_head(args)}; medians of the blocks\n\n{text}\n")
        print(text)
        if failures:
            raise LabError(f"{len(failures)} cells failed: {'; '.join(failures)}")

    return exit_status("cold", work, "finished cells are kept, and not run again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
