# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the reference load take the machine out of a figure? `python3 -m lab.bench.reference`.

Twenty equal cells: the correction is fitted on ten and judged on the other ten. It is dropped where it does
not make their spread smaller. Cells that are there are not run again.
"""

import argparse
import functools
import json
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy import stats

from lab.bench import figures, runner, store
from lab.bench.figures import Cell
from lab.bench.options import add_options
from lab.bench.order import Cluster, Order
from lab.bench.workloads import WORKLOADS
from lab.bench.workloads.endless import Endless
from lab.errors import LabError
from lab.measurement import about, exit_status, save
from lab.sandbox import checkout

RESULT = Path("docs/results/reference.json")
CELLS = 20


@dataclass(frozen=True)
class Correction:
    """op/s as they would be on a machine of one speed."""

    exponent: float  # of the reference load's speed
    at: float  # units/s that figures are brought to
    before: float  # standard deviation of log op/s of the ten that judge, as measured
    after: float  # the same, corrected

    @property
    def kept(self) -> bool:
        """Whether it makes the spread smaller."""
        return self.after < self.before

    def of(self, ops: float, units: float) -> float:
        """op/s, corrected, of a run beside which the reference load did so many units a second."""
        return ops * math.pow(self.at / units, self.exponent)

    def __str__(self) -> str:
        """In a sentence."""
        verdict = "kept" if self.kept else "dropped"
        spread = f"{100 * self.before:.1f} % as measured, {100 * self.after:.1f} % corrected"
        return f"{verdict}: the spread of the cells that judge is {spread} (exponent {self.exponent:.2f})"


def speed(cell: Cell) -> float | None:
    """Units/s of the reference load while a cell ran; None: it has none."""
    spans = cell["spans"].values()
    inside = [row[1] for row in cell.get("reference", ()) if any(a < row[0] <= b for a, b in spans)]
    return statistics.fmean(inside) if inside else None


def fitted(cells: Sequence[Cell]) -> Correction:
    """By twenty equal cells, in the order of time: every second one judges.

    :raises LabError: they are not twenty, not equal, or one has no reference load
    """
    kinds = {str(cell["key"]).rpartition("-")[0] for cell in cells}
    if len(cells) != CELLS or len(kinds) != 1:
        raise LabError(f"{len(cells)} cells of {len(kinds)} kinds are there: it takes {CELLS} of one kind")
    seen = []
    for cell in sorted(cells, key=lambda cell: str(cell["date"])):
        units = speed(cell)
        if not units:
            raise LabError(f"{cell['key']} has no reference load")
        seen.append((figures.throughput(cell, cell["spans"]["run"]), units))
    fit, judge = seen[::2], seen[1::2]
    speeds = [math.log(units) for _, units in fit]
    if len(set(speeds)) == 1:
        raise LabError("the reference load was equally fast in all cells: there is nothing to correct")
    exponent = float(stats.linregress(speeds, [math.log(ops) for ops, _ in fit]).slope)
    unjudged = Correction(exponent, statistics.geometric_mean(units for _, units in fit), 0.0, 0.0)
    return Correction(
        exponent,
        unjudged.at,
        before=statistics.stdev(math.log(ops) for ops, _ in judge),
        after=statistics.stdev(math.log(unjudged.of(ops, units)) for ops, units in judge),
    )


@functools.cache
def kept() -> Correction | None:
    """The correction that figures are shown with; None: it was not fitted yet, or dropped."""
    path = checkout() / RESULT
    if not path.exists():
        return None
    found = Correction(**json.loads(path.read_text())["correction"])
    return found if found.kept else None


def corrected(cell: Cell, ops: float) -> float | None:
    """op/s on a machine of one speed; None: there is no correction, or the cell has no reference load."""
    correction, units = kept(), speed(cell)
    return correction.of(ops, units) if correction and units else None


def main(argv: Sequence[str]) -> int:
    """Measure what is missing, then fit and judge; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.bench.reference",
        description=(__doc__ or "").partition("\n")[0],
        allow_abbrev=False,
    )
    add_options(parser, ["oracle"], mds_cpu=12, runs=CELLS)
    parser.set_defaults(out=Path("docs/results/reference"))
    parser.add_argument("--workload", choices=list(WORKLOADS), default="zipf")
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="of a cell (default: %(default)s)")
    args = parser.parse_args(argv)
    cluster = Cluster(Endless(WORKLOADS[args.workload]), args.release, args.ranks, args.mds_cpu)
    orders = [
        Order(cluster, balancer, run, args.seconds)
        for balancer in args.balancers
        for run in range(1, args.runs + 1)
    ]

    def work() -> None:
        head = about("lab.bench.reference", argv)
        failures = runner.run(orders, args.out)
        if failures:
            raise LabError("; ".join(failures))
        correction = fitted([store.load(args.out, order.key) for order in orders])
        save(checkout() / RESULT, {**head, "said": str(correction), "correction": asdict(correction)})
        print(correction)

    return exit_status("reference", work, "finished cells are kept, and not run again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
