# SPDX-License-Identifier: LGPL-2.1-or-later
"""A table a scenario, and one for all, for a terminal of 100 columns or as Markdown."""

from collections.abc import Iterator, Mapping

from prettytable import PrettyTable, TableStyle

from sim.compare.scores import Cannot, Score, Scores, summary

LEGEND = (
    "throughput, later (of the second half) and cost (inodes moved): in times of the oracle's; "
    "forwards: for each request"
)
TITLES = ("policy", "throughput", "later", "mean IF", "p99 IF", "moves", "inodes", "cost", "forwards")
CANNOT = "cannot"


def of_scenario(found: Mapping[str, Score | Cannot], markdown: bool) -> str:
    """A row a policy; below it, why a policy cannot run, and whose orders were unsafe."""
    return "\n".join([_table(found, markdown), *_notes(found)])


def of_all(scores: Scores, markdown: bool) -> str:
    """A row a policy, over all scenarios."""
    policies = next(iter(scores.values()))
    return "\n".join([_table({p: summary(scores, p) for p in policies}, markdown), *_missing(scores)])


def _table(found: Mapping[str, Score | Cannot], markdown: bool) -> str:
    table = PrettyTable(list(TITLES), align="r")
    table.align["policy"] = "l"
    if markdown:
        table.set_style(TableStyle.MARKDOWN)
    for policy, one in found.items():
        table.add_row([policy, *_row(one)])
    return str(table.get_string())


def _row(one: Score | Cannot) -> list[str]:
    if isinstance(one, Cannot):
        return [CANNOT, *[""] * (len(TITLES) - 2)]
    return [
        f"{one.part:.2f}",
        f"{one.later:.2f}",
        f"{one.mean:.3f}",
        f"{one.p99:.3f}",
        f"{one.moves:,.0f}",
        f"{one.inodes:,.0f}",
        "" if one.cost is None else f"{one.cost:.2f}",
        f"{one.forwards:.3f}",
    ]


def _notes(found: Mapping[str, Score | Cannot]) -> Iterator[str]:
    for policy, one in found.items():
        if isinstance(one, Cannot):
            yield f"\n{policy} {CANNOT}: {one.why}"
        elif one.unsafe:
            yield f"\n{policy} gave {one.unsafe} orders to ranks that are down or masked out"


def _missing(scores: Scores) -> Iterator[str]:
    for policy in next(iter(scores.values())):
        without = [name for name, found in scores.items() if isinstance(found[policy], Cannot)]
        if without:
            yield f"\n{policy} is without {', '.join(without)}"
