# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every balancer under one condition, clients that work for a fixed time. `python3 -m lab.bench.cold`.

cold: all on rank 0, nothing known. settled: each balancer had the load for five minutes before the clock.
Blocks of one run of each balancer, the order rotated; ratios are within a block. The oracle's pins are in
place before in both; other static placements count when settled only. Cells that are there are not run again.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prettytable import PrettyTable, TableStyle

from lab.bench import compare, figures, reference, run_figures, runner, store, summary
from lab.bench.balancers import BALANCERS
from lab.bench.interval import shown
from lab.bench.options import add_names, add_options
from lab.bench.order import Cluster, Order, rotated
from lab.bench.workloads import MATRIX, WORKLOADS
from lab.bench.workloads.endless import Endless
from lab.errors import LabError
from lab.measurement import exit_status
from lab.provenance import age

COMPARED = ("scheduler", "builtin", "builtin-to-auth", "oracle")
COLD, SETTLED, SETTLED_S = "cold", "settled", 300.0
OUT = Path("docs/results/scheduler")
OURS, LATER_S, EVEN = "scheduler", 60.0, 0.1
_BESIDE_S = 60.0  # a cell's start, pins, and way back to rank 0, and its part of the cluster's start

Cell = Mapping[str, Any]
Block = Mapping[str, Cell]
"""One run of each balancer, by its name."""


def orders(args: argparse.Namespace) -> list[Order]:
    """Block by block; in each the next balancer is first. :raises LabError: one has no place when cold"""
    static = [name for name in args.balancers if BALANCERS[name].static and name != compare.LIMIT]
    if args.condition == COLD and static:
        raise LabError(f"{', '.join(static)}: placed before the clock, so with --condition {SETTLED} only")
    quotas, settled = tuple(args.quotas), args.before if args.condition == SETTLED else 0.0
    found = []
    for run in range(1, args.runs + 1):
        for workload in args.workloads:
            for balancer in rotated(args.balancers, run):
                hook = BALANCERS[balancer].hook
                of, ranks = Endless(WORKLOADS[workload]), len(quotas) or args.ranks
                cluster = Cluster(of, args.release, ranks, args.mds_cpu, hook, quotas=quotas)
                found.append(Order(cluster, balancer, run, args.seconds, settled))
    return found


def left(missing: Sequence[Order]) -> str:
    """What is not measured yet, and how long it takes."""
    if not missing:
        return "everything is measured"
    seconds = sum(order.settled + order.limit + _BESIDE_S for order in missing)
    names = ", ".join(order.key for order in missing)
    return f"not measured yet, about {seconds / 3600:.1f} h: {names}"


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


def moved(cell: Cell) -> float:
    """Inodes that came to another rank."""
    return float(figures.total(cell, "exported_inodes", cell["spans"]["run"]))


def ratio(block: Block, other: str, of: Callable[[Cell], float]) -> float | None:
    """Of ours to another; None: one of both is not there, or does not count."""
    return between(block, OURS, other, of)


def between(block: Block, ours: str, other: str, of: Callable[[Cell], float]) -> float | None:
    """Of one to another, as above."""
    pair = [block[name] for name in (ours, other) if name in block]
    if len(pair) < 2 or not all(map(run_figures.counts, pair)) or not of(pair[1]):
        return None
    return of(pair[0]) / of(pair[1])


def beside(cells: Sequence[Cell], workloads: Sequence[str], balancers: Sequence[str]) -> str:
    """A row a workload, a column a balancer: op/s, beside the built-in one's; what is missing says so."""
    lines = []
    for workload in workloads:
        blocks = _blocks([cell for cell in cells if cell["workload"] == workload])
        lines.append([workload, *(_beside(blocks, name) for name in balancers)])
    return compare.table(["op/s (/ built-in)", *balancers], lines)


