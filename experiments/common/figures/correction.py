# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures corrected by the reference load beside a cell, once that has shown to make them steadier."""

import functools
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from experiments.common.figures import figures
from experiments.common.figures.figures import Cell
from lab.errors import LabError
from lab.sandbox import checkout

RESULT = Path("docs/results/reference.json")
CELLS = 20
_BY_CHANCE = 0.05


@dataclass(frozen=True)
class Correction:
    """op/s as they would be on a machine of one speed."""

    exponent: float  # of the reference load's speed
    at: float  # units in a second of CPU that figures are brought to
    before: float  # standard deviation of log op/s of the ten that judge, as measured
    after: float  # the same, corrected
    chance: float  # how likely so much less is if it brings nothing

    @property
    def kept(self) -> bool:
        """Whether it makes the spread smaller, beyond chance."""
        return self.chance < _BY_CHANCE

    def of(self, ops: float, units: float) -> float:
        """op/s, corrected, of a run beside which the reference load did so many units in a second of CPU."""
        return ops * math.pow(self.at / units, self.exponent)

    def __str__(self) -> str:
        """In a sentence."""
        verdict = "kept" if self.kept else "dropped"
        spread = f"{100 * self.before:.1f} %, corrected by {100 * self.after:.1f} %"
        sure = f"exponent {self.exponent:.2f}; chance {100 * self.chance:.1f} %"
        return f"{verdict}: the cells that judge spread by {spread} ({sure})"


def speed(cell: Cell) -> float | None:
    """What the reference load did in a second of CPU while a cell ran, units; None: it has none.

    By its CPU, and not by the clock: what of a second its quota gave it says nothing of the machine.
    """
    spans = cell["spans"].values()
    inside = [row[1:] for row in cell.get("reference", ()) if any(a < row[0] <= b for a, b in spans)]
    cpu = sum(used for _, used in inside)
    return sum(units for units, _ in inside) / cpu if cpu else None


def fitted(cells: Sequence[Cell]) -> Correction:
    """By twenty equal cells, in the order of time: every second one judges.

    :raises LabError: they are not twenty, not equal, or one has no reference load
    """
    kinds = {str(cell["key"]).rpartition("-")[0] for cell in cells}
    if len(cells) != CELLS or len(kinds) != 1:
        raise LabError(f"{len(cells)} cells of {len(kinds)} kinds are there: it takes {CELLS} of one kind")
    seen = measured(sorted(cells, key=lambda cell: str(cell["date"])))
    return judged(seen[::2], seen[1::2])


Seen = tuple[float, float]
"""op/s of a cell, and units that the reference load did in a second of CPU."""


def measured(cells: Sequence[Cell]) -> list[Seen]:
    """Of each cell. :raises LabError: one has no reference load"""
    seen = []
    for cell in cells:
        units = speed(cell)
        if not units:
            raise LabError(f"{cell['key']} has no reference load")
        seen.append((figures.throughput(cell, cell["spans"]["run"]), units))
    return seen


def judged(fit: Sequence[Seen], judge: Sequence[Seen]) -> Correction:
    """Fitted on some cells, and judged by others. :raises LabError: there is nothing to correct"""
    speeds = [math.log(units) for _, units in fit]
    if len(set(speeds)) == 1:
        raise LabError("the reference load was equally fast in all cells: there is nothing to correct")
    exponent = float(stats.linregress(speeds, [math.log(ops) for ops, _ in fit]).slope)
    unjudged = Correction(exponent, statistics.geometric_mean(units for _, units in fit), 0.0, 0.0, 1.0)
    before = [math.log(ops) for ops, _ in judge]
    after = [math.log(unjudged.of(ops, units)) for ops, units in judge]
    # Pitman and Morgan, as these are pairs: sums and differences go together where one spread is the larger.
    sums, less = ([b + sign * a for b, a in zip(before, after, strict=True)] for sign in (1, -1))
    chance = float(stats.pearsonr(sums, less, alternative="greater").pvalue)
    return Correction(exponent, unjudged.at, statistics.stdev(before), statistics.stdev(after), chance)


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
