# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the reference load take the machine out of a figure? `python3 -m experiments.reference_load`.

Twenty equal cells: the correction is fitted on ten and judged on the other ten. It is dropped where it does
not make their spread smaller. Cells that are there are not run again.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from experiments.common.cells import runner, store
from experiments.common.cells.options import add_options, program
from experiments.common.cells.order import Cluster, Order
from experiments.common.figures.correction import CELLS, RESULT, fitted
from experiments.common.measurement import about, exit_status, save
from experiments.common.workloads import WORKLOADS
from experiments.common.workloads.endless import Endless
from lab.errors import LabError
from lab.sandbox import checkout


def main(argv: Sequence[str]) -> int:
    """Measure what is missing, then fit and judge; the exit status."""
    parser = program("experiments.reference_load", __doc__)
    add_options(parser, ["oracle"], mds_cpu=12, runs=CELLS)
    parser.set_defaults(out=Path("docs/results/reference"))
    parser.add_argument("--workload", choices=list(WORKLOADS), default="zipf")
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="of a cell (default: %(default)s)")
    args = parser.parse_args(argv)
    cluster = Cluster(Endless(WORKLOADS[args.workload]), args.release, args.ranks, args.mds_cpu)
    runs = range(1, args.runs + 1)
    orders = [Order(cluster, balancer, run, args.seconds) for balancer in args.balancers for run in runs]

    def work() -> None:
        head = about("experiments.reference_load", argv)
        failures = runner.run(orders, args.out)
        if failures:
            raise LabError("; ".join(failures))
        correction = fitted([store.load_of(args.out, order) for order in orders])
        save(checkout() / RESULT, {**head, "said": str(correction), "correction": asdict(correction)})
        print(correction)

    return exit_status("experiments.reference_load", work, "finished cells are kept, and not run again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
