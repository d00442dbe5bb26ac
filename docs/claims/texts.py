# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each claim by its name: how it is rendered, and of which results."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean
from textwrap import fill
from typing import Any

from demo import medians
from docs.claims import cycle, scale
from docs.claims.results import Result, Results
from experiments.common.figures import compare, figures, paper, run_figures
from experiments.common.figures.compare import BASE, LIMIT, Ratio
from experiments.common.provenance import age
from experiments.conditions import tables
from lab.errors import LabError

_NOT = "does not count"
_WIDTH = 100  # columns of a line
_TO_AUTH = f"{BASE}-to-auth"


@dataclass(frozen=True)
class Claim:
    """What a document says."""

    text: str
    made_of: Sequence[Result]
    table: bool = True  # else a figure within a line

    def __str__(self) -> str:
        """As it stands in the document; a table says of which versions it is."""
        old = age(self.made_of) if self.table else ""
        return f"{self.text}\n\n{fill(old, _WIDTH)}" if old else self.text


def _of(results: Results, *balancers: str) -> list[Result]:
    return [cell for cell in results.matrix if cell["balancer"] in balancers]


def _against(results: Results, balancer: str) -> Claim:
    return Claim(compare.of_one(results.rows, balancer), _of(results, balancer, BASE, LIMIT))


def _range(of: str, against: str, form: str, but: Sequence[str] = ()) -> Callable[[Results], Claim]:
    """From the least to the most of the workloads' ratios of op/s."""

    def claim(results: Results) -> Claim:
        ratios = (
            compare.ratio(results.rows, name, paper.OPS, of, against)
            for name in results.rows
            if name not in but
        )
        text = _span([r.median for r in ratios if r and r.blocks], form, of, against)
        return Claim(text, _of(results, of, against), table=False)

    return claim


def _span(ratios: Sequence[float], form: str, of: str, against: str) -> str:
    """The least to the most."""
    if not ratios:
        raise LabError(f"no block of {of} and {against} counts")
    return f"{min(ratios):{form}} to {max(ratios):{form}}"


def _one(workload: str, of: str, against: str) -> Callable[[Results], Claim]:
    def claim(results: Results) -> Claim:
        ratio = compare.ratio(results.rows, workload, paper.OPS, of, against)
        if ratio is None:
            raise LabError(f"{workload} has no block of {of} and {against}")
        cells = [cell for cell in _of(results, of, against) if cell["workload"] == workload]
        return Claim(f"{ratio.median:.2f}", cells, table=False)

    return claim


def _goals(results: Results) -> Claim:
    ours = ("subvolume-pinning", "lunule-mindex")
    lines = [
        [
            f"{claim.workload}: {claim.what} {claim.ratio:.2f} times the built-in balancer's",
            *(_blocks(compare.ratio(results.rows, claim.workload, claim.what, name, BASE)) for name in ours),
        ]
        for claim in paper.GOALS
    ]
    low, high = (100 * paper.IF_LOWER[key] for key in ("least", "most"))
    lower = [_each(results, name, paper.MEAN_IF, BASE) for name in ours]
    limit = [_each(results, name, paper.OPS, LIMIT) for name in ours]
    lines.append(
        [f"mean IF {1 - high / 100:.2f} to {1 - low / 100:.2f} times the built-in balancer's", *lower]
    )
    lines.append([f"op/s {paper.ORACLE_GOAL:.2f} times the oracle's", *limit])
    return Claim(compare.table(["goal", *ours], lines), _of(results, *ours, BASE, LIMIT))


def _blocks(ratio: Ratio | None) -> str:
    """Median, and each block."""
    if ratio is None or not ratio.blocks:
        return "-" if ratio is None else str(ratio)
    each = ", ".join(f"{value:.2f}" for value in ratio.blocks)
    left_out = f"; {ratio.left_out} left out" if ratio.left_out else ""
    return f"{ratio.median:.2f} ({each}{left_out})"


