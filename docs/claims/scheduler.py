# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is claimed of the scheduler, and of the option that it sets."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, geometric_mean

from docs.claims import blocks, churn, cycle
from docs.claims.blocks import NAMES, TO_AUTH
from docs.claims.claim import Claim, Claims, shown, span
from docs.claims.results import Result, Results
from experiments.common.figures import figures, markdown, run_figures
from experiments.common.figures.compare import BASE, LIMIT
from experiments.common.figures.figures import Cell
from experiments.common.figures.limits import limits
from experiments.common.workloads.moving import RUN_S
from experiments.conditions import tables
from experiments.conditions.tables import OURS, Block

_BETTER = f"{OURS} and {BASE}"


def _cells(of: Iterable[Block]) -> list[Result]:
    return [cell for block in of for cell in block.values()]


def _inline(text: str, of: Iterable[Block]) -> Claim:
    return Claim(text, _cells(of), table=False)


def _option(results: Results) -> Claim:
    """What that option alone is worth, and what the oracle has, which sets it: a row a load."""
    found = blocks.by_load(results)
    lines = [
        [
            f"{load} ({len(of_load)})",
            *(
                _range([tables.between(block, name, BASE, of) for block in of_load])
                for of in (tables.whole, blocks.ranks_worth)
                for name in (TO_AUTH, LIMIT)
            ),
        ]
        for load, of_load in found.items()
    ]
    head = ["load (blocks)", "op/s: built-in with it", "op/s: oracle, with it"]
    head += ["op/s / C: built-in with it", "op/s / C: oracle, with it"]
    made_of = [block[name] for of in found.values() for block in of for name in (BASE, TO_AUTH, LIMIT)]
    return Claim(markdown.table(head, lines), made_of)


def _range(ratios: Sequence[float | None]) -> str:
    """From the least to the most; of how many, where not all count."""
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return shown(None)
    few = f", {len(known)} of {len(ratios)}" if len(known) < len(ratios) else ""
    return span(known, ".2f", TO_AUTH) + few


def _option_alone(results: Results) -> Claim:
    """The same, from the least to the most."""
    found = blocks.of_five_minutes(results)
    ratios = (
        tables.between(block, TO_AUTH, BASE, of) for block in found for of in blocks.measures(block).values()
    )
    text = span((ratio for ratio in ratios if ratio is not None), ".2f", f"{TO_AUTH} and {BASE}")
    return Claim(text, [block[name] for block in found for name in (BASE, TO_AUTH)], table=False)


def _over_better(loads: Sequence[str] = ()) -> Callable[[Results], Claim]:
    """From the least to the most of all blocks of five minutes, or of those of some loads."""

    def claim(results: Results) -> Claim:
        found = [b for b in blocks.of_five_minutes(results) if not loads or blocks.load(b) in loads]
        ratios = [blocks.over_better(b, of) for b in found for of in blocks.measures(b).values()]
        return _inline(span((ratio for ratio in ratios if ratio is not None), ".2f", _BETTER), found)

    return claim


def _of_seven(results: Results) -> dict[str, list[Block]]:
    return {load: of for load, of in blocks.by_load(results).items() if load in blocks.SEVEN}


def _seven(results: Results) -> Claim:
    """The same of all blocks, within a line."""
    found = _of_seven(results)
    ops, by_c = _mean(found)
    text = f"{ops} by {blocks.OPS}, {by_c} by {blocks.BY_C}"
    return _inline(text, (block for of in found.values() for block in of))


def _seven_over_better(results: Results) -> Claim:
    """Geometric means of the seven workloads: of all blocks, of the newest, and of these without scans."""
    found = _of_seven(results)
    newest = {load: of[:1] for load, of in found.items()}
    calm = {load: of for load, of in newest.items() if load not in _SCANS}
    rows = {
        "all blocks that count, each load alike": found,
        "the newest block of each load": newest,
        "the same without the two scans": calm,
    }
    lines = [[name, *_mean(by_load)] for name, by_load in rows.items()]
    table = markdown.table(["geometric mean of the seven", blocks.OPS, blocks.BY_C], lines)
    return Claim(table, _cells(block for of in found.values() for block in of))


