# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of what is claimed: of each load the ratios of all blocks, beside what can be chance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docs.claims import blocks, noise
from docs.claims.results import Results
from experiments.common.figures import compare, paper
from experiments.common.figures.compare import BASE, LIMIT
from experiments.common.pictures import COLOURS, canvas
from experiments.conditions import tables
from experiments.conditions.tables import OURS, Block

HOME = Path("docs/results")
_SMALL, _LARGE = 18.0, 55.0  # of dots
_HALF = 0.12  # of a row, that dots of a load are apart from others


@dataclass(frozen=True)
class Dot:
    """A ratio of a load. up: its place in the load's row, -1 to 1."""

    ratio: float
    up: float
    size: float
    balancer: str
    filled: bool
    mark: str = "o"


Dots = Mapping[str, Sequence[Dot]]
"""By load."""


@dataclass(frozen=True)
class Picture:
    """One, with a row a load.

    :ivar place: below HOME
    :ivar panels: by what their axis says; a load is shown as far as one of them has a dot of it
    :ivar chance: by which factor a ratio of a load may be off
    :ivar legend: the balancers that it has
    """

    place: str
    title: str
    panels: Mapping[str, Callable[[Results], Dots]]
    ticks: Sequence[float]
    chance: Callable[[Results], Callable[[str], float]]
    legend: Sequence[str] = ()

    def draw(self, results: Results, top: Path) -> None:
        """Into docs/results below ``top``."""
        shown = {says: dots(results) for says, dots in self.panels.items()}
        loads = sorted({load for dots in shown.values() for load, found in dots.items() if found})
        chance, size = self.chance(results), (11.0, 0.42 * len(loads) + 1.4)
        path = top / HOME / self.place
        with canvas(1, len(shown), self.title, path, sharey=True, figsize=size) as axes:
            for one, (says, dots) in zip(axes.flat, shown.items(), strict=True):
                one.axvline(1.0, color="#777777", linewidth=1.0)
                for row, load in enumerate(loads):
                    edges, grey = (1 / chance(load), chance(load)), {"color": "#eeeeee", "linewidth": 0}
                    one.fill_betweenx((row - 0.5, row + 0.5), *edges, zorder=0, **grey)
                    for dot in dots.get(load, ()):
                        colour = COLOURS[dot.balancer]
                        face = colour if dot.filled else "none"
                        place = dot.ratio, row - _HALF * dot.up
                        one.scatter(
                            *place, s=dot.size, marker=dot.mark, facecolors=face, edgecolors=colour, alpha=0.8
                        )
                one.set_xscale("log")
                one.set_xticks(self.ticks, [f"{tick:g}" for tick in self.ticks])
                one.minorticks_off()
                one.set_xlabel(f"{says}; grey: may be chance")
            axes.flat[0].set_yticks(range(len(loads)), loads)
            axes.flat[0].invert_yaxis()
            for name in self.legend:
                axes.flat[0].scatter([], [], s=_LARGE, color=COLOURS[name], label=name)
            if self.legend:
                axes.flat[0].legend(loc="best", fontsize="small")


def _of_blocks(balancer: str, ratio: blocks.Ratio) -> Callable[[Results], Dots]:
    """Of blocks of five minutes: the newest is filled and at the top; large: corrected; diamonds: by C."""
    marks = {blocks.OPS: (_SMALL, "o"), blocks.CORRECTED: (_LARGE, "o"), blocks.BY_C: (_SMALL, "D")}

    def dots(found: Sequence[Block]) -> list[Dot]:
        step = 2.0 / max(1, len(found) - 1)
        return [
            Dot(value, 1.0 - i * step, size, balancer, i == 0, mark)
            for i, block in enumerate(found)
            for measure, value in blocks.by_measure(block, ratio).items()
            for size, mark in (marks[measure],)
        ]

    return lambda results: {load: dots(found) for load, found in blocks.by_load(results).items()}


def _over_oracle(block: Block, of: blocks.Measure) -> float | None:
    limited = blocks.load(block) not in blocks.NO_LIMIT
    return tables.ratio(block, LIMIT, of) if limited else None


def _over_base(balancer: str) -> blocks.Ratio:
    return lambda block, of: tables.between(block, balancer, BASE, of)


def _of_matrix(balancers: Sequence[str], against: str) -> Callable[[Results], Dots]:
    """Of runs of fixed work: small: a block; large: the median."""
    ups = {name: 1.0 - 2.0 * i / max(1, len(balancers) - 1) for i, name in enumerate(balancers)}

    def of_load(results: Results, load: str) -> list[Dot]:
        ratios = {name: compare.ratio(results.rows, load, paper.OPS, name, against) for name in balancers}
        found = {name: ratio for name, ratio in ratios.items() if ratio and ratio.blocks}
        each = [Dot(one, ups[name], _SMALL, name, False) for name, of in found.items() for one in of.blocks]
        return [*each, *(Dot(of.median, ups[name], _LARGE, name, True) for name, of in found.items())]

    return lambda results: {load: of_load(results, load) for load in results.rows}


def _of_load(results: Results) -> Callable[[str], float]:
    return noise.bands(results).of


def _of_all(results: Results) -> Callable[[str], float]:
    factor = noise.factor(results)
    return lambda load: factor


_FIXED = ("subvolume-pinning", "lunule-mindex", "lunule")

PICTURES = (
    Picture(
        "scheduler/ratios.png",
        "The scheduler: a dot a block; filled: the newest; large: corrected; diamond: by op/s / C",
        {
            "op/s over the better built-in balancer": _of_blocks(OURS, blocks.over_better),
            "op/s over the oracle, which was placed before": _of_blocks(OURS, _over_oracle),
        },
        (0.6, 0.8, 1.0, 1.25, 1.5, 2.0),
        _of_load,
    ),
    Picture(
        "scheduler/option.png",
        "The option, from cold: a dot a block; filled: the newest; large: corrected; diamond: by op/s / C",
        {
            "built-in with it over built-in": _of_blocks(blocks.TO_AUTH, _over_base(blocks.TO_AUTH)),
            "oracle, which has it, over built-in": _of_blocks(LIMIT, _over_base(LIMIT)),
        },
        (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0),
        _of_load,
    ),
    Picture(
        "bench/ratios.png",
        "Runs of fixed work: pins placed before, lunule from cold; a small dot a block; large: the median",
        {
            "op/s over built-in, from cold, without the option": _of_matrix(_FIXED, BASE),
            "op/s over the oracle, which was placed before": _of_matrix(_FIXED, LIMIT),
        },
        (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
        _of_all,
        _FIXED,
    ),
)
