# SPDX-License-Identifier: LGPL-2.1-or-later
"""What op/s do not tell of the scheduler's blocks: how long the slowest operations took, and what it cost."""

from collections.abc import Callable, Iterable
from statistics import median

from docs.claims import blocks
from docs.claims.blocks import NAMES, TO_AUTH
from docs.claims.claim import Claim, Claims, span
from docs.claims.results import Result, Results
from experiments.common.figures import figures, markdown, run_figures
from experiments.common.figures.compare import LIMIT
from experiments.common.figures.figures import Cell
from experiments.conditions import tables
from experiments.conditions.tables import OURS, Block
from lab.errors import LabError

_BUCKET = 1.045  # a bucket of latencies is 4.4 % wide: what differs by one may be alike


def _p99(cell: Cell) -> float:
    found = run_figures.latency(cell, 99)
    if found is None:
        raise LabError(f"{cell['key']} has no latency")
    return found


def _forwards(cell: Cell) -> float:
    """An operation."""
    began, ended = cell["spans"]["run"]
    return float(figures.total(cell, "forwards", (began, ended)) / (tables.whole(cell) * (ended - began)))


def _moved(cell: Cell) -> float:
    """Inodes; the oracle's before the clock, too."""
    return tables.moved(cell) + (tables.placed(cell) if cell["balancer"] == LIMIT else 0)


_FIGURES: dict[str, Callable[[Cell], str]] = {
    "p50, ms": lambda cell: tables.number(run_figures.latency(cell, 50)),
    "p99, ms": lambda cell: tables.number(_p99(cell)),
    "forwards an operation": lambda cell: f"{_forwards(cell):.2f}",
    "inodes migrated": lambda cell: tables.number(_moved(cell)),
    "manager, % of a core": lambda cell: f"{100 * run_figures.cores(cell, 'mgr'):.1f}",
}


def _table(results: Results) -> Claim:
    """The newest block of each load; of all four balancers."""
    found = blocks.last(results)
    lines = [
        [
            blocks.load(block),
            blocks.commit(block),
            *(" / ".join(of(block[name]) for name in NAMES) for of in _FIGURES.values()),
        ]
        for block in found
    ]
    return _claim(markdown.table(["load", "commit", *_FIGURES], lines), found, table=True)


def _claim(text: str, found: Iterable[Block], *, table: bool = False) -> Claim:
    cells: list[Result] = [cell for block in found for cell in block.values()]
    return Claim(text, cells, table=table)


def _p99_of(load: str, other: str) -> Callable[[Results], Claim]:
    """The scheduler's p99 by another's, of all blocks of a load; in how many it is worse."""

    def claim(results: Results) -> Claim:
        found = [block for block in blocks.of_five_minutes(results) if blocks.load(block) == load]
        ratios = [ratio for block in found if (ratio := tables.ratio(block, other, _p99)) is not None]
        worse = sum(ratio > _BUCKET for ratio in ratios)
        return _claim(f"{span(ratios, '.2f', load)} (worse in {worse} of {len(ratios)})", found)

    return claim


def outside(block: Block) -> float:
    """What manager and engine took beyond what they take beside the built-in balancer with the option, in %
    of what all MDSs may use."""
    ours = block[OURS]
    more = _module(ours) - _module(block[TO_AUTH])
    return float(100 * more / (ours["mds_cpu"] / 100 * ours["ranks"]))


def _outside(results: Results) -> Claim:
    """The same from the least to the most, in brackets the median, by what each MDS may use."""
    found = blocks.of_five_minutes(results)
    by_quota: dict[float, list[float]] = {}
    for block in found:
        by_quota.setdefault(block[OURS]["mds_cpu"], []).append(outside(block))
    parts = [f"{span(of, '.0f', OURS)} ({median(of):.0f})" for _, of in sorted(by_quota.items())]
    return _claim(", ".join(parts), found)


def _module(cell: Cell) -> float:
    """Cores of the manager and the engine, its child."""
    return run_figures.cores(cell, "mgr") + run_figures.cores(cell, "engine")


CLAIMS: Claims = {
    "scheduler-tails": _table,
    "scheduler-p99-mix": _p99_of("mix", TO_AUTH),
    "scheduler-p99-mix-oracle": _p99_of("mix", LIMIT),
    "scheduler-p99-jumps-oracle": _p99_of("jumps", LIMIT),
    "scheduler-p99-cycle-oracle": _p99_of("cycle", LIMIT),
    "scheduler-outside": _outside,
}