def _each(results: Results, of: str, what: str, against: str) -> str:
    """The median of each workload."""
    found = {name: compare.ratio(results.rows, name, what, of, against) for name in results.rows}
    known = {name: ratio.median for name, ratio in found.items() if ratio and ratio.blocks}
    none = [name for name, ratio in found.items() if ratio and not ratio.blocks]
    text = ", ".join(f"{name} {value:.2f}" for name, value in known.items())
    return text + (f"; {', '.join(none)}: no block counts" if none else "")


def _losses(results: Results) -> Claim:
    """Where a balancer of ours was behind; a row each."""
    ours = ("subvolume-pinning", "lunule-mindex", "lunule")
    lines = [
        [name, _below(results, name, BASE, 1.0), _below(results, name, LIMIT, paper.ORACLE_GOAL)]
        for name in ours
    ]
    head = ["", "behind built-in", f"below {paper.ORACLE_GOAL:.2f} of the oracle"]
    return Claim(compare.table(head, lines), _of(results, *ours, BASE, LIMIT))


def _below(results: Results, of: str, against: str, least: float) -> str:
    """The medians of op/s that are lower."""
    found = {name: compare.ratio(results.rows, name, paper.OPS, of, against) for name in results.rows}
    lower = {name: r.median for name, r in found.items() if r and r.blocks and r.median < least}
    return ", ".join(f"{name} {value:.2f}" for name, value in lower.items()) or "nowhere"


def _left_out(results: Results) -> Claim:
    """The cells of the matrix that do not count."""
    lines = [
        [
            f"{cell['workload']}, {cell['balancer']}, run {cell['run']}",
            f"{run_figures.busiest_mds(cell):.3f}",
            f"{run_figures.cores(cell, 'busy'):.2f}",
        ]
        for cell in results.matrix
        if not run_figures.counts(cell)
    ]
    head = ["", run_figures.BUSIEST, "machine, cores"]
    return Claim(compare.table(head, lines) or "Every cell counts.", results.matrix)


def _adaptation(results: Results) -> Claim:
    cells = {
        name: [results.cell(f"bench/ranks-tentacle{hook}-4x12-{name}-1"),
               results.cell(f"bench/clients-tentacle{hook}-5x12-{name}-1")]
        for name, hook in ((BASE, ""), ("lunule-mindex", "-hook"))
    }  # fmt: skip
    steps = [step for cell in cells[BASE] for step in cell["spans"]]
    lines = [
        [name, *(shown for cell in mine for shown in run_figures.throughputs(cell))]
        for name, mine in cells.items()
    ]
    return Claim(
        compare.table(["mean op/s of 50 s", *steps], lines), [c for mine in cells.values() for c in mine]
    )


def _scale(results: Results) -> Claim:
    cells = results.cells("bench/scale-tentacle*x6-*")
    return Claim(scale.table(scale.measured(cells)), cells)


_OLDER = "the same, before what sleeps was spread"
_BLOCKS: Mapping[str, Sequence[str]] = {
    "cnn: a scan of many directories": ("six/cnn",),
    "zipf: large directories of one client each": ("six/zipf",),
    "web: one log, replayed": ("six/web",),
    "md: files are made": ("six/md",),
    "a hot set that jumps every minute, 185 s": ("jumps-asleep/jumps",),
    _OLDER: ("jumps/jumps", "jumps-before/jumps"),
}
"""What a row is of: folder and workload of each block."""


def _option(results: Results) -> Claim:
    """What that option alone is worth."""
    others = (_TO_AUTH, LIMIT)
    blocks = _cold_blocks(results)
    lines = [
        [
            block[BASE]["workload"],
            *(_ratio(tables.between(block, name, BASE, tables.whole)) for name in others),
        ]
        for block in blocks
    ]
    head = ["op/s / built-in without the option", "built-in with it", "oracle, with it"]
    return Claim(compare.table(head, lines), [block[name] for block in blocks for name in (BASE, *others)])


def _option_alone(results: Results) -> Claim:
    """The same, from the least to the most."""
    blocks = _cold_blocks(results)
    ratios = (tables.between(block, _TO_AUTH, BASE, tables.whole) for block in blocks)
    text = _span([ratio for ratio in ratios if ratio is not None], ".2f", _TO_AUTH, BASE)
    return Claim(text, [block[name] for block in blocks for name in (BASE, _TO_AUTH)], table=False)


