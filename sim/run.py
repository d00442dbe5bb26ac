# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs scenarios, and says what becomes of them."""

from collections.abc import Sequence
from pathlib import Path

from sim.course import run
from sim.draw import draw
from sim.markdown import wrapped
from sim.parallel import each
from sim.report import failure, page, table, unbroken
from sim.scenario import Scenario
from sim.verdict import Verdict, jobs, judge


def run_all(
    scenarios: Sequence[Scenario], out: Path, workers: int, pictures: bool, policy: str | None = None
) -> int:
    """Run, print, and draw what fails, or everything. How many scenarios fail.

    :param workers: runs at once; 0: one a core
    :param policy: whose page is written to ``out``
    """
    recordings = each([(scenario, job) for scenario in scenarios for job in jobs(scenario)], run, workers)
    verdicts = [
        judge(scenario, {job: recordings[scenario.name, job] for job in jobs(scenario)})
        for scenario in scenarios
    ]
    bad = [verdict for verdict in verdicts if verdict.problem]
    print(table(verdicts))
    if policy is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{policy}.md").write_text(wrapped(page(policy, verdicts)))
    for verdict in bad:
        print(f"\n{failure(verdict)}")
    for verdict in verdicts if pictures else bad:
        for path in _draw(verdict, out):
            print(f"drawn: {path}")
    if told := unbroken(verdicts):
        print(f"\n{told}\n")
    known = sum(bool(verdict.scenario.known_failure) for verdict in verdicts if not verdict.problem)
    print(f"{len(verdicts)} scenarios: {len(bad)} fail, {known} are known to fail")
    return len(bad)


def _draw(verdict: Verdict, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    drawn = []
    first, *rest = verdict.runs
    for checked in (first, *(other for other in rest if other.broken), *verdict.others):
        recording = checked.recording
        path = out / f"{recording.scenario}-{recording.policy}-{recording.seed}.png"
        draw(recording, path)
        drawn.append(path)
    return drawn
