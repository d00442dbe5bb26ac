# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is printed: a table of all scenarios, and all about one that fails."""

from collections.abc import Iterator, Sequence

import numpy as np
from prettytable import PrettyTable

from sim.measures import factors
from sim.verdict import Checked, Verdict

AROUND = 30.0  # s before and after: the decisions that are told of a failure
MOST = 12  # lines of them


def table(verdicts: Sequence[Verdict]) -> str:
    """A row a scenario; figures are of its first seed."""
    found = PrettyTable(
        [
            *("scenario", "policy", "result", "requests", "of oracle", "mean IF", "p99 IF", "moves"),
            *("inodes", "oracle's", "forwards", "must fail"),
        ]
    )
    found.align = "r"
    found.align["scenario"] = found.align["policy"] = found.align["result"] = "l"
    for verdict in verdicts:
        first = verdict.runs[0].recording
        oracle, values = verdict.oracle, factors(first)
        found.add_row(
            [
                verdict.scenario.name,
                first.policy,
                _result(verdict),
                f"{first.answered:,.0f}",
                f"{first.answered / max(oracle.answered, 1.0):.2f}" if oracle is not None else "",
                f"{values.mean():.3f}" if values.size else "",
                f"{np.quantile(values, 0.99):.3f}" if values.size else "",
                len(first.moves),
                f"{first.moved:,.0f}",
                f"{oracle.moved:,.0f}" if oracle is not None else "",
                f"{first.forwards:,.0f}",
                verdict.scenario.fails_with,
            ]
        )
    return str(found.get_string())


def _result(verdict: Verdict) -> str:
    if verdict.problem:
        return "FAILS"
    return "known failure" if verdict.scenario.known_failure else "passes"


def failure(verdict: Verdict) -> str:
    """Everything about a scenario that fails."""
    lines = [f"{verdict.scenario.name}: {verdict.problem}", f"  {verdict.scenario.about}"]
    for run in (*verdict.runs, verdict.other):
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