def _scheduler(results: Results) -> Claim:
    columns = ((_TO_AUTH, tables.whole), (LIMIT, tables.whole), (LIMIT, tables.later))
    names = (tables.OURS, _TO_AUTH, LIMIT)
    blocks = {
        row: [
            {name: results.cell(f"scheduler/{place}-tentacle-5x12-{name}-1") for name in names}
            for place in places
        ]
        for row, places in _BLOCKS.items()
    }
    lines = [
        [row, *(", ".join(_ratio(tables.ratio(block, other, of)) for block in mine) for other, of in columns)]
        for row, mine in blocks.items()
    ]
    head = [
        *("load", "/ built-in, `mds_forward_all_requests_to_auth`"),
        *("/ pins made before by one who knows the load", "/ these, from second 60 on"),
    ]
    made_of = [cell for mine in blocks.values() for block in mine for cell in block.values()]
    return Claim(compare.table(head, lines), made_of)


def _over_better(block: Mapping[str, dict[str, Any]]) -> float | None:
    """Of ours, op/s, to the built-in balancer's with or without the option, whichever has more."""
    without, with_it = (tables.ratio(block, other, tables.whole) for other in (BASE, _TO_AUTH))
    return None if without is None or with_it is None else min(without, with_it)


def _scheduler_over_better(results: Results) -> Claim:
    """From the least to the most of all blocks of five minutes."""
    blocks = _cold_blocks(results)
    ratios = [ratio for ratio in map(_over_better, blocks) if ratio is not None]
    made_of = [block[name] for block in blocks for name in (tables.OURS, BASE, _TO_AUTH)]
    return Claim(_span(ratios, ".2f", tables.OURS, BASE), made_of, table=False)


def _seven_over_better(results: Results) -> Claim:
    """Geometric mean of the seven workloads."""
    blocks = [block for block in _cold_blocks(results) if block[tables.OURS]["workload"] in _SEVEN]
    made_of = [block[name] for block in blocks for name in (tables.OURS, BASE, _TO_AUTH)]
    return Claim(_mean_ratio(list(map(_over_better, blocks))), made_of, table=False)


def _scheduler_over_oracle(results: Results) -> Claim:
    """From the least to the most of all blocks of five minutes, over the whole run."""
    names = (tables.OURS, LIMIT)
    blocks = [{name: block[name] for name in names} for block in _cold_blocks(results)]
    blocks += [
        {n: results.cell(f"{cells}-{n}-1") for n in names} for cells in (_UNLIKE, _LINE_OLDER, _MIX_OLDER)
    ]
    ratios = (tables.ratio(block, LIMIT, tables.whole) for block in blocks)
    text = _span([ratio for ratio in ratios if ratio is not None], ".2f", tables.OURS, LIMIT)
    return Claim(text, [cell for block in blocks for cell in block.values()], table=False)


def _ratio(value: float | None) -> str:
    return _NOT if value is None else f"{value:.2f}"


def _mean_ratio(of_loads: Sequence[float | None]) -> str:
    """Geometric, of those that count; how many these are, if not all."""
    found = [ratio for ratio in of_loads if ratio is not None]
    return f"{geometric_mean(found):.2f}" + ("" if len(found) == len(_SEVEN) else f" (of {len(found)})")


_SEVEN = ("cnn", "dbench", "md", "mix", "nlp", "web", "zipf")

_TICKS = {
    "MDSs tick every second all the time": "scheduler/churn-quick-ticks",
    "only while something moves": "cold",
}
"""Trees made and deleted, five minutes: the folder of each block."""


def _ticks(results: Results) -> Claim:
    """What it costs that MDSs write their journals every second."""
    names = (tables.OURS, BASE, _TO_AUTH, LIMIT)
    blocks = {
        row: {name: results.cell(f"{folder}/churn-tentacle-5x12-{name}-1") for name in names}
        for row, folder in _TICKS.items()
    }
    lines = [
        [
            row,
            tables.number(tables.whole(block[tables.OURS])),
            *(_ratio(tables.ratio(block, other, tables.whole)) for other in names[1:]),
            *(f"{_requests_an_operation(block[name]):.2f}" for name in names[:2]),
        ]
        for row, block in blocks.items()
    ]
    head = [
        *("", "scheduler, op/s", "/ built-in", "/ built-in to auth", "/ oracle"),
        *("requests an operation", "built-in's"),
    ]
    return Claim(compare.table(head, lines), [cell for block in blocks.values() for cell in block.values()])


