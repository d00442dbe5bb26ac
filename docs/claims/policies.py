# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is claimed of lunule on stock MDSs with the option, from cold."""

from collections.abc import Sequence

from docs.claims import blocks
from docs.claims.blocks import TO_AUTH
from docs.claims.claim import Claim, shown
from docs.claims.results import Results
from experiments.common.figures import markdown
from experiments.common.figures.compare import BASE
from experiments.common.provenance import BEFORE
from experiments.conditions import tables
from experiments.conditions.tables import Block

OURS = "lunule-to-auth"
ALONE = ("scheduler/five-ninth/nlp-tentacle-5x5",)
"""Blocks without the scheduler."""
_RATIOS = [(other, of) for other in (BASE, TO_AUTH) for of in (tables.whole, blocks.ranks_worth)]


def _blocks(results: Results) -> list[Block]:
    """Those that have it, the newest first."""
    found = [
        blocks.block(results, place, (OURS, BASE, TO_AUTH))
        for place in (*blocks.OTHERS, *ALONE)
        if list(results.top.glob(f"{place}-{OURS}-1.json.gz"))
    ]
    return sorted(found, key=lambda block: str(block[OURS]["date"]), reverse=True)


def _means(found: Sequence[Block]) -> tuple[int, list[str]]:
    """Over the loads, by the newest of each: how many these are, and the mean of each ratio."""
    newest = {str(block[OURS]["workload"]): block for block in reversed(found)}.values()
    columns = zip(*map(_ratios, newest), strict=True)
    return len(newest), [blocks.mean(column, len(newest)) for column in columns]


def to_auth(results: Results) -> Claim:
    """A row a block that has it, the newest first, and the mean over the loads by the newest of each."""
    found = _blocks(results)
    loads, means = _means(found)
    lines = [
        [
            f"{block[OURS]['workload']} at {block[OURS]['mds_cpu']:g} %",
            str(block[OURS].get("version", BEFORE)),
            tables.number(tables.whole(block[OURS])),
            *map(shown, _ratios(block)),
        ]
        for block in found
    ]
    lines.append([f"mean of {loads} loads, newest", "-", "-", *means])
    head = ["load", "commit", "op/s", "/ built-in", "by op/s / C", "/ built-in to auth", "by op/s / C"]
    return Claim(markdown.table(head, lines), [cell for block in found for cell in block.values()])


def mean_to_auth(results: Results) -> Claim:
    """That mean, by op/s."""
    found = _blocks(results)
    without, _, beside, _ = _means(found)[1]
    text = f"{without} without it and {beside} with it"
    return Claim(text, [cell for block in found for cell in block.values()], table=False)


def _ratios(block: Block) -> list[float | None]:
    return [tables.between(block, OURS, other, of) for other, of in _RATIOS]
