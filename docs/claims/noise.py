# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one ratio may be by chance, and which of the scheduler's are more than that."""

from collections.abc import Mapping, Sequence

from docs.claims import blocks
from docs.claims.claim import Claim, span
from docs.claims.results import Results
from experiments.common.figures import compare, markdown, paper
from experiments.common.figures.compare import BASE
from experiments.common.figures.interval import chance
from experiments.conditions.tables import Block


def factor(results: Results) -> float:
    """By which a ratio of two balancers that are alike is off in one case of twenty."""
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
    by_chance = factor(results)
    return Claim(f"{1 / by_chance:.2f} to {by_chance:.2f}", results.matrix, table=False)


def verdict(results: Results) -> Claim:
    """Of each load: the scheduler over the better of the built-in ones, the newest block and all of them, and
    whether that is more than chance."""
    by_chance, by_load = factor(results), blocks.by_load(results)
    lines = [[load, *_row(found, by_chance)] for load, found in by_load.items()]
    head = ["load", "newest block (corrected)", "blocks that count", "least to most, by any measure"]
    cells = [cell for found in by_load.values() for block in found for cell in block.values()]
    return Claim(markdown.table([*head, "beyond chance"], lines), [*cells, *results.matrix])


def _row(found: Sequence[Block], by_chance: float) -> list[str]:
    values = [blocks.by_measure(block, blocks.over_better) for block in found]
    known = [ratio for of in values for ratio in of.values()]
    return [
        f"{_told(values[0])} at {blocks.at(found[0])}",
        f"{sum(map(bool, values))} of {len(values)}",
        span(known, ".2f", "the scheduler") if known else "-",
        beyond([list(of.values()) for of in values], by_chance),
    ]


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
    return ", ".join(parts) or ("no" if count else "not known")
