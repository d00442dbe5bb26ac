# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's blocks from cold: which there are, and what they say of it and of others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import geometric_mean

from docs.claims.results import Results
from experiments.common.figures import correction, run_figures
from experiments.common.figures.compare import ALIKE, BASE, LIMIT
from experiments.common.figures.figures import Cell
from experiments.conditions import tables
from experiments.conditions.tables import OURS, Block
from lab.errors import LabError

TO_AUTH = f"{BASE}-to-auth"
NAMES = (OURS, BASE, TO_AUTH, LIMIT)
SEVEN = ("cnn", "dbench", "md", "mix", "nlp", "web", "zipf")
MOVING = ("cycle", "flash", "jumps", "leaving")
NO_LIMIT = ("flash", "mix", "web")
"""Loads of which the oracle is not the most that there can be: what it knows is not what they ask for."""

CHANGES = ("churn", "dbench", "line", "md", "programs")
"""Loads whose clients make and delete: so what the oracle's pins had moved is not all that there was."""

FOLDERS = ("cold/*-tentacle-5x12", "cold/line/line-tentacle-8x8")
"""Of one block each of many loads."""
OTHERS = (
    "scheduler/churn-middle/churn-tentacle-5x12",
    "scheduler/churn-quick-ticks/churn-tentacle-5x12",
    "scheduler/dbench-beside/dbench-tentacle-5x12",
    *(
        f"scheduler/eight/{load}-tentacle-5x8"
        for load in ("churn", "cnn", "dbench", "jumps", "md", "mix", "nlp", "web", "zipf")
    ),
    *(f"scheduler/eight-again/{load}-tentacle-5x8" for load in ("cnn", "jumps", "zipf")),
    "scheduler/eight-third/cnn-tentacle-5x8",
    "scheduler/eight-fourth/cnn-tentacle-5x8",
    *(
        f"scheduler/five/{load}-tentacle-5x5"
        for load in ("churn", "cnn", "flash", "jumps", "mix", "nlp", "web", "zipf")
    ),
    *(f"scheduler/five-again/{load}-tentacle-5x5" for load in ("cnn", "flash", "jumps", "nlp", "zipf")),
    "scheduler/five-slow/nlp-tentacle-5x5",
    *(f"scheduler/five-third/{load}-tentacle-5x5" for load in ("cnn", "nlp")),
    *(f"scheduler/five-fourth/{load}-tentacle-5x5" for load in ("cnn", "jumps", "nlp", "web", "zipf")),
    *(f"scheduler/five-fifth/{load}-tentacle-5x5" for load in ("mix", "web")),
    *(f"scheduler/five-sixth/{load}-tentacle-5x5" for load in ("jumps", "mix")),
    *(f"scheduler/five-seventh/{load}-tentacle-5x5" for load in ("cnn", "mix", "web", "zipf")),
    *(f"scheduler/five-eighth/{load}-tentacle-5x5" for load in ("churn", "jumps", "nlp")),
    *(f"scheduler/five-ninth/{load}-tentacle-5x5" for load in ("mix", "zipf")),
    *(f"scheduler/five-tenth/{load}-tentacle-5x5" for load in ("cnn", "cycle", "web")),
    "scheduler/five-eleventh/mix-tentacle-5x5",
    "scheduler/five-twelfth/zipf-tentacle-5x5",
    *(f"scheduler/five-thirteenth/{load}-tentacle-5x5" for load in ("churn", "cnn", "jumps", "mix", "zipf")),
    "scheduler/five-fourteenth/jumps-tentacle-5x5",
    *(f"scheduler/five-fifteenth/{load}-tentacle-5x5" for load in ("jumps", "zipf")),
    *(f"scheduler/five-sixteenth/{load}-tentacle-5x5" for load in ("flash", "leaving")),
    "scheduler/five-sixteenth/line-tentacle-8x5",
    "scheduler/line-before/line-tentacle-8x8",
    "scheduler/mix-before/mix-tentacle-5x12",
    "scheduler/mix-middle/mix-tentacle-5x12",
)
"""The other blocks of loads that were measured more than once, also with less CPU a rank."""
USUAL, RANKS = 12, 5  # % of a core; ranks
UNLIKE = "cold/quotas/zipf12-tentacle-4x8-8-16-16"

_COLD_SINCE = "2026-11-28T11:26:33+00:00"
"""The date of a16c985d. Before it the scheduler was primed: it had the options of an analysis, and a manager
that had learned what a rank can do, from the calibration or from runs before."""
_OTHERS = 0.15  # cores of other work that a block's runs may differ by; no less can be told


def block(results: Results, cells: str, names: Sequence[str] = NAMES, run: int = 1) -> Block:
    """Of one place."""
    return {name: results.cell(f"{cells}-{name}-{run}") for name in names}


