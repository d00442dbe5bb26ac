# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs LINE's sequence and what it is compared with, draws, and writes the text."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress

from sim.papers.line import clusters, document, figures
from sim.papers.line.evaluation import Phase, alone, phases

SEEDS: Final = (1, 2, 3)
_RUNS: Final[dict[str, Callable[[int], list[Phase]]]] = {
    document.LINE: phases,
    document.BUILTIN: lambda seed: alone("builtin", seed),
    document.OURS: lambda seed: alone("plan", seed),
}


def report(out: Path) -> str:
    """The Markdown text; the picture goes to `out`, which must be there."""
    found: dict[str, list[list[Phase]]] = {name: [] for name in _RUNS}
    large = [(ranks, policy) for ranks in clusters.RANKS for policy in clusters.POLICIES]
    production = {}
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("line: runs", total=len(SEEDS) * len(_RUNS) + len(large))
        for name, play in _RUNS.items():
            for seed in SEEDS:
                found[name].append(play(seed))
                progress.advance(task)
        for cell in large:
            production[cell] = clusters.play(*cell)
            progress.advance(task)
    figures.draw({name: runs[0] for name, runs in found.items()}, out / document.PICTURE)
    return document.text(found, production)