def _mean(by_load: Mapping[str, Sequence[Block]]) -> list[str]:
    """Of the loads' means, by op/s and by op/s / C."""
    ratios = (
        [[blocks.over_better(block, measure) for block in of] for of in by_load.values()]
        for measure in (tables.whole, blocks.ranks_worth)
    )
    return [blocks.mean(map(_of_known, of), len(of)) for of in ratios]


def _of_known(ratios: Sequence[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return geometric_mean(known) if known else None


_SCANS = ("cnn", "nlp")


def _primed(results: Results) -> Claim:
    """In how many blocks the scheduler was not cold, and of those that count."""
    found = blocks.of_five_minutes(results)
    counted = [block for block in found if blocks.by_measure(block, blocks.over_better)]
    primed, of_these = (sum(not blocks.cold(block) for block in those) for those in (found, counted))
    text = f"{primed} of {len(found)} blocks ({of_these} of the {len(counted)} that count)"
    return _inline(text, found)


def _order(results: Results) -> Claim:
    """How often the scheduler was the first of a block, and the last."""
    found = blocks.of_five_minutes(results)
    orders = [sorted(block, key=lambda name: str(block[name]["date"])) for block in found]
    first, last = (sum(order[at] == OURS for order in orders) for at in (0, -1))
    return _inline(f"first in {first} of {len(found)} blocks, and last in {last}", found)


def _over_oracle(results: Results) -> Claim:
    """From the least to the most of all blocks of five minutes whose oracle is the limit."""
    found = [*blocks.of_five_minutes(results), blocks.block(results, blocks.UNLIKE, (OURS, LIMIT))]
    found = [block for block in found if blocks.load(block) not in blocks.NO_LIMIT]
    ratios = (tables.ratio(b, LIMIT, of) for b in found for of in blocks.measures(b).values())
    text = span((ratio for ratio in ratios if ratio is not None), ".2f", f"{OURS} and {LIMIT}")
    return _inline(text, found)


def _commits(results: Results) -> Claim:
    """Of how many versions the scheduler's runs of five minutes are, if they have a ratio."""
    known = (block for block in blocks.of_five_minutes(results) if any(_ratios(block)))
    ours = [block[OURS] for block in known]
    by_date = sorted(ours, key=lambda cell: str(cell["date"]))
    versions = list(dict.fromkeys(str(cell["version"]) for cell in by_date))
    return Claim(f"{len(versions)} commits, {versions[0]} to {versions[-1]}", ours, table=False)


_RATIOS = ("/ built-in", "/ built-in to auth", "/ oracle", "/ oracle from 60 s")
_EACH = ("each client / built-in to auth", "each client / oracle")
_LAST = ("s until even", "inodes moved")
_INODES = "inodes moved / oracle's"


_OTHERS = (BASE, TO_AUTH, LIMIT, LIMIT, TO_AUTH, LIMIT)
"""Whom each of the ratios is to."""


def _ratios(block: Block) -> list[float | None]:
    return [
        *(tables.ratio(block, other, tables.whole) for other in (BASE, TO_AUTH, LIMIT)),
        tables.ratio(block, LIMIT, tables.later),
        *(tables.each_client(block, other) for other in (TO_AUTH, LIMIT)),
    ]


def _shown(block: Block, other: str, ratio: float | None) -> str:
    """In brackets where the oracle is not the limit."""
    soft = ratio is not None and other == LIMIT and blocks.load(block) in blocks.NO_LIMIT
    return f"({shown(ratio)})" if soft else shown(ratio)


def _row(block: Block) -> list[str]:
    """op/s, its ratios, and what it took."""
    ours = block[OURS]
    texts = [_shown(block, other, ratio) for ratio, other in zip(_ratios(block), _OTHERS, strict=True)]
    first, *rest = (tables.number(of(ours)) for of in (tables.whole, tables.even_after, tables.moved))
    return [first, *texts, *rest, _inodes(block)]


def _inodes(block: Block) -> str:
    """Moved, over what the oracle's pins moved; in brackets where clients make and delete."""
    placed = tables.placed(block[LIMIT])
    if placed <= 0:
        return "not known"
    times = f"{tables.moved(block[OURS]) / placed:.2f}"
    return f"({times})" if blocks.load(block) in blocks.CHANGES else times


def _by_c(block: Block) -> list[float | None]:
    """The same ratios of op/s / C."""
    own = block[OURS]["capacity"]
    factors = [block[other]["capacity"] / own for other in _OTHERS]
    return [r if r is None else r * f for r, f in zip(_ratios(block), factors, strict=True)]


def _means(of: Sequence[Block], ratios: Callable[[Block], list[float | None]]) -> list[str]:
    """A column each; the oracle's are of the loads whose limit it is."""
    limited = [block for block in of if blocks.load(block) not in blocks.NO_LIMIT]
    return [
        blocks.mean([ratios(block)[i] for block in (limited if other == LIMIT else of)], len(of))
        for i, other in enumerate(_OTHERS)
    ]


def _named(block: Block) -> str:
    return blocks.load(block) + (" (C changed)" if blocks.changed(block) else "")


def _cold(results: Results) -> Claim:
    """A row each, and what the seven workloads have on the mean."""
    found = blocks.last(results)
    lines = [[_named(block), blocks.commit(block), *_row(block)] for block in found]
    seven = [block for block in found if blocks.load(block) in blocks.SEVEN]
    lines += [
        [f"the seven, {name}", "-", "-", *_means(seven, ratios), "-", "-", "-"]
        for name, ratios in (("op/s", _ratios), ("op/s / C", _by_c))
    ]
    head = ["load", "commit", "scheduler, op/s", *_RATIOS, *_EACH, *_LAST, _INODES]
    return Claim(markdown.table(head, lines), _cells(found))


def _repeated(results: Results) -> Claim:
    """All blocks of loads that were measured more than once, the last one first."""
    repeated = (of for of in blocks.by_load(results).values() if len(of) > 1)
    found = [block for of in repeated for block in of]
    lines = [[_named(block), blocks.commit(block), *_row(block)] for block in found]
    head = ["load", "commit", "scheduler, op/s", *_RATIOS, *_EACH, *_LAST, _INODES]
    return Claim(markdown.table(head, lines), _cells(found))


_ALL = "scheduler / built-in / to auth / oracle"


def _conditions(results: Results) -> Claim:
    """What else was not the same within a block of five minutes."""
    found = blocks.of_five_minutes(results)
    lines = []
    for block in found:
        beside = " / ".join(f"{max(0.0, blocks.other_work(cell)):.2f}" for cell in block.values())
        worth = [_if_there(block, other, blocks.ranks_worth) for other in NAMES[1:]]
        held = [limits(cell) for cell in block.values()]
        full = [[of.mds for of in held], [of.machine for of in held]]
        least, most = (tables.number(round(c)) for c in blocks.capacities(block))
        lines.append(
            [
                f"{blocks.load(block)}, {', '.join(blocks.commits(block))}",
                f"{least} to {most}{', changed' if blocks.changed(block) else ''}" if least != most else most,
                *worth,
                *(" / ".join(f"{100 * part:.0f}" for part in parts) for parts in full),
                beside,
                ", ".join(blocks.flattering(block)) or "-",
            ]
        )
    head = ["load, commit", "C, req/s", *(f"op/s / C {name}" for name in _RATIOS[:3])]
    more = ("an MDS full, % of windows", "the machine full, %", "other work, cores")
    head += [*(f"{what}: {_ALL}" for what in more), "more beside than the scheduler's"]
    return Claim(markdown.table(head, lines), _cells(found))


SHORT = (
    *(("trial", "zipf", "150, e8003ab"), ("trial-quiet", "zipf", "120, 9ffcae0")),
    *(("zipf-before", "zipf", "120, c0eb76e"), ("jumps-before", "jumps", "185, c0eb76e")),
    *(("jumps", "jumps", "185, f0256d3"), ("jumps-after", "jumps", "185, 3e23313, by itself")),
    *(("four", "cnn", "120, b5c2677"), ("four", "mix", "120, b5c2677")),
    ("jumps-asleep", "jumps", "185, bcaf7ef"),
    ("jumps-eight", "jumps", "300, 03d2d2c6, at 8 %"),
    ("jumps-waits", "jumps", "300, 78c1c4d1, at 5 %, by itself"),
    ("nlp-nested", "nlp", "300, 20d562bd and the counter, at 5 %, by itself"),
    ("cnn-giving", "cnn", "300, 438624db, at 5 %"),
    *((("six", load, "120, c451f2f")) for load in ("web", "md", "zipf", "cnn")),
)
"""Folder, load, and seconds and commit: cells of before digests do not know it."""


def short(results: Results, folder: str, load: str) -> Block:
    """One of two or three minutes, or without the built-in balancer as it ships."""
    cells = results.cells(f"scheduler/{folder}/{load}-tentacle-5x*-*")
    return {str(cell["balancer"]): cell for cell in cells}


def _if_there(block: Block, other: str, of: blocks.Measure) -> str:
    return _shown(block, other, tables.ratio(block, other, of)) if other in block else "-"


_AGAINST = ((BASE, tables.whole), (TO_AUTH, tables.whole), (LIMIT, tables.whole), (LIMIT, tables.later))


def _trials(results: Results) -> Claim:
    """The scheduler's single blocks of two or three minutes, one row each."""
    lines, made_of = [], list[Block]()
    for folder, load, about in SHORT:
        block = short(results, folder, load)
        first, *rest = (
            tables.number(of(block[OURS])) for of in (tables.whole, tables.even_after, tables.moved)
        )
        ratios = [_if_there(block, other, of) for other, of in _AGAINST]
        beside = (
            f"{max(0.0, blocks.other_work(block[name])):.2f}" if name in block else "-" for name in NAMES
        )
        lines.append([folder, f"{load}, {about}", first, *ratios, *rest, " / ".join(beside)])
        made_of.append(block)
    head = ["folder", "load, seconds, commit", "scheduler, op/s", *_RATIOS, *_LAST]
    head.append(f"other work, cores: {_ALL}")
    return Claim(markdown.table(head, lines), _cells(made_of))


_TICKS = {
    "MDSs tick every second all the time": "scheduler/churn-quick-ticks",
    "only while something moves": "scheduler/churn-middle",
}
"""Trees made and deleted, five minutes: the folder of each block."""


def _ticks(results: Results) -> Claim:
    """What it costs that MDSs write their journals every second."""
    found = {row: blocks.block(results, f"{folder}/churn-tentacle-5x12") for row, folder in _TICKS.items()}
    lines = [
        [
            row,
            tables.number(tables.whole(block[OURS])),
            *(shown(tables.ratio(block, other, tables.whole)) for other in NAMES[1:]),
            *(f"{_requests_an_operation(block[name]):.2f}" for name in NAMES[:2]),
        ]
        for row, block in found.items()
    ]
    head = ["", "scheduler, op/s", *_RATIOS[:3], "requests an operation", "built-in's"]
    return Claim(markdown.table(head, lines), _cells(found.values()))


def _requests_an_operation(cell: Result) -> float:
    span = cell["spans"]["run"]
    served = figures.total(cell, "requests", span) - figures.total(cell, "forwards", span)
    return float(served / (tables.whole(cell) * (span[1] - span[0])))


_QUOTAS = (8, 8, 16, 16)  # of a core, rank by rank


def _unlike(results: Results) -> Claim:
    """Of ranks with different quotas: what each serves, with the scheduler and with the oracle."""
    block = blocks.block(results, blocks.UNLIKE, (OURS, LIMIT))
    head = ["op/s", "all", "/ oracle", "/ oracle from 60 s"]
    lines = []
    for name, cell in block.items():
        run = figures.within(figures.loads(cell), cell["spans"]["run"])
        ranks = [fmean(load[rank] for load in run) for rank in range(cell["ranks"])]
        ratios = [
            shown(tables.between(block, name, LIMIT, of)) if name != LIMIT else "-"
            for of in (tables.whole, tables.later)
        ]
        numbers = [tables.number(tables.whole(cell)), *ratios, *map(tables.number, ranks)]
        lines.append([name, *numbers, tables.number(tables.even_after(cell))])
    quotas = [f"req/s at {quota} %" for quota in _QUOTAS]
    return Claim(markdown.table([*head, *quotas, "s until even"], lines), list(block.values()))


def _cycle(results: Results) -> Claim:
    """Of a load that comes every two minutes, time by time."""
    cell = results.cell(f"cycle-long/cycle-tentacle-5x12-{OURS}-1")
    return Claim(cycle.table(cell), [cell])


Spans = Mapping[str, tuple[float, float]]


def _by_phase(
    cells: str, phases: Callable[[Cell], Spans], against: Sequence[str]
) -> Callable[[Results], Claim]:
    """op/s of a block from cold in parts of the time; the scheduler's beside others'."""

    def claim(results: Results) -> Claim:
        block = blocks.block(results, cells)
        found = {
            name: {head: figures.throughput(cell, during) for head, during in phases(cell).items()}
            for name, cell in block.items()
        }
        lines, ours = [[name, *map(tables.number, ops.values())] for name, ops in found.items()], found[OURS]
        lines += [
            [f"{OURS} / {other}", *(f"{ops / found[other][head]:.2f}" for head, ops in ours.items())]
            for other in against
        ]
        return Claim(markdown.table(["op/s", *ours], lines), _cells([block]))

    return claim


def _crowd(cell: Cell) -> Spans:
    """A crowd comes in the second of three parts; its last 20 s once more."""
    begin, third = cycle.clock(cell, "crowd"), RUN_S / 3
    came, went = begin + third, begin + 2 * third
    return {
        "before the crowd": (begin, came),
        "while it is there": (came, went),
        "its last 20 s": (went - 20.0, went),
        "after it": (went, cell["spans"]["run"][1]),
    }


def _times(cell: Cell) -> Spans:
    return {f"time {number}": during for number, during in enumerate(cycle.times(cell), start=1)}


def _parts(cells: Sequence[str], part: Callable[[str, str], str]) -> Callable[[Results], Claim]:
    """op/s of all blocks of a load by parts, a row a balancer.

    :param part: of a client's name and an operation's
    """

    def claim(results: Results) -> Claim:
        found = [blocks.block(results, place) for place in cells]
        rows = {
            f"{name}, {blocks.commit(block)}{'' if limits(cell).counts else ' (does not count)'}": (
                cell,
                _ops_by(cell, part),
            )
            for block in found
            for name, cell in block.items()
        }
        heads = sorted({head for _, ops in rows.values() for head in ops})
        lines = [
            [
                *(name, tables.number(round(cell["capacity"])), tables.number(tables.whole(cell))),
                *(tables.number(ops[head]) for head in heads),
            ]
            for name, (cell, ops) in rows.items()
        ]
        return Claim(markdown.table(["op/s", "C", "all", *heads], lines), _cells(found))

    return claim


def _ops_by(cell: Result, part: Callable[[str, str], str]) -> dict[str, float]:
    began, ended = cell["spans"]["run"]
    found: dict[str, float] = defaultdict(float)
    for client, (_, _, done, _) in cell["done"].items():
        for operation, count in done.items():
            found[part(client, operation)] += count / (ended - began)
    return found


def _group(client: str, operation: str) -> str:
    """Clients of one kind have a name and a number."""
    return client.rstrip("0123456789")


def _kind(client: str, operation: str) -> str:
    return "create and unlink" if operation in ("create", "unlink") else "stat and open"


def _of_mix(of: Callable[[Block], float | None]) -> Callable[[Results], Claim]:
    """From the least to the most of the mix's blocks."""

    def claim(results: Results) -> Claim:
        found = [block for block in blocks.of_five_minutes(results) if blocks.load(block) == "mix"]
        ratios = (ratio for block in found if (ratio := of(block)) is not None)
        return _inline(span(ratios, ".2f", "the mix"), found)

    return claim


def _settled(folder: str, names: Sequence[str]) -> Callable[[Results], Claim]:
    """Of these, when everybody had the load for a while, as make bench-quick has it."""

    def claim(results: Results) -> Claim:
        cells = results.cells(f"{folder}/*")
        return Claim(tables.beside(cells, ("zipf", "cnn"), names), cells)

    return claim


def _manager(names: Sequence[str], of: Callable[[str], bool]) -> Callable[[Results], Claim]:
    """What the manager took in blocks of five minutes, % of a core, from the least to the most.

    :param of: of this load?
    """

    def claim(results: Results) -> Claim:
        found = [block for block in blocks.of_five_minutes(results) if of(blocks.load(block))]
        cells = [block[name] for block in found for name in names if name in block]
        used = [100 * run_figures.cores(cell, "mgr") for cell in cells]
        text = span(used, ".1f", "the manager") if len(used) > 1 else f"{used[0]:.1f}"
        return Claim(text, cells, table=False)

    return claim


def _cost(results: Results) -> Claim:
    """What the scheduler costs the manager."""
    (measured,) = results.json("schedule-cost.json")
    cost = measured["percent_of_a_core"]
    lines = [
        [state, *(f"{parts[loop]:.1f}" for loop in ("look", "read", "move", "all"))]
        for state, parts in cost.items()
    ]
    return Claim(markdown.table(["% of a core", "looks", "reads", "moves", "all"], lines), [measured])


_MIX = ("cold/mix-tentacle-5x12", "scheduler/mix-middle/mix-tentacle-5x12",
        "scheduler/mix-before/mix-tentacle-5x12")  # fmt: skip
_LINE = ("cold/line/line-tentacle-8x8", "scheduler/line-before/line-tentacle-8x8")

CLAIMS: Claims = {
    "option": _option,
    "option-alone": _option_alone,
    "scheduler-over-better": _over_better(),
    "scheduler-over-better-moving": _over_better(blocks.MOVING),
    "scheduler-seven": _seven,
    "scheduler-seven-over-better": _seven_over_better,
    "scheduler-primed": _primed,
    "scheduler-order": _order,
    "scheduler-over-oracle": _over_oracle,
    "scheduler-commits": _commits,
    "scheduler-cold": _cold,
    "scheduler-repeated": _repeated,
    "scheduler-conditions": _conditions,
    "scheduler-flash": _by_phase("cold/flash-tentacle-5x12", _crowd, (BASE,)),
    "scheduler-flash-five": _by_phase("scheduler/five/flash-tentacle-5x5", _crowd, (BASE,)),
    "scheduler-flash-last": _by_phase(
        "scheduler/five-sixteenth/flash-tentacle-5x5", _crowd, (TO_AUTH, LIMIT)
    ),
    "scheduler-flash-again": _by_phase("scheduler/five-again/flash-tentacle-5x5", _crowd, (BASE, LIMIT)),
    "scheduler-cycle-times": _by_phase("cold/cycle-tentacle-5x12", _times, (LIMIT,)),
    "scheduler-mix-sum": _of_mix(lambda block: tables.ratio(block, TO_AUTH, tables.whole)),
    "scheduler-mix-each": _of_mix(lambda block: tables.each_client(block, TO_AUTH)),
    "scheduler-line": _parts(_LINE, _kind),
    "scheduler-mix": _parts(_MIX, _group),
    "scheduler-unlike": _unlike,
    "scheduler-cycle": _cycle,
    "settled-quick": _settled("quick", (BASE, TO_AUTH, OURS, "subvolume-pinning", LIMIT)),
    "settled-mask": _settled("mask", (BASE, "subvolume-pinning", "subvolume-pinning-mask")),
    "scheduler-cost": _cost,
    "scheduler-manager": _manager((OURS,), lambda load: load != "line"),
    "scheduler-manager-line": _manager((OURS,), lambda load: load == "line"),
    "scheduler-manager-others": _manager((BASE, TO_AUTH, LIMIT), lambda load: True),
    "scheduler-ticks": _ticks,
    "scheduler-trials": _trials,
    "scheduler-churn": churn.pairs,
}
