# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is printed: a table of all scenarios, and all about one that fails."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

import numpy as np
from matplotlib.ticker import EngFormatter
from prettytable import PrettyTable

from sim import markdown
from sim.measures import factors
from sim.stamp import stamp
from sim.verdict import Checked, Verdict

AROUND = 30.0  # s before and after: the decisions that are told of a failure
MOST = 12  # lines of them
LEGEND = """part: requests that clients got through, in parts of the oracle's
IF, p99: imbalance factor of epochs of 10 s, mean and 99th percentile
moves, inodes: subtrees that moved, and what was in them
cost: these inodes, in times of the oracle's
result: known is a known failure"""
COLUMNS = ("scenario", "result", "part", "IF", "p99", "moves", "inodes", "cost")
_SHORT = EngFormatter(places=0, sep="")


def table(verdicts: Sequence[Verdict]) -> str:
    """A row a scenario, narrow enough for a terminal of 80 columns; figures are of its first seed."""
    name, *rest = COLUMNS
    found = PrettyTable(
        [name, "policy", *rest],
        border=False,
        padding_width=0,
        right_padding_width=1,
        align="r",
    )
    found.align["scenario"] = found.align["policy"] = found.align["result"] = "l"
    for verdict in verdicts:
        name, *rest = _row(verdict)
        found.add_row([name, verdict.scenario.policy, *rest])
    return f"{found.get_string()}\n{LEGEND}"


def page(policy: str, verdicts: Sequence[Verdict]) -> str:
    """The same as Markdown, of one policy in all scenarios, and why it fails where it does."""
    known = [(verdict, failure) for verdict in verdicts if (failure := verdict.scenario.known_failure)]
    reasons = [(verdict.scenario.name, _broken(verdict), failure.why) for verdict, failure in known]
    return Template(Path(__file__).with_name("policy.md.in").read_text()).substitute(
        policy=policy,
        stamp=stamp(),
        table=markdown.table(COLUMNS, map(_row, verdicts)),
        reasons=markdown.table(("scenario", "what does not hold", "reason"), reasons),
    )


def _broken(verdict: Verdict) -> str:
    """What does not hold, and what was seen instead from each seed that breaks it."""
    seen: dict[str, list[str]] = {}
    for run in verdict.runs:
        for finding in run.broken:
            seen.setdefault(f"{finding.kind}: {finding.asserted}", []).append(finding.seen)
    return "; ".join(f"{asserted} (seen: {' | '.join(each)})" for asserted, each in seen.items())


def _row(verdict: Verdict) -> tuple[str, ...]:
    """COLUMNS."""
    first = verdict.runs[0].recording
    oracle, values = verdict.oracle, factors(first)
    return (
        verdict.scenario.name,
        _result(verdict),
        _ratio(first.answered, oracle.answered) if oracle is not None else "",
        f"{values.mean():.2f}" if values.size else "",
        f"{np.quantile(values, 0.99):.2f}" if values.size else "",
        str(len(first.moves)),
        _SHORT(first.moved),
        _ratio(first.moved, oracle.moved) if oracle is not None else "",
    )


def _ratio(own: float, oracles: float) -> str:
    return f"{own / oracles:.2f}" if oracles else ""


def _result(verdict: Verdict) -> str:
    if verdict.problem:
        return "FAILS"
    return "known" if verdict.scenario.known_failure else "passes"


def unbroken(verdicts: Sequence[Verdict]) -> str:
    """What was not seen to be able to fail, an assertion a line. "": everything was."""
    kept = [(verdict.scenario, finding) for verdict in verdicts for finding in verdict.unbroken]
    lines = [f"  {of.name}, {', '.join(of.fails_with)}: {one.kind}: {one.asserted}" for of, one in kept]
    title = "The policies that must fail keep these, so nobody was seen to break them:"
    return "\n".join([title, *lines]) if lines else ""


def failure(verdict: Verdict) -> str:
    """Everything about a scenario that fails."""
    lines = [f"{verdict.scenario.name}: {verdict.problem}", f"  {verdict.scenario.about}"]
    for run in (*verdict.runs, *verdict.others):
        lines += _run(run)
    return "\n".join(lines)


def _run(run: Checked) -> Iterator[str]:
    yield f"  {run.recording.policy}, seed {run.recording.seed}:"
    for finding in run.findings:
        mark = "holds" if finding.holds else "BROKEN"
        yield f"    {mark:6} {finding.kind}: {finding.asserted}; seen: {finding.seen}"
    for finding in run.broken[:1]:
        yield from _around(run, finding.at)


def _around(run: Checked, at: float | None) -> Iterator[str]:
    """The decisions near a moment, or the last ones."""
    said = run.recording.said
    near = [item for item in said if at is None or abs(item[0] - at) <= AROUND]
    where = "last decisions" if at is None else f"decisions around {at:g} s"
    yield f"    {where}:" if near else f"    {where}: none"
    for time, text in near[-MOST:] if at is None else near[:MOST]:
        yield f"      {time:7.1f} s  {text}"
