# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lunule's tests of adaptation (Figure 12): `python3 -m experiments.adaptation`.

ranks: clients read by Zipf's law; max_mds goes from 4 to 5 to 6. clients: on five ranks, three clients
more at each of four steps.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from experiments.adaptation.picture import draw
from experiments.common.balancers.balancers import BALANCERS
from experiments.common.balancers.setting import FS
from experiments.common.cells import store
from experiments.common.cells.cell import Phases, ResetError, measure
from experiments.common.cells.options import add_options, program
from experiments.common.cells.order import Cluster, Order
from experiments.common.cells.stage import Stage, until_working
from experiments.common.figures import figures, markdown, run_figures
from experiments.common.measurement import exit_status
from experiments.common.pictures import PICTURES
from experiments.common.provenance import age
from experiments.common.workloads.base import Workload
from experiments.common.workloads.private import ZIPF
from lab.clients.run import Line
from lab.clients.spec import LoadSpec
from lab.progress import ConsoleProgress
from lab.ranks import active
from lab.waiting import until

_ENDLESS = 1_000_000_000  # operations
_ACTIVE_S = 30.0
RANKS = replace(ZIPF, kind="ranks", operations=_ENDLESS)
CLIENTS = replace(ZIPF, kind="clients", operations=_ENDLESS, clients=12)
_STEPS = (5, 6)
_GROUP = 3


def _load(stage: Stage, first: int, count: int) -> LoadSpec:
    load = stage.cluster.workload.load("run", stage.paths, "dynamic")
    return replace(load, clients=load.clients[first : first + count])


def _set_ranks(stage: Stage, wanted: int) -> None:
    """Return when the rank is active."""
    stage.lab.monitor.command("fs set", fs_name=FS, var="max_mds", val=str(wanted))
    until(lambda: len(active(stage.lab)) >= wanted, _ACTIVE_S, f"rank {wanted - 1} is active")


def ranks_added(seconds: float) -> Phases:
    """More ranks while all clients work."""

    def phases(stage: Stage, lines: list[Line]) -> dict[str, tuple[float, float]]:
        spans = {}
        load = _load(stage, 0, len(stage.cluster.workload.subvolumes))
        with stage.lab.clients(load, on_line=lines.append) as clients:
            until_working(lines, {client.name for client in load.clients})
            for wanted in (stage.cluster.ranks, *_STEPS):
                with stage.progress.step(f"{wanted} ranks"):
                    _set_ranks(stage, wanted)
                    began = time.time()
                    time.sleep(seconds)
                    spans[f"{wanted} ranks"] = (began, time.time())
            clients.stop()
        return spans

    return phases


def clients_added(seconds: float) -> Phases:
    """More clients; those that are there go on."""

    def phases(stage: Stage, lines: list[Line]) -> dict[str, tuple[float, float]]:
        spans = {}
        total = len(stage.cluster.workload.subvolumes)
        with ExitStack() as running:
            for first in range(0, total, _GROUP):
                load = _load(stage, first, _GROUP)
                with stage.progress.step(f"{first + _GROUP} clients"):
                    running.enter_context(stage.lab.clients(load, on_line=lines.append))
                    until_working(lines, {client.name for client in load.clients})
                    began = time.time()
                    time.sleep(seconds)
                    spans[f"{first + _GROUP} clients"] = (began, time.time())
        return spans

    return phases


TESTS: dict[str, tuple[Workload, int, int]] = {"ranks": (RANKS, 4, len(_STEPS)), "clients": (CLIENTS, 5, 0)}
"""Workload, ranks at the beginning, MDSs in standby."""


def main(argv: Sequence[str]) -> int:
    """Measure what is missing, then report; the exit status."""
    parser = program("experiments.adaptation", __doc__)
    parser.add_argument("--tests", nargs="+", choices=list(TESTS), default=list(TESTS))
    add_options(parser, ["builtin", "lunule-mindex"], mds_cpu=12, runs=1)
    parser.add_argument("--seconds", type=float, default=50.0, help="of each step")
    args = parser.parse_args(argv)

    def work() -> None:
        runs = range(1, args.runs + 1)
        for test in args.tests:
            orders = [_order(args, test, balancer, run) for run in runs for balancer in args.balancers]
            for order in store.left(args.out, orders):
                store.save(args.out, _measured(order, ranks_added if test == "ranks" else clients_added))
            _report(test, [store.load_of(args.out, order) for order in orders], args)

    return exit_status("experiments.adaptation", work, "finished cells are kept, and not run again")


def _order(args: argparse.Namespace, test: str, balancer: str, run: int) -> Order:
    workload, ranks, standby = TESTS[test]
    cluster = Cluster(workload, args.release, ranks, args.mds_cpu, BALANCERS[balancer].hook, standby)
    return Order(cluster, balancer, run, args.seconds)


def _measured(order: Order, added: Callable[[float], Phases]) -> dict[str, Any]:
    """Ranks are not taken away again: every cell has a cluster of its own."""
    with Stage(order.cluster, analyze=False, progress=ConsoleProgress()) as stage:
        try:
            return measure(stage, order, added(order.seconds))
        except ResetError as e:
            return e.cell


def _report(test: str, cells: Sequence[dict[str, Any]], args: argparse.Namespace) -> None:
    spans = cells[0]["spans"]
    lines: list[list[str]] = []
    for cell in cells:
        name = f"{cell['balancer']}, run {cell['run']}"
        factor = figures.known_imbalance(cell, cell["capacity"])
        means = (figures.within(factor, span) for span in cell["spans"].values())
        shown = (f"{sum(values) / len(values):.3f}" if values else "-" for values in means)
        lines += [[f"{name}, op/s", *run_figures.throughputs(cell)], [f"{name}, mean IF", *shown]]
    notes = filter(None, [age(cells), store.mixed(cells)])
    text = "\n\n".join([markdown.table(["", *spans], lines), *notes]) + "\n"
    (args.out / f"dynamic-{test}.md").write_text(text)
    marks = [span[0] - next(iter(spans.values()))[0] for span in spans.values()]
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / f"fig12-{test}.png"
    shown_cells = [cell for cell in cells if cell["run"] == 1]
    draw(shown_cells, f"As Figure 12: {test} added", picture, marks[1:])
    print(f"{text}\npicture: {picture}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
