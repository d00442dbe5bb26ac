# SPDX-License-Identifier: LGPL-2.1-or-later
"""What blocks of cells say: figures of a cell, ratios within a block, tables of all."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from prettytable import PrettyTable, TableStyle

from experiments.common.figures import compare, correction, figures, markdown, summary
from experiments.common.figures.figures import Cell
from experiments.common.figures.interval import shown
from experiments.common.figures.limits import limits

OURS, LATER_S, EVEN = "scheduler", 60.0, 0.1
FEW = 10.0  # less is shown with its decimals: a program a second is an operation

Block = Mapping[str, Cell]
"""One run of each balancer, by its name."""


def whole(cell: Cell) -> float:
    """op/s of the whole run."""
    return figures.throughput(cell, cell["spans"]["run"])


def later(cell: Cell) -> float:
    """op/s from the sixtieth second on."""
    return figures.throughput(cell, _later(cell))


def _later(cell: Cell) -> tuple[float, float]:
    began, ended = cell["spans"]["run"]
    return began + LATER_S, ended


def even_after(cell: Cell) -> float:
    """s until IF, of loads over ten seconds, stays below 0.1; infinite: never, or not for ten seconds."""
    span = cell["spans"]["run"]
    factor = [
        (t, x)
        for t, x in figures.imbalance(cell, cell["capacity"])
        if span[0] + figures.WINDOW_S < t <= span[1]
    ]
    above = [t for t, x in factor if x >= EVEN]
    if not above:
        return 0.0
    return math.inf if factor[-1][0] - above[-1] < figures.WINDOW_S else above[-1] - span[0]


def moved(cell: Cell) -> float:
    """Inodes that came to another rank, from before the first client began."""
    return float(figures.total(cell, "exported_inodes"))


def placed(cell: Cell) -> int:
    """Inodes that ranks other than 0, which had all, were given before the first client began; what clients
    of cells before made or deleted there is in it."""
    ranks = cell["samples"][0]["ranks"].items()
    return sum(of["imported_inodes"] - of["exported_inodes"] for rank, of in ranks if rank != "0")


_LAST: Mapping[str, Callable[[Cell], float]] = {
    "s until even": even_after,
    "inodes moved": moved,
    "inodes moved from 60 s": lambda cell: float(figures.total(cell, "exported_inodes", _later(cell))),
}


def ratio(block: Block, other: str, of: Callable[[Cell], float]) -> float | None:
    """Of ours to another; None: one of both is not there, or does not count."""
    return between(block, OURS, other, of)


def between(block: Block, ours: str, other: str, of: Callable[[Cell], float]) -> float | None:
    """Of one to another, as above."""
    pair = [block[name] for name in (ours, other) if name in block]
    if len(pair) < 2 or not all(limits(cell).counts for cell in pair) or not of(pair[1]):
        return None
    return of(pair[0]) / of(pair[1])


def each_client(block: Block, other: str) -> float | None:
    """As ``ratio``, of each client's op/s (of no operation: as of one); their geometric mean: those who do
    many, or cheap ones, do not hide those who wait. None as well: their clock was not that of the run."""
    if ratio(block, other, whole) is None or block[OURS].get("settled"):
        return None
    ours, theirs = ({c: sum(row[2].values()) for c, row in block[n]["done"].items()} for n in (OURS, other))
    pairs = [(max(1, ours.get(c, 0)), max(1, theirs.get(c, 0))) for c in ours | theirs]
    lasted, others = (ended - began for began, ended in (block[n]["spans"]["run"] for n in (OURS, other)))
    return statistics.geometric_mean([mine / its for mine, its in pairs]) * float(others / lasted)


_COLUMNS: Mapping[str, Callable[[Block], float | None]] = {
    "/ oracle": lambda block: ratio(block, "oracle", whole),
    "/ oracle from 60 s": lambda block: ratio(block, "oracle", later),
    "/ oracle, each client": lambda block: each_client(block, "oracle"),
    "/ built-in": lambda block: ratio(block, "builtin", whole),
    "/ built-in to auth": lambda block: ratio(block, "builtin-to-auth", whole),
    "/ built-in to auth, each client": lambda block: each_client(block, "builtin-to-auth"),
}


def beside(cells: Sequence[Cell], workloads: Sequence[str], balancers: Sequence[str]) -> str:
    """A row a workload, a column a balancer: op/s, beside the built-in one's; what is missing says so."""
    blocks = {load: _blocks([cell for cell in cells if cell["workload"] == load]) for load in workloads}
    lines = [[load, *(_beside(mine, name) for name in balancers)] for load, mine in blocks.items()]
    return markdown.table(["op/s (/ built-in)", *balancers], lines)


def _beside(blocks: Sequence[Block], name: str) -> str:
    mine = [block[name] for block in blocks if name in block]
    if not mine:
        return "not measured"
    if not (good := [cell for cell in mine if limits(cell).counts]):
        return f"none of {len(mine)} counts"
    text = number(_median([whole(cell) for cell in good]))
    fixed = [ops for cell in good if (ops := correction.corrected(cell, whole(cell))) is not None]
    text += f", corrected {number(_median(fixed))}" if fixed else ""
    if name == compare.BASE:
        return text
    ratios = [between(block, name, compare.BASE, whole) for block in blocks]
    known = [ratio for ratio in ratios if ratio is not None]
    pairs = sum(name in block and compare.BASE in block for block in blocks)
    return f"{text} ({shown(known, pairs - len(known))})" if pairs else text


def report(cells: Sequence[Cell]) -> str:
    """A row a workload, the median of the blocks; then the geometric means."""
    table = PrettyTable(["load", "blocks", "op/s", *_COLUMNS, *_LAST])
    table.set_style(TableStyle.MARKDOWN)
    columns: dict[str, list[float]] = {name: [] for name in _COLUMNS}
    for workload in dict.fromkeys(str(cell["workload"]) for cell in cells):
        blocks = _blocks([cell for cell in cells if cell["workload"] == workload])
        ours = [block[OURS] for block in blocks if OURS in block and limits(block[OURS]).counts]
        found = {name: [x for b in blocks if (x := of(b)) is not None] for name, of in _COLUMNS.items()}
        middles = {name: _median(values) for name, values in found.items()}
        for name, value in middles.items():
            columns[name] += [] if value is None else [value]
        ratios = ("-" if value is None else f"{value:.2f}" for value in middles.values())
        last = (number(_median([of(cell) for cell in ours])) for of in _LAST.values())
        ops = number(_median([whole(cell) for cell in ours]))
        table.add_row([workload, len(ours), ops, *ratios, *last])
    means = ["-" if not values else f"{statistics.geometric_mean(values):.2f}" for values in columns.values()]
    table.add_row(["geometric mean", "", "", *means, *[""] * 3])
    return str(table.get_string())


def _blocks(cells: Sequence[Cell]) -> list[dict[str, Cell]]:
    runs = sorted({int(cell["run"]) for cell in cells})
    return [{str(cell["balancer"]): cell for cell in cells if cell["run"] == run} for run in runs]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def number(value: float | None) -> str:
    """As tables show it."""
    if value is None or math.isinf(value):
        return "-" if value is None else "never"
    return f"{value:,.0f}" if value >= FEW or value == int(value) else f"{value:.2f}"


def every_figure(cells: Sequence[Cell]) -> str:
    """A table a workload: median (lowest to highest) of the runs that count."""
    loads = dict.fromkeys(str(cell["workload"]) for cell in cells)
    tables = {load: summary.table([cell for cell in cells if cell["workload"] == load]) for load in loads}
    return "\n\n".join(f"## {load}\n\n{table}" for load, table in tables.items())
