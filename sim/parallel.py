# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many runs of scenarios, as many at once as there are cores, with their progress on stderr."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sim.scenario import Scenario

T = TypeVar("T")
Job = tuple[str, int]  # policy and seed
Do = Callable[[Scenario, str, int], T]


def each(wanted: Sequence[tuple[Scenario, Job]], do: Do[T], workers: int) -> dict[tuple[str, Job], T]:
    """What ``do`` finds for each scenario, policy and seed, by the scenario's name and the job.

    :param workers: runs at once; 0: one a core
    """
    found: dict[tuple[str, Job], T] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("runs", total=len(wanted))
        with ProcessPoolExecutor(workers or os.cpu_count() or 1, initializer=_ends_when_told) as pool:
            # The longest first, so that no core waits for it at the end.
            futures: dict[Future[T], tuple[str, Job]] = {}
            for scenario, job in sorted(wanted, key=lambda item: -_length(item[0])):
                futures[pool.submit(do, scenario, *job)] = (scenario.name, job)
            try:
                for future in as_completed(futures):
                    name, job = futures[future]
                    found[name, job] = future.result()
                    progress.update(task, advance=1, description=f"{name}, {job[0]}")
            except BaseException:
                for worker in multiprocessing.active_children():
                    worker.terminate()  # what it works on is of no use any more
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return found


def _ends_when_told() -> None:
    """In a worker: Ctrl-C is for the one who began it, which ends all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, signal.SIG_DFL)


def _length(scenario: Scenario) -> float:
    """How long a run takes, in a unit of its own."""
    return scenario.seconds / scenario.physics.step * (1 + sum(kind.count for kind in scenario.subvolumes))
