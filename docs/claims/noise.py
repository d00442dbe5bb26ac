# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one ratio may be by chance, and which of the scheduler's are more than that."""

from collections.abc import Sequence

from docs.claims import blocks
from docs.claims.blocks import Block
from docs.claims.claim import Claim
from docs.claims.results import Results
from experiments.common.figures import compare, paper
from experiments.common.figures.compare import BASE
from experiments.common.figures.interval import chance


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
    """Of each load: the scheduler over the better of the built-in ones, block by block, and whether that is
    more than chance."""
    by_chance, by_load = factor(results), blocks.by_load(results)
    lines = [
        [load, ", ".join(map(_ratios, found)), beyond([_values(block) for block in found], by_chance)]
        for load, found in by_load.items()
    ]
    ours = "scheduler / the better built-in one (corrected), newest block first"
    head = ["load", ours, "beyond chance"]
    cells = [cell for found in by_load.values() for block in found for cell in block.values()]
    return Claim(compare.table(head, lines), [*cells, *results.matrix])


def _values(block: Block) -> list[float]:
    """By each measure that a block is told by; none: a run does not count."""
    return list(_by_measure(block).values())


def _by_measure(block: Block) -> dict[str, float]:
    found = {name: blocks.over_better(block, of) for name, of in blocks.measures(block).items()}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def _ratios(block: Block) -> str:
    found = _by_measure(block)
    if not found:
        return f"does not count at {blocks.at(block)}"
    labels = ((blocks.CORRECTED, ""), (blocks.BY_C, f" by {blocks.BY_C}"))
    also = "; ".join(f"{found[name]:.2f}{text}" for name, text in labels if name in found)
    return f"{found[blocks.OPS]:.2f}{f' ({also})' if also else ''} at {blocks.at(block)}"


def beyond(found: Sequence[Sequence[float]], by_chance: float) -> str:
    """In how many blocks, of those that count: by each measure that they are told by."""
    count = [values for values in found if values]
    more = sum(min(values) > by_chance for values in count)
    less = sum(max(values) < 1 / by_chance for values in count)
    parts = [f"{name} in {n} of {len(count)}" for name, n in (("more", more), ("less", less)) if n]
    return ", ".join(parts) or ("no" if count else "not known")