def of_five_minutes(results: Results) -> list[Block]:
    """All of them."""
    first = [
        block(results, cells.replace("*", str(ours["workload"])), run=int(ours["run"]))
        for cells in FOLDERS
        for ours in results.cells(f"{cells}-{OURS}-*")
    ]
    return [*first, *(block(results, cells) for cells in OTHERS)]


def by_load(results: Results) -> dict[str, list[Block]]:
    """The same by load, the newest first."""
    found: dict[str, list[Block]] = {}
    for each in sorted(of_five_minutes(results), key=lambda of: str(of[OURS]["date"]), reverse=True):
        found.setdefault(load(each), []).append(each)
    return dict(sorted(found.items()))


def last(results: Results) -> list[Block]:
    """The newest of each load."""
    return [found[0] for found in by_load(results).values()]


def load(of: Block) -> str:
    """What a block was measured with."""
    return str(of[OURS]["workload"])


def cold(of: Block) -> bool:
    """Whether the scheduler knew nothing, and had its options' defaults; else it was primed."""
    return str(of[OURS]["date"]) >= _COLD_SINCE


def at(of: Block) -> str:
    """What of a core each rank had."""
    return f"{of[OURS]['mds_cpu']:g} %"


def commit(of: Block) -> str:
    """The scheduler's; and what of a core each rank had, where that is not USUAL."""
    usual = of[OURS]["mds_cpu"] == USUAL or of[OURS]["ranks"] != RANKS
    return str(of[OURS].get("version", "before digests")) + ("" if usual else f", at {at(of)}")


def commits(of: Block) -> list[str]:
    """Of all its runs."""
    return list(dict.fromkeys(str(cell.get("version", "before digests")) for cell in of.values()))


def ranks_worth(cell: Cell) -> float:
    """op/s by what one rank of its own cluster serves."""
    return tables.whole(cell) / float(cell["capacity"])


def capacities(of: Block) -> tuple[float, float]:
    """The least C and the most."""
    found = [float(cell["capacity"]) for cell in of.values()]
    return min(found), max(found)


def changed(of: Block) -> bool:
    """Whether what a rank serves changed by more than a fifth within the block."""
    least, most = capacities(of)
    return most > ALIKE * least


Measure = Callable[[Cell], float]


OPS, BY_C, CORRECTED = "op/s", "op/s / C", "op/s, corrected"


def measures(of: Block) -> Mapping[str, Measure]:
    """What a block is told by: by op/s; where C changed, by op/s / C, too; and by op/s on a machine of one
    speed, where a reference load tells of that."""
    found = {OPS: tables.whole}
    if changed(of):
        found[BY_C] = ranks_worth
    if has_speed(of.values()):
        found[CORRECTED] = corrected
    return found


def has_speed(cells: Iterable[Cell]) -> bool:
    """Whether op/s of all of these can be corrected."""
    return all(correction.corrected(cell, 1.0) is not None for cell in cells)


def corrected(cell: Cell) -> float:
    """op/s on a machine of one speed. :raises LabError: nothing tells how fast it was"""
    found = correction.corrected(cell, tables.whole(cell))
    if found is None:
        raise LabError(f"{cell['key']} has no reference load, or none is kept")
    return found


def over_better(of: Block, measure: Measure) -> float | None:
    """Of ours to the built-in balancer's with or without the option, whichever has more. None: one of the
    runs that there are does not count."""
    ratios = [tables.ratio(of, other, measure) for other in (BASE, TO_AUTH) if other in of]
    known = [ratio for ratio in ratios if ratio is not None]
    return min(known) if known and len(known) == len(ratios) else None


Ratio = Callable[[Block, Measure], float | None]
"""Of the scheduler's to somebody's, by a measure; None: a run does not count."""


def by_measure(of: Block, ratio: Ratio) -> dict[str, float]:
    """A ratio by each measure that a block is told by; none: a run does not count."""
    found = {name: ratio(of, measure) for name, measure in measures(of).items()}
    return {name: value for name, value in found.items() if value is not None}


def mean(ratios: Iterable[float | None], of: int) -> str:
    """Geometric, of those that count; how many these are, if not all."""
    found = [ratio for ratio in ratios if ratio is not None]
    if not found:
        return "-"
    return f"{geometric_mean(found):.2f}" + ("" if len(found) == of else f" (of {len(found)})")


def other_work(cell: Cell) -> float:
    """Cores of the machine that no process of the cell used; to 0.15."""
    own = (run_figures.cores(cell, who) for who in cell["cpu"][-1]["used"])
    return run_figures.cores(cell, "busy") - sum(own)


def flattering(of: Block) -> list[str]:
    """Balancers beside whose run more ran than beside the scheduler's: a ratio to these may be too good."""
    ours = other_work(of[OURS])
    return [name for name, cell in of.items() if other_work(cell) - ours > _OTHERS]