_UNLIKE = "cold/quotas/zipf12-tentacle-4x8-8-16-16"
_LINE_OLDER = "scheduler/line-before/line-tentacle-8x8"
_MIX_OLDER = "scheduler/mix-before/mix-tentacle-5x12"
_COLD = ("cold/*-tentacle-5x12", "cold/line/line-tentacle-8x8")


def _cold_blocks(results: Results) -> list[dict[str, dict[str, Any]]]:
    """Of five minutes from cold, by balancer."""
    return [
        {
            name: results.cell(f"{cells.replace('*', ours['workload'])}-{name}-{ours['run']}")
            for name in (tables.OURS, BASE, _TO_AUTH, LIMIT)
        }
        for cells in _COLD
        for ours in results.cells(f"{cells}-{tables.OURS}-*")
    ]


def _cold(results: Results) -> Claim:
    """A row each, and what the seven workloads have on the mean."""
    lines, made_of, seven = [], list[Result](), list[list[float | None]]()
    for block in _cold_blocks(results):
        ours = block[tables.OURS]
        ratios = [
            *(tables.ratio(block, other, tables.whole) for other in (BASE, _TO_AUTH, LIMIT)),
            tables.ratio(block, LIMIT, tables.later),
            *(tables.each_client(block, other) for other in (_TO_AUTH, LIMIT)),
        ]
        shown = [tables.number(of(ours)) for of in (tables.whole, tables.even_after, tables.moved)]
        lines.append([ours["workload"], shown[0], *map(_ratio, ratios), *shown[1:]])
        seven += [ratios] if ours["workload"] in _SEVEN else []
        made_of += block.values()
    lines.append(["the seven", "-", *map(_mean_ratio, zip(*seven, strict=True)), "-", "-"])
    head = [
        *("load", "scheduler, op/s", "/ built-in", "/ built-in to auth", "/ oracle", "/ oracle from 60 s"),
        *("each client / built-in to auth", "each client / oracle", "s until even", "inodes moved"),
    ]
    return Claim(compare.table(head, lines), made_of)


def _quick(results: Results) -> Claim:
    """What make bench-quick found: everybody had the load for a while."""
    cells = results.cells("quick/*")
    names = (BASE, _TO_AUTH, tables.OURS, "subvolume-pinning", LIMIT)
    return Claim(tables.beside(cells, ("zipf", "cnn"), names), cells)


def _unlike(results: Results) -> Claim:
    """Of ranks with different quotas: what each serves, with the scheduler and with the oracle."""
    block = {name: results.cell(f"{_UNLIKE}-{name}-1") for name in (tables.OURS, LIMIT)}
    head = ["op/s", "all", "/ oracle", "/ oracle from 60 s"]
    lines = []
    for name, cell in block.items():
        run = figures.within(figures.loads(cell), cell["spans"]["run"])
        ranks = [fmean(load[rank] for load in run) for rank in range(cell["ranks"])]
        ratios = [
            _ratio(tables.between(block, name, LIMIT, of)) if name != LIMIT else "-"
            for of in (tables.whole, tables.later)
        ]
        shown = [tables.number(tables.whole(cell)), *ratios, *map(tables.number, ranks)]
        lines.append([name, *shown, tables.number(tables.even_after(cell))])
    quotas = [f"req/s at {quota} %" for quota in _QUOTAS]
    return Claim(compare.table([*head, *quotas, "s until even"], lines), list(block.values()))


_QUOTAS = (8, 8, 16, 16)  # of a core, rank by rank


def _cycle(results: Results) -> Claim:
    """Of a load that comes every two minutes, time by time."""
    cell = results.cell(f"cycle-long/cycle-tentacle-5x12-{tables.OURS}-1")
    return Claim(cycle.table(cell), [cell])


