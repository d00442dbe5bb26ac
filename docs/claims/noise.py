# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one ratio may be by chance, and which of the scheduler's are more than that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docs.claims import blocks
from docs.claims.blocks import TO_AUTH
from docs.claims.claim import Claim, span
from docs.claims.results import Results
from experiments.common.figures import compare, markdown, paper
from experiments.common.figures.compare import BASE, LIMIT
from experiments.common.figures.figures import Cell
from experiments.common.figures.interval import chance
from experiments.conditions import tables
from experiments.conditions.tables import OURS, Block


def factor(results: Results) -> float:
    """By which a ratio of two alike balancers is off in one case of twenty, in runs of fixed work."""
    return chance(
        [
            ratio.blocks
            for workload, rows in results.rows.items()
            for name in dict.fromkeys(row["balancer"] for row in rows if row["balancer"] != BASE)
            if (ratio := compare.ratio(results.rows, workload, paper.OPS, name, BASE))
        ]
    )


def told(results: Results) -> Claim:
    """Between what such a ratio may be."""
    return Claim(_between(factor(results)), results.matrix, table=False)


def _between(by_chance: float) -> str:
    return f"{1 / by_chance:.2f} to {by_chance:.2f}"


_UNCHANGED = {
    "built-in with the option / built-in": (TO_AUTH, BASE),
    "oracle / built-in": (LIMIT, BASE),
    "oracle / built-in with the option": (LIMIT, TO_AUTH),
}
"""Balancers that no code of ours changes: so their ratios of several blocks are of one thing."""
Repeated = Mapping[str, Mapping[str, Sequence[float]]]
"""Ratios of op/s that count, by pair and load, of loads that have more than one."""


@dataclass(frozen=True)
class Bands:
    """By which factor a ratio of five minutes is off in one case of twenty: the most of the pairs'."""

    every: float  # of all loads together
    own: Mapping[str, float]  # of a load

    def of(self, load: str) -> float:
        """A load's own, if that is the wider one: of few blocks it may be small by chance."""
        return max(self.every, self.own.get(load, 1.0))


def _repeated(results: Results) -> Repeated:
    by_load = blocks.by_load(results)
    found = {
        name: {
            load: [r for b in of if (r := tables.between(b, *pair, tables.whole))]
            for load, of in by_load.items()
        }
        for name, pair in _UNCHANGED.items()
    }
    return {name: {load: of for load, of in by.items() if len(of) > 1} for name, by in found.items()}


def bands(results: Results) -> Bands:
    """Of blocks of five minutes."""
    repeated = _repeated(results)
    own = {
        load: max(chance([of[load]]) for of in repeated.values() if load in of) for load in _loads(repeated)
    }
    return Bands(max(chance(list(of.values())) for of in repeated.values()), own)


def _loads(repeated: Repeated) -> list[str]:
    return sorted({load for of in repeated.values() for load in of})


def five(results: Results) -> Claim:
    """Between what a ratio of five minutes may be."""
    return Claim(_between(bands(results).every), _baselines(results), table=False)


def wider(results: Results) -> Claim:
    """Loads of which it may be more, and by what factor."""
    found = bands(results)
    own = (f"{load} {own:.2f}" for load, own in found.own.items() if own > found.every)
    return Claim(", ".join(own), _baselines(results), table=False)


def by_load(results: Results) -> Claim:
    """The factors by pair and load; in brackets of how many ratios."""
    repeated = _repeated(results)
    lines = [
        [load, *(_of(of[load]) if load in of else "-" for of in repeated.values())]
        for load in _loads(repeated)
    ]
    lines.append(["all", *(f"{chance(list(of.values())):.2f}" for of in repeated.values())])
    return Claim(markdown.table(["load (ratios)", *repeated], lines), _baselines(results))


def _of(ratios: Sequence[float]) -> str:
    return f"{chance([ratios]):.2f} ({len(ratios)})"


def _baselines(results: Results) -> list[Cell]:
    return [block[name] for block in blocks.of_five_minutes(results) for name in (BASE, TO_AUTH, LIMIT)]


def verdict(results: Results) -> Claim:
    """Of each load: the scheduler over the better of the built-in ones, the newest block, and all cold and
    all primed ones, and whether that is more than chance."""
    by_chance, found = bands(results), blocks.by_load(results)
    lines = [[load, *_row(of, by_chance.of(load))] for load, of in found.items()]
    head = ["load", "newest block (corrected)", "all cold blocks", "all primed blocks"]
    cells = [cell for of in found.values() for block in of for cell in block.values()]
    return Claim(markdown.table(head, lines), cells)


def _row(found: Sequence[Block], by_chance: float) -> list[str]:
    primed = "" if blocks.cold(found[0]) else ", primed"
    return [
        f"{_told(blocks.by_measure(found[0], blocks.over_better))} at {blocks.at(found[0])}{primed}",
        *(
            _all([block for block in found if blocks.cold(block) is cold], by_chance)
            for cold in (True, False)
        ),
    ]


def _all(found: Sequence[Block], by_chance: float) -> str:
    """How many count, from the least to the most by any measure, and in how many that is beyond chance."""
    values = [list(blocks.by_measure(block, blocks.over_better).values()) for block in found]
    known = [ratio for of in values for ratio in of]
    if not known:
        return f"0 of {len(found)}" if found else "-"
    text = f"{sum(map(bool, values))} of {len(values)}: {span(known, '.2f', OURS)}"
    return f"{text}, {beyond(values, by_chance)}"


def _told(found: Mapping[str, float]) -> str:
    """By op/s; in brackets corrected, and by op/s / C."""
    if not found:
        return "does not count"
    labels = ((blocks.CORRECTED, ""), (blocks.BY_C, f" by {blocks.BY_C}"))
    also = "; ".join(f"{found[name]:.2f}{text}" for name, text in labels if name in found)
    return f"{found[blocks.OPS]:.2f}" + (f" ({also})" if also else "")


def beyond(found: Sequence[Sequence[float]], by_chance: float) -> str:
    """In how many blocks, of those that count: by each measure that they are told by."""
    count = [values for values in found if values]
    more = sum(min(values) > by_chance for values in count)
    less = sum(max(values) < 1 / by_chance for values in count)
    parts = [f"{name} in {n} of {len(count)}" for name, n in (("more", more), ("less", less)) if n]
    return ", ".join(parts) or "none beyond"
