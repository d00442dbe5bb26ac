# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m experiments.matrix`: balancers against each other, on real clusters, one cell after another."""

import argparse
import sys
from collections.abc import Sequence

from experiments.common.balancers.balancers import BALANCERS
from experiments.common.balancers.balancers import MATRIX as MATRIX_BALANCERS
from experiments.common.cells import runner
from experiments.common.cells.options import add_names, add_options, program
from experiments.common.cells.order import Cluster, Order, rotated
from experiments.common.measurement import exit_status
from experiments.common.pictures import PICTURES
from experiments.common.workloads import MATRIX as MATRIX_WORKLOADS
from experiments.common.workloads import WORKLOADS
from experiments.matrix import report
from lab.errors import LabError
from mds.build import OPTIMIZED, built


def main(argv: Sequence[str]) -> int:
    """Run what is missing of the matrix, then write tables and pictures; the exit status."""
    args = _arguments(argv)

    def work() -> None:
        orders = _orders(args)
        failures = [] if args.report_only else runner.run(orders, args.out)
        report.write(args.out, PICTURES, [order.key for order in orders])
        if failures:
            raise LabError(f"{len(failures)} cells failed: {'; '.join(failures)}")

    return exit_status("experiments.matrix", work, "finished cells are kept, and not run again")


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = program("experiments.matrix", __doc__)
    add_names(parser, "workloads", list(WORKLOADS), MATRIX_WORKLOADS)
    add_options(parser, MATRIX_BALANCERS, mds_cpu=12, runs=3)
    parser.add_argument("--hook", action="store_true", help="MDSs with the hook for all balancers (make mds)")
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument(
        "--seconds",
        type=float,
        default=75.0,
        help="of a phase; clients that end by themselves may take twice as long (default: %(default)s)",
    )
    parser.add_argument("--report-only", action="store_true", help="measure nothing, report what there is")
    return parser.parse_args(argv)


def _orders(args: argparse.Namespace) -> list[Order]:
    """First runs of all workloads first; then a cluster serves all further runs of its cells."""
    balancers = args.balancers
    if any(BALANCERS[name].hook for name in balancers) and not args.report_only:
        try:
            built(args.release, OPTIMIZED)
        except LabError as e:
            print(f"left out: {', '.join(n for n in balancers if BALANCERS[n].hook)}: {e}", flush=True)
            balancers = [name for name in balancers if not BALANCERS[name].hook]
    return [
        Order(
            Cluster(WORKLOADS[workload], args.release, args.ranks, args.mds_cpu, args.hook or hook),
            balancer,
            run,
            args.seconds,
        )
        for runs in (range(1, 2), range(2, args.runs + 1))
        for workload in args.workloads
        for hook in (False, True)
        for run in runs
        for balancer in rotated(balancers, run)
        if BALANCERS[balancer].hook == hook
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
