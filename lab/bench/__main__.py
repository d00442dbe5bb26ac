# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m lab bench`: balancers against each other, on real clusters, one cell after another."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lab import releases
from lab.bench import report, store
from lab.bench.balancers import BALANCERS
from lab.bench.balancers import MATRIX as MATRIX_BALANCERS
from lab.bench.cell import ResetError, measure
from lab.bench.order import Cluster, Order
from lab.bench.stage import Stage
from lab.bench.workloads import MATRIX as MATRIX_WORKLOADS
from lab.bench.workloads import WORKLOADS
from lab.errors import LabError
from lab.measurement import exit_status
from lab.progress import ConsoleProgress
from mds.build import built

OUT = Path("docs/results/bench")


def main(argv: Sequence[str]) -> int:
    """Run what is missing of the matrix, then write tables and pictures; the exit status."""
    args = _arguments(argv)

    def work() -> None:
        orders = _orders(args)
        failures = [] if args.report_only else _run(orders, args.out)
        report.write(args.out, [order.key for order in orders])
        if failures:
            raise LabError(f"{len(failures)} cells failed: {'; '.join(failures)}")

    return exit_status("bench", work, "finished cells are kept, and not run again")


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m lab bench", description=__doc__, allow_abbrev=False)
    names = {
        "workloads": (list(WORKLOADS), list(MATRIX_WORKLOADS)),
        "balancers": (list(BALANCERS), list(MATRIX_BALANCERS)),
    }
    for option, (known, default) in names.items():
        parser.add_argument(
            f"--{option}",
            nargs="+",
            choices=known,
            default=default,
            metavar="NAME",
            help=f"of {', '.join(known)}; default: {' '.join(default)}",
        )
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--hook", action="store_true", help="MDSs with the hook for all balancers (make mds)")
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument("--mds-cpu", type=int, default=12, metavar="PERCENT", help="of a core, each MDS")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--seconds",
        type=float,
        default=75.0,
        help="of a phase; clients that end by themselves may take twice as long (default: %(default)s)",
    )
    parser.add_argument("--report-only", action="store_true", help="measure nothing, report what there is")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="default: %(default)s")
    return parser.parse_args(argv)


def _orders(args: argparse.Namespace) -> list[Order]:
    """All runs of a cluster's cells together, first runs of all workloads first."""
    balancers = args.balancers
    if any(BALANCERS[name].hook for name in balancers) and not args.report_only:
        try:
            built(args.release)
        except LabError as e:
            print(f"left out: {', '.join(n for n in balancers if BALANCERS[n].hook)}: {e}", flush=True)
            balancers = [name for name in balancers if not BALANCERS[name].hook]
    return [
        Order(
            Cluster(
                workload=WORKLOADS[workload],
                release=args.release,
                ranks=args.ranks,
                mds_cpu=args.mds_cpu,
                hook=args.hook or hook,
            ),
            balancer=balancer,
            run=run,
            seconds=args.seconds,
        )
        for run in range(1, args.runs + 1)
        for workload in args.workloads
        for hook in (False, True)
        for balancer in balancers
        if BALANCERS[balancer].hook == hook
    ]


def _run(orders: Sequence[Order], out: Path) -> list[str]:
    """Measure what is missing; sentences about what failed."""
    missing = [order for order in orders if not store.path_of(out, order.key).exists()]
    runner = _Runner(out, len(missing))
    # One run of everything first; then a cluster serves all further runs.
    for first in (True, False):
        for cluster in dict.fromkeys(order.cluster for order in missing):
            cells = [order for order in missing if order.cluster == cluster and (order.run == 1) == first]
            while cells:
                cells = runner.some(cells)
    return runner.failures


class _Runner:
    """Keeps count."""

    def __init__(self, out: Path, total: int) -> None:
        self.failures: list[str] = []
        self._out, self._total, self._finished = out, total, 0
        self._began = time.monotonic()
        self._progress = ConsoleProgress()

    def some(self, cells: list[Order]) -> list[Order]:
        """Measure cells on one cluster, as long as it is good for it; those that are left."""
        left, order = list(cells), cells[0]
        analyze = any(order.balancer == "line" for order in cells)
        try:
            with Stage(order.cluster, analyze=analyze, progress=self._progress) as stage:
                while left:
                    order = left.pop(0)
                    self._announce(order)
                    store.save(self._out, measure(stage, order))
                    if order.cluster.workload.fresh:
                        break
        except ResetError as e:
            store.save(self._out, e.cell)
            print(f"{order.key} is measured, but its cluster is given up: {e}", flush=True)
        except LabError as e:
            left = [other for other in left if other != order]
            self.failures.append(f"{order.key}: {e}")
            print(f"{order.key} failed: {e}", flush=True)
        return left

    def _announce(self, order: Order) -> None:
        left = ""
        if self._finished:
            each = (time.monotonic() - self._began) / self._finished
            left = f", about {each * (self._total - self._finished) / 60:.0f} min left"
        self._finished += 1
        print(f"{order.key}: {self._finished} of {self._total}{left}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
