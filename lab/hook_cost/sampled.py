# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much of MDSs' CPU time is spent in the hook's own functions, by samples of where they are."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.errors import LabError

FREQUENCY = 1999  # a second, of CPU time
# What perf names them; what is inlined into Ceph's functions counts as theirs.
HOOK = re.compile(
    "SubtreeStats|BalMask|bal_mask|MDBalancer::"
    "(name_authority|end_window|export_by_score|extend_order|carry_on|choose|score|ranks_in_mask)"
)
_LINE = re.compile(r"^ +([0-9.]+)% +\[[.k]\] (.+?)(?: +-)* *$", re.MULTILINE)


def check_installed() -> None:
    """:raises LabError: perf is not"""
    if not shutil.which("perf"):
        raise LabError("no perf to sample with: install the package linux-perf")


def of_symbols(pids: Sequence[int], seconds: float) -> dict[str, float]:
    """Percent of the samples, by function. :raises LabError: perf failed"""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        who = ",".join(map(str, pids))
        # Of the clock: there are no counters of the hardware on many virtual machines.
        clock = ("-e", "cpu-clock", "-F", str(FREQUENCY))
        _perf("record", *clock, "-p", who, "-o", str(data), "sleep", str(seconds))
        return parsed(_perf("report", "-i", str(data), "--stdio", "--sort", "symbol"))


def parsed(report: str) -> dict[str, float]:
    """perf's report as data."""
    return {symbol: float(percent) for percent, symbol in _LINE.findall(report)}


def of_the_hook(symbols: Mapping[str, float]) -> dict[str, float]:
    """Those of them that are the hook's."""
    return {symbol: percent for symbol, percent in symbols.items() if HOOK.search(symbol)}


def _perf(*args: str) -> str:
    done = subprocess.run(["perf", *args], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"perf {args[0]} failed: {done.stderr.strip()}")
    return done.stdout
