# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every balancer under one condition, for a fixed time: `python3 -m experiments.conditions`.

cold: all on rank 0, nothing known. settled: each balancer had the load for five minutes before the clock.
Blocks of one run of each balancer, the order rotated; ratios are within a block. The oracle's pins are in
place before in both; other static placements count when settled only. Cells that are there are not run again.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.common.balancers.balancers import BALANCERS
from experiments.common.cells import runner, store
from experiments.common.cells.options import add_names, add_options, program
from experiments.common.cells.order import Cluster, Order, rotated
from experiments.common.figures import compare
from experiments.common.measurement import exit_status
from experiments.common.provenance import age
from experiments.common.workloads import MATRIX, WORKLOADS
from experiments.common.workloads.endless import Endless
from experiments.conditions.tables import beside, every_figure, report
from lab.errors import LabError

COMPARED = ("scheduler", "builtin", "builtin-to-auth", "oracle")
COLD, SETTLED, SETTLED_S = "cold", "settled", 300.0
OUT = Path("docs/results/scheduler")
_BESIDE_S = 60.0  # a cell's start, pins, and way back to rank 0, and its part of the cluster's start


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


def _head(args: argparse.Namespace) -> str:
    alike = f"{args.ranks} ranks at {args.mds_cpu} % of a core"
    ranks = f"ranks at {', '.join(map(str, args.quotas))} % of a core" if args.quotas else alike
    settled = (
        f", each balancer had the load for {args.before:.0f} s before" if args.condition == SETTLED else ""
    )
    return f"{ranks}, Ceph {args.release}, {args.seconds:.0f} s, {args.condition}{settled}"


def main(argv: Sequence[str]) -> int:
    """Measure what is missing, then report; the exit status."""
    parser = program("experiments.conditions", __doc__)
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
        "--report",
        metavar="NAME",
        help="of its files, where commands share a folder of cells; default: the condition",
    )
    parser.add_argument(
        "--report-only", action="store_true", help="measure nothing: what there is, and what is missing"
    )
    args = parser.parse_args(argv)

    def work() -> None:
        wanted = orders(args)
        print(left(store.missing(args.out, wanted)), flush=True)
        failures = [] if args.report_only else runner.run(wanted, args.out)
        missing = store.missing(args.out, wanted)
        cells = [store.load_of(args.out, order) for order in wanted if order not in missing]
        tables = [report(cells), beside(cells, args.workloads, args.balancers)]
        notes = [age(cells), store.mixed(cells)]
        args.out.mkdir(parents=True, exist_ok=True)
        shown = [_head(args), "Medians of the blocks.", *filter(None, [*tables, *notes]), f"{left(missing)}."]
        text = "\n\n".join(shown)
        name = args.report or args.condition
        (args.out / f"{name}.md").write_text(f"{text}\n")
        every = f"{_head(args)}\n\n{every_figure(cells)}\n"
        (args.out / f"{name}-figures.md").write_text(every)
        print(text)
        if failures:
            raise LabError(f"{len(failures)} cells failed: {'; '.join(failures)}")

    return exit_status("experiments.conditions", work, "finished cells are kept, and not run again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
