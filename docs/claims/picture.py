# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's blocks from cold as a picture: over the built-in balancer, and over the oracle."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.claims import blocks, noise
from docs.claims.blocks import Block
from docs.claims.results import Results
from experiments.common.figures.compare import LIMIT
from experiments.common.pictures import COLOURS, canvas
from experiments.conditions import tables
from experiments.conditions.tables import OURS

PLACE = Path("docs/results/scheduler/ratios.png")
_TITLE = "The scheduler from cold: a dot a block; filled: the newest; large: corrected for the machine"
_SIZES = {blocks.OPS: 18.0, blocks.CORRECTED: 55.0}
_HALF = 0.12  # of a row, that dots of a block are apart from the next one's


def _over_oracle(block: Block, of: blocks.Measure) -> float | None:
    limited = blocks.load(block) not in blocks.NO_LIMIT
    return tables.ratio(block, LIMIT, of) if limited else None


PANELS: tuple[tuple[str, blocks.Ratio], ...] = (
    ("op/s over the better built-in balancer", blocks.over_better),
    ("op/s over the oracle, which was placed before", _over_oracle),
)


def draw(results: Results, path: Path) -> None:
    """Loads from top to bottom, as far as one of their blocks counts in a panel."""
    by_load = blocks.by_load(results)
    shown = {
        load: [[blocks.by_measure(block, of) for block in found] for _, of in PANELS]
        for load, found in by_load.items()
    }
    loads = [load for load, panels in shown.items() if any(map(any, panels))]
    chance = noise.factor(results)
    size = (11.0, 0.42 * len(loads) + 1.4)
    with canvas(1, len(PANELS), _TITLE, path, sharey=True, figsize=size) as axes:
        for panel, (one, (name, _)) in enumerate(zip(axes.flat, PANELS, strict=True)):
            one.axvspan(1 / chance, chance, color="#eeeeee", zorder=0)
            one.axvline(1.0, color="#777777", linewidth=1.0)
            for row, load in enumerate(loads):
                _dots(one, row, shown[load][panel])
            one.set_xscale("log")
            one.set_xticks([0.6, 0.8, 1.0, 1.25, 1.5, 2.0], ["0.6", "0.8", "1", "1.25", "1.5", "2"])
            one.minorticks_off()
            one.set_xlabel(f"{name}; grey: may be chance")
        axes.flat[0].set_yticks(range(len(loads)), loads)
        axes.flat[0].invert_yaxis()


def _dots(axes: Any, row: int, found: Sequence[Mapping[str, float]]) -> None:
    """Of a load, the newest block first; the older, the lower."""
    step = 2 * _HALF / max(1, len(found) - 1)
    for i, ratios in enumerate(found):
        at = row - _HALF + i * step
        for measure, size in _SIZES.items():
            if measure in ratios:
                face = COLOURS[OURS] if i == 0 else "none"
                axes.scatter(
                    ratios[measure], at, s=size, facecolors=face, edgecolors=COLOURS[OURS], alpha=0.8
                )