def _parts(
    cells: str, part: Callable[[str, str], str], others: Mapping[str, str] = {}
) -> Callable[[Results], Claim]:
    """op/s of a block from cold by parts, a row a balancer.

    :param part: of a client's name and an operation's
    :param others: rows of other blocks, and their cells
    """

    def claim(results: Results) -> Claim:
        block = {name: results.cell(f"{cells}-{name}-1") for name in (tables.OURS, BASE, _TO_AUTH, LIMIT)}
        block |= {name: results.cell(cell) for name, cell in others.items()}
        found = {name: _ops_by(cell, part) for name, cell in block.items()}
        heads = sorted({head for ops in found.values() for head in ops})
        lines = [
            [
                *(name, tables.number(round(cell["capacity"])), tables.number(tables.whole(cell))),
                *(tables.number(found[name][head]) for head in heads),
            ]
            for name, cell in block.items()
        ]
        return Claim(compare.table(["op/s", "C", "all", *heads], lines), list(block.values()))

    return claim


def _sum_and_each(results: Results) -> tuple[list[Result], float | None, float | None]:
    """Of the mix: the scheduler over the built-in balancer with the option, in all and by client."""
    names = (tables.OURS, _TO_AUTH)
    block = {name: results.cell(f"cold/mix-tentacle-5x12-{name}-1") for name in names}
    whole, each = tables.ratio(block, _TO_AUTH, tables.whole), tables.each_client(block, _TO_AUTH)
    return list(block.values()), whole, each


def _sum(results: Results) -> Claim:
    made_of, whole, _ = _sum_and_each(results)
    return Claim(_ratio(whole), made_of, table=False)


def _each_client(results: Results) -> Claim:
    made_of, _, each = _sum_and_each(results)
    return Claim(_ratio(each), made_of, table=False)


def _before(cells: str) -> dict[str, str]:
    return {f"{name}, before": f"{cells}-{name}-1" for name in (tables.OURS, _TO_AUTH, LIMIT)}


_LINE_BEFORE = _before(_LINE_OLDER)
"""Before reading was mended."""
_MIX_BEFORE = _before(_MIX_OLDER)
"""Before scans were told from loads that stay, and parts of what is taken apart were known at once."""


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


def _cost(results: Results) -> Claim:
    """What the scheduler costs the manager."""
    (measured,) = results.json("schedule-cost.json")
    cost = measured["percent_of_a_core"]
    lines = [
        [state, *(f"{parts[loop]:.1f}" for loop in ("look", "read", "move", "all"))]
        for state, parts in cost.items()
    ]
    return Claim(compare.table(["% of a core", "looks", "reads", "moves", "all"], lines), [measured])


def _requests_an_operation(cell: Result) -> float:
    span = cell["spans"]["run"]
    served = figures.total(cell, "requests", span) - figures.total(cell, "forwards", span)
    return float(served / (tables.whole(cell) * (span[1] - span[0])))


_TRIALS = (
    *(("zipf-before", "zipf", "120, c0eb76e"), ("jumps-before", "jumps", "185, c0eb76e")),
    *(("jumps", "jumps", "185, f0256d3"), ("jumps-after", "jumps", "185, 3e23313, by itself")),
    *(("four", "cnn", "120, b5c2677"), ("four", "mix", "120, b5c2677")),
    ("jumps-asleep", "jumps", "185, bcaf7ef, beside other work at nice 19"),
    *((("six", load, "120, c451f2f")) for load in ("web", "md", "zipf", "cnn")),
)
"""Folder, load, and seconds and commit: cells of before digests do not know it."""


