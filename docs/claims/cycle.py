# SPDX-License-Identifier: LGPL-2.1-or-later
"""A load that comes again and again, time by time: what moved while it was there, and in between."""

from statistics import median

from experiments.common.figures import figures, markdown
from experiments.common.figures.figures import Cell
from experiments.common.workloads.moving import CYCLE

EARLY = 10.0  # s from when it comes
MOVED = "exported_inodes"


def clock(cell: Cell, kind: str) -> float:
    """When the turns of clients of a kind began, Unix, s: each has a clock of its own, so their middle."""
    return float(median(t for client, (t, *_) in cell["done"].items() if client.startswith(kind)))


def times(cell: Cell) -> list[tuple[float, float]]:
    """From when to when it was there, Unix, s."""
    begin, end = clock(cell, "cycle"), cell["spans"]["run"][1]
    every = CYCLE.turns * CYCLE.turn_seconds
    first, number = begin + CYCLE.turn * CYCLE.turn_seconds, int((end - begin) / every)
    starts = [first + i * every for i in range(number)]
    return [(start, start + CYCLE.turn_seconds) for start in starts if start + CYCLE.turn_seconds <= end]


def table(cell: Cell) -> str:
    """A row a time."""
    found = times(cell)
    until = [*(begin for begin, _ in found[1:]), cell["spans"]["run"][1]]
    lines = [
        [
            str(number),
            f"{figures.throughput(cell, (begin, begin + EARLY)):,.0f}",
            f"{figures.throughput(cell, (begin, end)):,.0f}",
            f"{figures.total(cell, MOVED, (begin, end)):,}",
            f"{figures.total(cell, MOVED, (end, again)):,}",
        ]
        for number, ((begin, end), again) in enumerate(zip(found, until, strict=True), start=1)
    ]
    head = ["time", f"op/s, first {EARLY:g} s", "op/s", "inodes moved meanwhile", "inodes moved after it"]
    return markdown.table(head, lines)
