# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPU time of a lab's daemons and clients, and of the machine: what proves who the bottleneck is."""

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import daemons
from lab.api import Lab

EVERY_S = 2.0
_HERTZ = os.sysconf("SC_CLK_TCK")
_CLIENT = b"lab.clients.worker"
_ENGINE = b"\0-m\0engine\0"  # the module's numeric process, as engine_client.py starts it


class CpuSampling:
    """Samples while its block runs; ``lines``: {"t": Unix s, "busy": s, "used": {who: s}}, totals.

    Who: mds.a and so on, osd, mon, mgr, engine, clients. busy: the whole machine, other programs included.
    """

    def __init__(self, lab: Lab) -> None:
        self.lines: list[dict[str, Any]] = []
        self._namespace = Path(f"/proc/{lab.state.sandbox_pid}/ns/pid").readlink()
        self._ticks: dict[int, tuple[str, int]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._sample()
            if self._stop.wait(EVERY_S):
                return

    def _sample(self) -> None:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    self._look(entry)
                except OSError:
                    # Ended meanwhile; what it had used stays counted.
                    continue
        used: dict[str, float] = {}
        for who, ticks in self._ticks.values():
            used[who] = round(used.get(who, 0.0) + ticks / _HERTZ, 2)
        self.lines.append({"t": round(time.time(), 3), "busy": busy(), "used": used})

    def _look(self, entry: Path) -> None:
        pid = int(entry.name)
        if pid not in self._ticks:
            if (entry / "ns/pid").readlink() != self._namespace:
                return
            who = name_of((entry / "cmdline").read_bytes())
            if who is None:
                return
            self._ticks[pid] = (who, 0)
        self._ticks[pid] = (self._ticks[pid][0], cpu_ticks((entry / "stat").read_text(errors="replace")))


def cpu_ticks(stat: str) -> int:
    """utime + stime from the text of /proc/PID/stat, whose name field may hold anything."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def name_of(cmdline: bytes) -> str | None:
    """Under which name a process's time is counted; None: not at all."""
    if _CLIENT in cmdline:
        return "clients"
    if _ENGINE in cmdline:
        return "engine"
    daemon = daemons.daemon_of(cmdline)
    if daemon is None:
        return None
    return daemon if daemon.startswith("mds.") else daemon.partition(".")[0]


def busy() -> float:
    """CPU seconds that all processors of the machine were not idle since boot."""
    fields = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / _HERTZ
