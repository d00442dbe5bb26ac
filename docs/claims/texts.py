# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each claim by its name: how it is rendered, and of which results."""

from collections.abc import Callable, Sequence

from demo import medians
from docs.claims import blocks, losses, noise, pins, policies, scale, scheduler, speed, tails
from docs.claims.claim import Claim, Claims, span
from docs.claims.results import Result, Results
from experiments.common.figures import compare, correction, markdown, paper, run_figures
from experiments.common.figures.compare import BASE, LIMIT, Ratio
from experiments.common.figures.limits import TOLD, limits
from experiments.common.workloads import MATRIX


def _of(results: Results, *balancers: str) -> list[Result]:
    return [cell for cell in results.matrix if cell["balancer"] in balancers]


def _against(results: Results, balancer: str) -> Claim:
    return Claim(compare.of_one(results.rows, balancer), _of(results, balancer, BASE, LIMIT))


def _range(of: str, against: str, form: str, only: Sequence[str] = ()) -> Callable[[Results], Claim]:
    """From the least to the most of the workloads' ratios of op/s."""

    def claim(results: Results) -> Claim:
        ratios = (
            compare.ratio(results.rows, name, paper.OPS, of, against)
            for name in results.rows
            if not only or name in only
        )
        text = span((r.median for r in ratios if r and r.blocks), form, f"{of} and {against}")
        return Claim(text, _of(results, of, against), table=False)

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
    return Claim(markdown.table(["goal", *ours], lines), _of(results, *ours, BASE, LIMIT))


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


def _lasted(*balancers: str) -> Callable[[Results], Claim]:
    """How long runs of the matrix were, s."""

    def claim(results: Results) -> Claim:
        cells = _of(results, *balancers) if balancers else results.matrix
        seconds = (end - begin for begin, end in (cell["spans"]["run"] for cell in cells))
        return Claim(span(seconds, ".0f", "the matrix"), cells, table=False)

    return claim


def _losses(results: Results) -> Claim:
    """Where a balancer of ours was behind; a row each."""
    ours = ("subvolume-pinning", "lunule-mindex", "lunule")
    lines = [
        [name, _below(results, name, BASE, 1.0), _below(results, name, LIMIT, paper.ORACLE_GOAL)]
        for name in ours
    ]
    head = ["", "behind built-in", f"below {paper.ORACLE_GOAL:.2f} of the oracle"]
    return Claim(markdown.table(head, lines), _of(results, *ours, BASE, LIMIT))


def _below(results: Results, of: str, against: str, least: float) -> str:
    """The medians of op/s that are lower; by op/s / C, too, where C changed."""
    found = [
        (name, how, ratio)
        for name in results.rows
        for what, how in ((paper.OPS, ""), (paper.RANKS_WORTH, ", by op/s / C"))
        if (ratio := compare.ratio(results.rows, name, what, of, against)) and (ratio.changed or not how)
    ]
    lower = [f"{name} {r.median:.2f}{how}" for name, how, r in found if r.blocks and r.median < least]
    return ", ".join(lower) or "nowhere"


def _left_out(results: Results) -> Claim:
    """The cells of the matrix that do not count."""
    lines = [
        [
            f"{cell['workload']}, {cell['balancer']}, run {cell['run']}",
            *(f"{value:.2f}" for value in found.told.values()),
        ]
        for cell in results.matrix
        if not (found := limits(cell)).counts
    ]
    return Claim(markdown.table(["", *TOLD], lines) or "Every cell counts.", results.matrix)


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
        markdown.table(["mean op/s of 50 s", *steps], lines), [c for mine in cells.values() for c in mine]
    )


def _scale(results: Results) -> Claim:
    cells = results.cells("bench/scale-tentacle*x6-*")
    return Claim(scale.table(scale.measured(cells)), cells)


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
    return Claim(markdown.table(["", "before", "after"], rows), runs)


def _demo_runs(results: Results) -> Claim:
    runs = results.json("demo-[0-9]*.json")
    return Claim(medians.markdown(runs), runs)


def _capacities(results: Results) -> Claim:
    """Of the least and the most that a rank served in any cell that a document compares."""
    five = [cell for block in blocks.of_five_minutes(results) for cell in block.values()]
    cells = [*results.matrix, *results.cells("mask/*"), *results.cells("quick/*"), *five]
    return Claim(span((float(cell["capacity"]) for cell in cells), ",.0f", "them"), cells, table=False)


def _reference(results: Results) -> Claim:
    cells = results.cells("reference/*")
    return Claim(str(correction.fitted(cells)), cells, table=False)


CLAIMS: Claims = {
    "demo": _demo,
    "demo-runs": _demo_runs,
    "pinning-over-builtin-not-zipf": _range(
        "subvolume-pinning", BASE, ".1f", only=[name for name in MATRIX if name != "zipf"]
    ),
    "pinning-over-oracle": _range("subvolume-pinning", LIMIT, ".2f"),
    "lunule-over-builtin": _range("lunule", BASE, ".2f"),
    "lunule-mindex-over-builtin": _range("lunule-mindex", BASE, ".2f"),
    "lunule-mindex-over-builtin-scans": _range("lunule-mindex", BASE, ".2f", only=("cnn", "nlp")),
    "lasted": _lasted(),
    "lasted-builtin": _lasted(BASE),
    "lasted-pinning": _lasted("subvolume-pinning"),
    "lasted-lunule-mindex": _lasted("lunule-mindex"),
    "pinning": lambda results: _against(results, "subvolume-pinning"),
    "lunule-mindex": lambda results: _against(results, "lunule-mindex"),
    "left-out": _left_out,
    "goals": _goals,
    "losses": _losses,
    "scheduler-losses": losses.claim,
    "scheduler-short-least": losses.least_of_short,
    "adaptation": _adaptation,
    "lunule-to-auth": policies.to_auth,
    "lunule-to-auth-mean": policies.mean_to_auth,
    "scale": _scale,
    "reference": _reference,
    "capacities": _capacities,
    "chance": noise.told,
    "chance-five": noise.five,
    "chance-five-wider": noise.wider,
    "chance-by-load": noise.by_load,
    "scheduler-verdict": noise.verdict,
    **scheduler.CLAIMS,
    **speed.CLAIMS,
    **pins.CLAIMS,
    **tails.CLAIMS,
}
