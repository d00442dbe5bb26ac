# SPDX-License-Identifier: LGPL-2.1-or-later
"""The blocks from cold as they would be on a machine of one speed, and how far to believe that."""

import math
import statistics
from collections.abc import Sequence

from docs.claims import blocks
from docs.claims.blocks import NAMES, TO_AUTH
from docs.claims.claim import Claim, Claims, shown, span
from docs.claims.results import Results
from experiments.common.figures import correction, markdown
from experiments.common.figures.compare import LIMIT
from experiments.common.figures.figures import Cell
from experiments.common.figures.limits import limits
from experiments.common.figures.windows import SECONDS, Window, about_their_run, windows
from experiments.conditions import tables
from experiments.conditions.tables import OURS, Block

_JUDGES = (TO_AUTH, LIMIT)
"""Whose runs judge: least moves in these, and what ranks are asked for stays the same."""


def _ratios(block: Block, other: str) -> list[float | None]:
    """As measured, and corrected."""
    known = blocks.has_speed((block[OURS], block[other]))
    fixed = tables.ratio(block, other, blocks.corrected) if known else None
    return [tables.ratio(block, other, tables.whole), fixed]


def _runs(block: Block) -> str:
    """Whose runs, one after the other, and the machine's speed beside each, of the scheduler's in parts."""
    own = correction.speed(block[OURS])
    told = []
    for name in sorted(NAMES, key=lambda name: str(block[name]["date"])):
        speed = correction.speed(block[name])
        told.append(f"{name} {speed / own:.2f}" if speed and own else name)
    return ", ".join(told)


def _row(block: Block) -> list[str]:
    ratios = [shown(ratio) for other in NAMES[1:] for ratio in _ratios(block, other)]
    return [blocks.load(block), blocks.commit(block), _runs(block), *ratios]


def _one_speed(results: Results) -> Claim:
    """All blocks of five minutes, the newest of a load first; and the seven's mean, of the newest."""
    found = [block for of in blocks.by_load(results).values() for block in of]
    seven = [block for block in blocks.last(results) if blocks.load(block) in blocks.SEVEN]
    means = []
    for other in NAMES[1:]:
        counted = [b for b in seven if other != LIMIT or blocks.load(b) not in blocks.NO_LIMIT]
        means += [blocks.mean([_ratios(b, other)[i] for b in counted], len(seven)) for i in (0, 1)]
    head = ["load", "commit", "runs in their order, and the machine's speed"]
    head += [f"/ {name}{text}" for name in NAMES[1:] for text in ("", ", corrected")]
    rows = [*map(_row, found), ["the seven, newest", "-", "-", *means]]
    return Claim(markdown.table(head, rows), [cell for block in found for cell in block.values()])


def _judges(results: Results) -> list[Cell]:
    return [
        block[name]
        for block in blocks.of_five_minutes(results)
        for name in _JUDGES
        if name in block and block[name].get("reference") and limits(block[name]).counts
    ]


def _within(results: Results) -> Claim:
    """Whether the correction that was fitted on other cells makes what MDSs serve steadier within a run, and
    which exponent would fit there."""
    kept = correction.kept()
    cells = _judges(results)
    runs = [found for cell in cells if len(found := windows(cell)) > 1]
    spread = [statistics.stdev(about_their_run(runs, by)) for by in (0.0, kept.exponent if kept else 0.0)]
    of = f"{sum(map(len, runs))} windows of {SECONDS:.0f} s of {len(runs)} runs"
    text = f"{100 * spread[0]:.1f} %, corrected by {100 * spread[1]:.1f} % ({of}; exponent {_fits(runs):.2f})"
    return Claim(text, cells, table=False)


def _fits(runs: Sequence[Sequence[Window]]) -> float:
    """The exponent by all windows, each about its run's mean."""
    speeds = [x for run in runs for x in _about_mean([math.log(window.speed) for window in run])]
    served = [x for run in runs for x in _about_mean([math.log(window.served) for window in run])]
    return statistics.linear_regression(speeds, served, proportional=True).slope


def _about_mean(values: Sequence[float]) -> list[float]:
    mean = statistics.fmean(values)
    return [value - mean for value in values]


def _halves(results: Results) -> Claim:
    """The test of the correction, with either half of the cells as its judge."""
    cells = sorted(results.cells("reference/*"), key=lambda cell: str(cell["date"]))
    rows = []
    for name, those in ((f"all {len(cells)}", cells), ("those that count", _counting(cells))):
        seen = correction.measured(those)
        for how, fit, judge in (("", seen[::2], seen[1::2]), (", halves exchanged", seen[1::2], seen[::2])):
            found = correction.judged(fit, judge)
            spread = f"{100 * found.before:.1f} %", f"{100 * found.after:.1f} %"
            rows.append([f"{name}{how}", f"{found.exponent:.2f}", *spread, f"{100 * found.chance:.2g} %"])
    return Claim(markdown.table(["cells", "exponent", "spread", "corrected", "chance"], rows), cells)


def _counting(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if limits(cell).counts]


def _speeds(results: Results) -> Claim:
    """Between which speeds of the machine the exponent was fitted, and how many runs had another one."""
    fitted = [units for _, units in correction.measured(results.cells("reference/*"))]
    cells = [cell for block in blocks.of_five_minutes(results) for cell in block.values()]
    runs = [units for cell in cells if (units := correction.speed(cell))]
    outside = sum(not min(fitted) <= units <= max(fitted) for units in runs)
    text = f"{span(fitted, ',.0f', 'the reference')} units; of {len(runs)} runs of five minutes {outside}"
    return Claim(f"{text} have less or more, {span(runs, ',.0f', 'the blocks')}", cells, table=False)


def _order(results: Results) -> Claim:
    """How much quicker the machine was beside a block's first run than beside its last, and its worth."""
    logs, cells = [], list[Cell]()
    for block in blocks.of_five_minutes(results):
        first, *_, last = sorted(block.values(), key=lambda cell: str(cell["date"]))
        mine, its = correction.speed(first), correction.speed(last)
        if mine and its:
            logs.append(math.log(mine / its))
            cells += [first, last]
    quicker, kept = statistics.fmean(logs), correction.kept()
    worth = quicker * kept.exponent if kept else 0.0
    return Claim(f"{100 * quicker:.0f} % quicker, worth {100 * worth:.0f} %", cells, table=False)


CLAIMS: Claims = {
    "scheduler-one-speed": _one_speed,
    "reference-within": _within,
    "reference-halves": _halves,
    "reference-speeds": _speeds,
    "reference-order": _order,
}
