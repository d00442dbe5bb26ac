# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the scheduler was behind, load by load."""

from collections.abc import Iterable, Mapping, Sequence

from docs.claims import blocks
from docs.claims.blocks import TO_AUTH
from docs.claims.claim import Claim
from docs.claims.results import Results
from docs.claims.scheduler import SHORT, short
from experiments.common.figures import markdown, paper
from experiments.common.figures.compare import LIMIT
from experiments.conditions import tables
from experiments.conditions.tables import OURS, Block

_GOAL = paper.ORACLE_GOAL
Named = tuple[str, Block]
"""What a block is called, and it."""


def claim(results: Results) -> Claim:
    """A row each load that has a loss: in how many blocks, and the greatest. A block is called by its commit;
    of shorter runs by the folder."""
    unlike = blocks.block(results, blocks.UNLIKE, (OURS, LIMIT))
    five = [(blocks.commit(b), b) for b in (*blocks.of_five_minutes(results), unlike)]
    brief = [(folder, short(results, folder, load)) for folder, load, _ in SHORT]
    lines = [
        *(_row(f"{load} ({len(of)})", of) for load, of in _by_load(five)),
        *(_row(f"{load} ({len(of)}), two or three minutes", of) for load, of in _by_load(brief)),
    ]
    goal, each = f"below {_GOAL:.2f} of the oracle", "each client alike: "
    head = ["load (blocks)", "behind the better built-in one", goal]
    head += [f"{each}behind built-in to auth", f"{each}{goal}"]
    cells = [cell for _, block in (*five, *brief) for cell in block.values()]
    behind = [[name, *(told or "-" for told in losses)] for name, *losses in lines if any(losses)]
    return Claim(markdown.table(head, behind), cells)


def least_of_short(results: Results) -> Claim:
    """The least of the runs of two or three minutes over the better built-in one, and of what load."""
    found = [short(results, folder, load) for folder, load, _ in SHORT]
    least, load = min(
        (ratio, blocks.load(block))
        for block in found
        for ratio in blocks.by_measure(block, blocks.over_better).values()
    )
    return Claim(f"{least:.2f} in {load}", [cell for block in found for cell in block.values()], table=False)


def _by_load(found: Iterable[Named]) -> list[tuple[str, list[Named]]]:
    """The newest first."""
    by_load: dict[str, list[Named]] = {}
    for named in sorted(found, key=lambda of: str(of[1][OURS]["date"]), reverse=True):
        by_load.setdefault(blocks.load(named[1]), []).append(named)
    return sorted(by_load.items())


def _row(name: str, found: Sequence[Named]) -> list[str]:
    ratios: tuple[tuple[blocks.Ratio, float], ...] = (
        (blocks.over_better, 1.0),
        (_oracle, _GOAL),
        (_each(TO_AUTH), 1.0),
        (_each(LIMIT), _GOAL),
    )
    return [name, *(_behind(found, ratio, least) for ratio, least in ratios)]


def _oracle(block: Block, of: blocks.Measure) -> float | None:
    return tables.ratio(block, LIMIT, of)


def _each(other: str) -> blocks.Ratio:
    """What each client got has one measure only."""
    return lambda block, of: tables.each_client(block, other) if of is tables.whole else None


def _behind(found: Sequence[Named], ratio: blocks.Ratio, least: float) -> str:
    """How many blocks, and the greatest loss; "": none."""
    values = [(of, name) for name, block in found if (of := blocks.by_measure(block, ratio))]
    lost = [(*worst(of), name) for of, name in values if min(of.values()) < least]
    if not lost:
        return ""
    value, measure, name = min(lost)
    by = "" if measure == blocks.OPS else f", by {measure}"
    return f"{len(lost)} of {len(values)}, least {value:.2f} ({name}{by})"


def worst(of: Mapping[str, float]) -> tuple[float, str]:
    """The least, and by what measure."""
    return min((value, measure) for measure, value in of.items())
