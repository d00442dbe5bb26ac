# SPDX-License-Identifier: LGPL-2.1-or-later
"""What held a cell's clients back, its MDSs or the machine: by windows of ten seconds."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from experiments.common.figures.figures import Cell

_MDS_FULL = 0.85  # of its quota: one that has all of a load shows 0.88 to 1.02
_MACHINE_FULL = 0.9  # of all cores
_HALF = 0.5  # of the windows, for a cell to count; of the best window's operations, for one with load
_CORES = 2  # of the machine of all cells that do not say it
_LINES = 5  # of CPU times, one every two seconds
_STILL = 8.0  # s between two of these: nothing ran meanwhile, as where a virtual machine is suspended
TOLD = (
    "busiest MDS, part of its quota",
    "part of the windows with a full MDS",
    "part of the windows with a full machine",
)


@dataclass(frozen=True)
class Window:
    """Ten seconds."""

    ops: float  # op/s of all clients
    mds: float  # CPU time of the busiest MDS, as a part of its quota
    machine: float  # of everything, as a part of all cores


@dataclass(frozen=True)
class Limits:
    """Of a cell's windows with load."""

    busiest: float  # the highest use of an MDS, as a part of its quota
    mds: float  # part of the windows in which an MDS was full
    machine: float  # in which the machine was
    only_mds: float  # in which an MDS was, and the machine was not
    still: float  # s at a time, at most, in which nothing ran

    @property
    def counts(self) -> bool:
        """Whether it was the MDSs: else a cell says little about balancers."""
        return self.only_mds >= _HALF and self.still < _STILL

    @property
    def told(self) -> dict[str, float]:
        """For a table."""
        return dict(zip(TOLD, (self.busiest, self.mds, self.machine), strict=True))


def limits(cell: Cell) -> Limits:
    """By the windows in which clients got through half of what they did in the best one of the phase."""
    seen = [window for span in cell["spans"].values() for window in _with_load(_windows(cell, span))]

    def part(those: Iterable[bool]) -> float:
        return sum(those) / max(1, len(seen))

    return Limits(
        max((window.mds for window in seen), default=0.0),
        part(window.mds > _MDS_FULL for window in seen),
        part(window.machine > _MACHINE_FULL for window in seen),
        part(window.mds > _MDS_FULL and window.machine <= _MACHINE_FULL for window in seen),
        _still(cell),
    )


def _still(cell: Cell) -> float:
    """s at a time, at most, in which nothing ran, CPU times were not even taken."""
    ends = [t for span in cell["spans"].values() for t in span]
    lines = pairwise(line["t"] for line in cell["cpu"])
    return max((later - at for at, later in lines if at < max(ends) and later > min(ends)), default=0.0)


def _with_load(windows: Sequence[Window]) -> list[Window]:
    best = max((window.ops for window in windows), default=0.0)
    return [window for window in windows if window.ops >= _HALF * best]


def _windows(cell: Cell, span: Sequence[float]) -> list[Window]:
    """Of a phase: one begins with every line of CPU times."""
    lines = [line for line in cell["cpu"] if span[0] <= line["t"] <= span[1]]
    times = [row[0] for row in cell["clients"]]
    done = list(accumulate((row[1] for row in cell["clients"]), initial=0.0))
    own, cores = cell.get("mds_cpu_own", {}), cell.get("cpus", _CORES)
    found = []
    for first, last in zip(lines, lines[_LINES:], strict=False):
        elapsed = last["t"] - first["t"]
        ops = done[bisect_right(times, last["t"])] - done[bisect_right(times, first["t"])]
        used = (
            (used - first["used"].get(who, 0.0)) * 100 / (own.get(who) or cell["mds_cpu"])
            for who, used in last["used"].items()
            if who.startswith("mds.")
        )
        machine = (last["busy"] - first["busy"]) / cores
        found.append(Window(*(x / elapsed for x in (ops, max(used, default=0.0), machine))))
    return found
