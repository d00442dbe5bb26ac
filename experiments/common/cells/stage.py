# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster with a workload's data on it, used for one cell after another.

Between two cells everything is brought back to rank 0: see docs/benchmarking.md for what that takes against
a cluster of its own for every cell.
"""

import os
import time
from types import TracebackType
from typing import Any, Self

from experiments.common.balancers import pinning
from experiments.common.balancers.balancers import switch_off
from experiments.common.balancers.setting import Setting
from experiments.common.balancers.subtrees import Pin, bring_home
from experiments.common.balancers.visits import forget
from experiments.common.cells.order import Cluster
from experiments.common.cells.sampling import Sampling
from lab import module
from lab.api import Lab
from lab.clients.run import Line
from lab.errors import LabError
from lab.progress import Progress
from lab.ranks import set_quota
from lab.waiting import until
from mds.build import OPTIMIZED, built

TOP = "/volumes"
WORKING_S = 90.0
_UNSETTLED_S = 5.0
_CALIBRATION_S = 20


class Stage:
    """The cluster; as a context manager it is gone at the end of the block."""

    def __init__(self, cluster: Cluster, *, analyze: bool, progress: Progress) -> None:
        """Build it. analyze: `partition` will be asked for, which wants an analysis under load."""
        self.cluster = cluster
        self.progress = progress
        self.seconds: dict[str, float] = {}  # what building it took
        began = time.monotonic()
        self.lab = Lab.up(
            name=f"bench-{os.getpid()}",
            release=cluster.release,
            mds=cluster.ranks,
            standby=cluster.standby,
            mgr=1,
            packages=cluster.workload.packages,
            mds_binary=built(cluster.release, OPTIMIZED) if cluster.hook else None,
            progress=progress,
        )
        try:
            self.seconds["start"] = round(time.monotonic() - began, 1)
            self.paths = self._data()
            self.capacity = self._calibrate(analyze)
        except BaseException:
            self.lab.down()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lab.down()

    @property
    def setting(self) -> Setting:
        """For a balancer."""
        demand = self.cluster.workload.demand(self.paths)
        return Setting(self.lab, self.cluster.ranks, self.capacity, demand, self.cluster.shares)

    def _data(self) -> dict[str, str]:
        began = time.monotonic()
        workload = self.cluster.workload
        module.enable(self.lab, pinning.OPTIONS)
        paths = self.lab.make_subvolumes(workload.subvolumes)
        for path, text in workload.inputs().items():
            self.lab.exec(["/bin/sh", "-c", 'cat > "$0"', path], stdin=text)
        data = workload.data(paths)
        if data is not None:
            with self.progress.step(f"data of {workload.name}"):
                self.lab.prepare(data)
        self.seconds["data"] = round(time.monotonic() - began, 1)
        return paths

    def _calibrate(self, analyze: bool) -> float:
        """C: requests that rank 0 serves a second when all clients ask it and nobody balances."""
        workload = self.cluster.workload
        began = time.monotonic()
        lines: list[Line] = []
        self.limit()
        load = workload.calibration(self.paths)
        with (
            self.progress.step("calibration on rank 0"),
            Sampling(self.lab.sandbox) as sampling,
            self.lab.clients(load, on_line=lines.append) as clients,
        ):
            until_working(lines, load.first)
            time.sleep(_UNSETTLED_S)
            if analyze:
                pinning.analyze(self.lab, _CALIBRATION_S)
            since = time.time()
            time.sleep(_CALIBRATION_S)
            if not clients.running:
                raise LabError("the clients were ready before C was known: their work is too short")
            if analyze:
                pinning.analyzed(self.lab)
            clients.stop()
        self.seconds["calibration"] = round(time.monotonic() - began, 1)
        return _rate([s for s in sampling.lines if since <= s["t"] <= since + _CALIBRATION_S])

    def limit(self) -> None:
        """Give the MDSs the quotas of their ranks."""
        self.lab.set_mds_cpu(self.cluster.mds_cpu)
        for rank, quota in enumerate(self.cluster.quotas):
            set_quota(self.lab, rank, quota)

    def forget_visits(self) -> None:
        """MDSs with the hook begin without what they saw in the calibration, or in the cell before."""
        if self.cluster.hook:
            with self.progress.step("visits are forgotten"):
                forget(self.lab, self.cluster.ranks)

    def export_targets(self) -> dict[str, list[int]]:
        """To whom each rank may export at once, rank by rank; others take the built-in balancer a beat more.

        The mon forgets one minutes after the last export (MDSRank::update_targets): what a cell left is told.
        """
        found: dict[str, list[int]] = {}
        for filesystem in self.lab.monitor.json("fs dump")["filesystems"]:
            for daemon in filesystem["mdsmap"]["info"].values():
                if daemon["rank"] >= 0:
                    found[str(daemon["rank"])] = sorted(daemon["export_targets"])
        return dict(sorted(found.items()))

    def reset(self, pins: list[Pin]) -> float:
        """Everything back to rank 0, nobody balances; the seconds that it took."""
        began = time.monotonic()
        with self.progress.step("back to rank 0"):
            self.lab.set_mds_cpu(None)
            switch_off(self.lab)
            bring_home(self.lab, TOP, pins)
            self.limit()
        return round(time.monotonic() - began, 1)


def until_working(lines: list[Line], names: set[str]) -> None:
    """Return when every client has said that it did something."""

    def working() -> bool:
        # Lines may be of clients that worked before, too.
        return names <= {line["client"] for line in list(lines) if line.get("ops")}

    until(working, WORKING_S, "every client works")


def _rate(samples: list[dict[str, Any]]) -> float:
    """Requests that rank 0 served a second."""
    seen = [sample for sample in samples if "0" in sample["ranks"]]
    if len(seen) < 2:
        raise LabError("rank 0 was not sampled")
    first, last = seen[0], seen[-1]
    served = [s["ranks"]["0"]["requests"] - s["ranks"]["0"]["forwards"] for s in (first, last)]
    return float(served[1] - served[0]) / float(last["t"] - first["t"])