def _beside(blocks: Sequence[Block], name: str) -> str:
    mine = [block[name] for block in blocks if name in block]
    if not mine:
        return "not measured"
    good = [cell for cell in mine if run_figures.counts(cell)]
    if not good:
        return f"none of {len(mine)} counts"
    text = number(_median([whole(cell) for cell in good]))
    fixed = [ops for cell in good if (ops := reference.corrected(cell, whole(cell))) is not None]
    text += f", corrected {number(_median(fixed))}" if fixed else ""
    if name == compare.BASE:
        return text
    ratios = [between(block, name, compare.BASE, whole) for block in blocks]
    known = [ratio for ratio in ratios if ratio is not None]
    pairs = sum(name in block and compare.BASE in block for block in blocks)
    return f"{text} ({shown(known, pairs - len(known))})" if pairs else text


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
        ours = [block[OURS] for block in blocks if OURS in block and run_figures.counts(block[OURS])]
        found = {
            "oracle": [ratio(b, "oracle", whole) for b in blocks],
            "later": [ratio(b, "oracle", later) for b in blocks],
            "builtin": [ratio(b, "builtin", whole) for b in blocks],
            "builtin-to-auth": [ratio(b, "builtin-to-auth", whole) for b in blocks],
        }
        middles = {name: _median([x for x in values if x is not None]) for name, values in found.items()}
        for name, value in middles.items():
            columns[name] += [] if value is None else [value]
        late = [float(figures.total(cell, "exported_inodes", _later(cell))) for cell in ours]
        table.add_row(
            [
                *(workload, len(ours), number(_median([whole(cell) for cell in ours]))),
                *("-" if value is None else f"{value:.2f}" for value in middles.values()),
                *(
                    number(_median(x))
                    for x in ([even_after(cell) for cell in ours], [moved(cell) for cell in ours], late)
                ),
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


def number(value: float | None) -> str:
    """As tables show it."""
    return "-" if value is None else "never" if math.isinf(value) else f"{value:,.0f}"


def _head(args: argparse.Namespace) -> str:
    alike = f"{args.ranks} ranks at {args.mds_cpu} % of a core"
    ranks = f"ranks at {', '.join(map(str, args.quotas))} % of a core" if args.quotas else alike
    settled = (
        f", each balancer had the load for {args.before:.0f} s before" if args.condition == SETTLED else ""
    )
    return f"{ranks}, Ceph {args.release}, {args.seconds:.0f} s, {args.condition}{settled}"


def _figures(cells: Sequence[Cell]) -> str:
    """A table a workload, of every figure: median (lowest to highest) of the runs that count."""
    parts = []
    for workload in dict.fromkeys(str(cell["workload"]) for cell in cells):
        mine = [cell for cell in cells if cell["workload"] == workload]
        parts.append(f"## {workload}\n\n{summary.table(mine)}")
    return "\n\n".join(parts)


def _missing(wanted: Sequence[Order], out: Path) -> list[Order]:
    return [order for order in wanted if not store.path_of(out, order.key).exists()]


def main(argv: Sequence[str]) -> int:
    """Measure what is missing, then report; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.bench.cold", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    add_names(parser, "workloads", list(WORKLOADS), MATRIX)
    add_options(parser, COMPARED, mds_cpu=12, runs=3)
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
    parser.add_argument("--condition", choices=(COLD, SETTLED), default=COLD, help="default: %(default)s")
    parser.add_argument(
        "--before",
        type=float,
        default=SETTLED_S,
        metavar="SECONDS",
        help="that a settled balancer had the load for (default: %(default)s)",
    )
    parser.add_argument(
        "--report-only", action="store_true", help="measure nothing: what there is, and what is missing"
    )
    args = parser.parse_args(argv)

    def work() -> None:
        wanted = orders(args)
        print(left(_missing(wanted, args.out)), flush=True)
        failures = [] if args.report_only else runner.run(wanted, args.out)
        missing = _missing(wanted, args.out)
        cells = [store.load(args.out, order.key) for order in wanted if order not in missing]
        tables = [
            report(cells),
            beside(cells, args.workloads, args.balancers),
            age(cells),
            f"{left(missing)}.",
        ]
        args.out.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join([f"{_head(args)}; medians of the blocks", *filter(None, tables)])
        (args.out / f"{args.condition}.md").write_text(f"{text}\n")
        (args.out / f"{args.condition}-figures.md").write_text(f"{_head(args)}\n\n{_figures(cells)}\n")
        print(text)
        if failures:
            raise LabError(f"{len(failures)} cells failed: {'; '.join(failures)}")

    return exit_status("cold", work, "finished cells are kept, and not run again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
