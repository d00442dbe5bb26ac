# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the cells, draws the pictures, writes the text."""

from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from sim.papers.ilt import document, experiments, figures, measures, published
from sim.papers.ilt.experiments import Outcomes
from sim.papers.ilt.parameters import Load
from sim.papers.ilt.run import SYSTEMS


def report(out: Path) -> str:
    """Everything; pictures go to `out`, which must be there. The Markdown text."""
    cells = experiments.cells()
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("ilt: runs", total=len(cells))
        outcomes = experiments.run(cells, lambda: progress.advance(task))
    draw(outcomes, out)
    return document.text(outcomes)


def draw(outcomes: Outcomes, out: Path) -> None:
    """Every picture that the text shows."""
    for name, label in (("assumed", "as assumed"), ("favour", "all in the paper's favour")):
        reading = experiments.READINGS[label]
        figures.waiting(
            [outcomes[system, experiments.seeded(reading)[0]] for system in SYSTEMS],
            f"As Figures 3 to 5: requests waiting at each server, {label}",
            out / document.PICTURES[name],
        )
    _dispatcher(outcomes, out / document.PICTURES["dispatcher"])
    figures.rates(
        experiments.RATES,
        {
            system: [
                measures.median(outcomes, system, experiments.at_rate(rate), measures.response)
                for rate in experiments.RATES
            ]
            for system in SYSTEMS
        },
        "Response by rate, no renames",
        out / document.PICTURES["rates"],
    )
    added = experiments.SERVER_ADDED
    figures.addition(
        [outcomes[system, added] for system in SYSTEMS],
        experiments.SERVER_ADDED_AT,
        "A ninth server is added",
        out / document.PICTURES["added"],
    )


def _dispatcher(outcomes: Outcomes, path: Path) -> None:
    def simulated(poisson: bool) -> list[float]:
        return [
            measures.median(outcomes, "ILT", experiments.dispatched(time, poisson), measures.response)
            for time in experiments.DISPATCHER_TIMES
        ]

    ideal = measures.median(outcomes, "ILT", experiments.dispatched(None, poisson=True), measures.response)
    figures.dispatcher(
        experiments.DISPATCHER_TIMES,
        {
            "ILT, Poisson arrivals": simulated(poisson=True),
            "ILT, with bursts and renames": simulated(poisson=False),
            "its response + 1/(C - lambda)": [
                ideal + published.dispatcher_response(time, Load().rate)
                for time in experiments.DISPATCHER_TIMES
            ],
        },
        {
            system: measures.median(
                outcomes, system, experiments.swept(experiments.AS_ASSUMED), measures.response
            )
            for system in ("Vesta", "LH3")
        },
        "As Figure 6: the dispatcher's part of the response",
        path,
    )
