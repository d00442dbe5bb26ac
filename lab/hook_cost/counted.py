# SPDX-License-Identifier: LGPL-2.1-or-later
"""MDSs that valgrind runs, whose instructions its callgrind counts.

A count depends neither on how fast the machine is, nor on what else it does, nor on where a process has its
memory.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.api import Lab
from lab.errors import LabError

FOLDER = "counted"
"""Where a variant's program is that is counted, below its own."""
_TOOLS = Path("/usr/libexec/valgrind")  # of Debian's package
_PROGRAMS = (Path("/usr/bin/valgrind.bin"), Path("/usr/bin/vgdb"))
_PIPES = "--vgdb-prefix=/tmp/vgdb-pipe"
_OWN = "valgrind"  # the copy in the lab, below its folder of logs
# The pipes are those of the MDS that goes into the background: of a child.
_OPTIONS = f"--tool=callgrind --instr-atstart=no --trace-children=yes {_PIPES}"
_RUNNING = re.compile(r"--pid=([0-9]+) for .* -i (\S+)")
_TOTALS = re.compile(r"^totals: ([0-9]+)$", re.MULTILINE)


def check_installed() -> None:
    """:raises LabError: valgrind is not"""
    missing = next((path for path in (_TOOLS, *_PROGRAMS) if not path.exists()), None)
    if missing:
        raise LabError(f"no {missing} to count instructions with: install the package valgrind")


def install(lab: Lab, where: Path, variants: Sequence[str]) -> None:
    """Have a program to count beside that of each variant; where: the lab's folder of logs as it sees it."""
    shutil.copytree(_TOOLS, lab.log_dir / _OWN)
    for program in _PROGRAMS:
        shutil.copy2(program, lab.log_dir / _OWN)
    for variant in variants:
        script = lab.log_dir / variant / FOLDER / "ceph-mds"
        script.parent.mkdir()
        script.write_text(
            f"#!/bin/bash\nexport VALGRIND_LIB={where / _OWN}\n"
            f"exec -a ceph-mds {where / _OWN / 'valgrind.bin'} {_OPTIONS} "
            f"--log-file={where}/valgrind.%p --callgrind-out-file={where}/callgrind.%p "
            f'{where / variant / "ceph-mds"} "$@"\n'
        )
        script.chmod(0o755)


class Counters:
    """The counters of all MDSs that run so."""

    def __init__(self, lab: Lab, where: Path) -> None:
        self._lab, self._vgdb = lab, f"{where / _OWN}/vgdb"
        self._pids = {f"mds.{name}": pid for pid, name in _RUNNING.findall(self._say("-l"))}

    def start(self) -> None:
        """Count, from zero."""
        self._each("instrumentation on")
        self._each("dump")

    def _say(self, *words: str) -> str:
        # Its status says nothing (a list always fails): what it was to write is looked for.
        done = self._lab.exec([self._vgdb, _PIPES, *words], timeout=120, check=False)
        return done.stdout + done.stderr

    def _each(self, command: str) -> None:
        for pid in self._pids.values():
            self._say(f"--pid={pid}", *command.split())

    def read(self) -> dict[str, int]:
        """Instructions since the last time, by daemon. :raises LabError: callgrind has not written them"""
        before = {pid: self._newest(pid) for pid in self._pids.values()}
        self._each("dump")
        return {daemon: self._total(pid, before[pid]) for daemon, pid in self._pids.items()}

    def _newest(self, pid: str) -> int:
        """The number of a process's last dump; 0: none."""
        return max((int(path.suffix[1:]) for path in self._lab.log_dir.glob(f"callgrind.{pid}.*")), default=0)

    def _total(self, pid: str, before: int) -> int:
        number = self._newest(pid)
        if number == before:
            raise LabError(f"callgrind has written no dump of process {pid}")
        dump = self._lab.log_dir / f"callgrind.{pid}.{number}"
        found = _TOTALS.search(dump.read_text(errors="replace"))
        if not found:
            raise LabError(f"callgrind says nothing of its totals in {dump.name}")
        return int(found[1])
