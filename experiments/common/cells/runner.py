# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cells one after another, those that are there already left out; many on one cluster."""

import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from experiments.common.balancers.balancers import BALANCERS
from experiments.common.cells import store
from experiments.common.cells.cell import ResetError, measure
from experiments.common.cells.order import Order
from experiments.common.cells.stage import Stage
from lab.errors import LabError
from lab.progress import ConsoleProgress


def run(orders: Sequence[Order], out: Path) -> list[str]:
    """Measure what is missing, in this order; sentences about what failed.

    :raises LabError: what there is was measured otherwise
    """
    missing = store.left(out, orders)
    runner = _Runner(out, len(missing))
    for _, group in groupby(missing, key=lambda order: order.cluster):
        cells = list(group)
        while cells:
            cells = runner.some(cells)
    return runner.failures


class _Runner:
    """Keeps count."""

    def __init__(self, out: Path, total: int) -> None:
        self.failures: list[str] = []
        self._out, self._total, self._finished = out, total, 0
        self._began = time.monotonic()
        self._progress = ConsoleProgress()

    def some(self, cells: list[Order]) -> list[Order]:
        """Measure cells on one cluster, as long as it is good for it; those that are left."""
        left, order = list(cells), cells[0]
        analyze = any(BALANCERS[order.balancer].analyzed for order in cells)
        try:
            with Stage(order.cluster, analyze=analyze, progress=self._progress) as stage:
                while left:
                    order = left.pop(0)
                    self._announce(order)
                    store.save(self._out, measure(stage, order))
                    if order.cluster.workload.fresh:
                        break
        except ResetError as e:
            store.save(self._out, e.cell)
            print(f"{order.key} is measured, but its cluster is given up: {e}", flush=True)
        except LabError as e:
            left = [other for other in left if other != order]
            self.failures.append(f"{order.key}: {e}")
            print(f"{order.key} failed: {e}", flush=True)
        return left

    def _announce(self, order: Order) -> None:
        left = ""
        if self._finished:
            each = (time.monotonic() - self._began) / self._finished
            left = f", about {each * (self._total - self._finished) / 60:.0f} min left"
        self._finished += 1
        print(f"{order.key}: {self._finished} of {self._total}{left}", flush=True)