def _trials(results: Results) -> Claim:
    """The scheduler's single blocks, one row each."""
    lines, made_of = [], list[Result]()
    for folder, load, about in _TRIALS:
        cells = results.cells(f"scheduler/{folder}/{load}-tentacle-5x12-*")
        block = {str(cell["balancer"]): cell for cell in cells}
        ours = block[tables.OURS]
        ratios = [
            _ratio(tables.ratio(block, other, of)) if other in block else "-"
            for other, of in (
                (LIMIT, tables.whole),
                (LIMIT, tables.later),
                (BASE, tables.whole),
                (_TO_AUTH, tables.whole),
            )
        ]
        shown = [tables.number(of(ours)) for of in (tables.whole, tables.even_after, tables.moved)]
        lines.append([folder, f"{load}, {about}", shown[0], *ratios, *shown[1:]])
        made_of += cells
    head = [
        *(
            "folder",
            "load, seconds, commit",
            "scheduler, op/s",
            "/ oracle",
            "/ oracle from 60 s",
            "/ built-in",
        ),
        *("/ built-in to auth", "s until even", "inodes moved"),
    ]
    return Claim(compare.table(head, lines), made_of)


def _churn(results: Results) -> Claim:
    """Pairs of the trial, the smaller ratio first."""
    (trial,) = results.json("scheduler/churn-trial.json")
    runs = trial["runs"]
    of = {way: [run["ops"] for run in runs if run["way"] == way] for way in (BASE, "scheduler")}
    if not of["scheduler"] or len(of["scheduler"]) != len(of[BASE]):
        raise LabError("the churn trial has no pairs of runs of the scheduler and the built-in balancer")
    ratios = sorted(ours / theirs for ours, theirs in zip(of["scheduler"], of[BASE], strict=True))
    return Claim(" and ".join(f"{ratio:.1f}" for ratio in ratios), runs, table=False)


def _demo(results: Results) -> Claim:
    runs = results.json("demo-[0-9]*.json")

    def middle(name: str) -> str:
        return medians.median(runs, name).replace("%", " %")

    rows = [
        ["throughput of all clients", f"{middle('throughput before, op/s')} op/s",
         f"{middle('throughput after, op/s')} op/s "
         f"({middle('**throughput after / before**')} times, median of the ratios)"],
        ["imbalance factor", middle("**IF before**"), middle("**IF after**")],
        ["p95 latency", f"{middle('p95 latency before, ms')} ms", f"{middle('p95 latency after, ms')} ms"],
        ["fullest rank's part of the load", middle("fullest rank's part before"),
         middle("fullest rank's part after")],
    ]  # fmt: skip
    return Claim(compare.table(["", "before", "after"], rows), runs)


def _demo_runs(results: Results) -> Claim:
    runs = results.json("demo-[0-9]*.json")
    return Claim(medians.markdown(runs), runs)


CLAIMS: Mapping[str, Callable[[Results], Claim]] = {
    "demo": _demo,
    "demo-runs": _demo_runs,
    "pinning-over-builtin": _range("subvolume-pinning", BASE, ".1f"),
    "pinning-over-oracle": _range("subvolume-pinning", LIMIT, ".2f", but=("mix",)),
    "pinning-over-oracle-in-mix": _one("mix", "subvolume-pinning", LIMIT),
    "lunule-over-builtin": _range("lunule", BASE, ".2f"),
    "lunule-mindex-over-builtin": _range("lunule-mindex", BASE, ".2f"),
    "pinning": lambda results: _against(results, "subvolume-pinning"),
    "lunule-mindex": lambda results: _against(results, "lunule-mindex"),
    "left-out": _left_out,
    "goals": _goals,
    "losses": _losses,
    "adaptation": _adaptation,
    "scale": _scale,
    "option": _option,
    "option-alone": _option_alone,
    "scheduler-blocks": _scheduler,
    "scheduler-over-better": _scheduler_over_better,
    "scheduler-seven-over-better": _seven_over_better,
    "scheduler-over-oracle": _scheduler_over_oracle,
    "scheduler-cold": _cold,
    "scheduler-mix-sum": _sum,
    "scheduler-mix-each": _each_client,
    "scheduler-line": _parts("cold/line/line-tentacle-8x8", _kind, _LINE_BEFORE),
    "scheduler-mix": _parts("cold/mix-tentacle-5x12", _group, _MIX_BEFORE),
    "scheduler-unlike": _unlike,
    "scheduler-cycle": _cycle,
    "settled-quick": _quick,
    "scheduler-cost": _cost,
    "scheduler-ticks": _ticks,
    "scheduler-trials": _trials,
    "scheduler-churn": _churn,
}
