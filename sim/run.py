# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs scenarios, as many runs at once as there are cores."""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sim.course import Recording, run
from sim.draw import draw
from sim.report import failure, table
from sim.scenario import Scenario
from sim.verdict import Job, Verdict, jobs, judge


def run_all(scenarios: Sequence[Scenario], out: Path, workers: int, pictures: bool) -> int:
    """Run, print, and draw what fails, or everything. How many scenarios fail.

    :param workers: runs at once; 0: one a core
    """
    recordings = _recordings(scenarios, workers or os.cpu_count() or 1)
    verdicts = [judge(scenario, recordings[scenario.name]) for scenario in scenarios]
    bad = [verdict for verdict in verdicts if verdict.problem]
    print(table(verdicts))
    for verdict in bad:
        print(f"\n{failure(verdict)}")
    for verdict in verdicts if pictures else bad:
        for path in _draw(verdict, out):
            print(f"drawn: {path}")
    known = sum(bool(verdict.scenario.known_failure) for verdict in verdicts if not verdict.problem)
    print(f"{len(verdicts)} scenarios: {len(bad)} fail, {known} are known to fail")
    return len(bad)


def _recordings(scenarios: Sequence[Scenario], workers: int) -> dict[str, dict[Job, Recording]]:
    found: dict[str, dict[Job, Recording]] = {scenario.name: {} for scenario in scenarios}
    wanted = [(scenario, job) for scenario in scenarios for job in jobs(scenario)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("runs", total=len(wanted))
        with ProcessPoolExecutor(workers) as pool:
            # The longest first, so that no core waits for it at the end.
            futures: dict[Future[Recording], tuple[str, Job]] = {}
            for scenario, job in sorted(wanted, key=lambda item: -_length(item[0])):
                futures[pool.submit(run, scenario, *job)] = (scenario.name, job)
            try:
                for future in as_completed(futures):
                    name, job = futures[future]
                    found[name][job] = future.result()
                    progress.update(task, advance=1, description=f"{name}, {job[0]}")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return found


def _length(scenario: Scenario) -> float:
    """How long a run takes, in a unit of its own."""
    return scenario.seconds / scenario.physics.step * (1 + sum(kind.count for kind in scenario.subvolumes))


def _draw(verdict: Verdict, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    drawn = []
    for checked in (*verdict.runs[:1], *(other for other in verdict.runs[1:] if other.broken), verdict.other):
        recording = checked.recording
        path = out / f"{recording.scenario}-{recording.policy}-{recording.seed}.png"
        draw(recording, path)
        drawn.append(path)
    return drawn
