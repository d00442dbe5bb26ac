# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster each of whose ranks can be another program: stock source, the hook idle, the hook recording."""

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import cluster, releases
from lab.api import Lab
from lab.bench.subtrees import sample
from lab.demo.cost import cpu_ticks
from lab.errors import LabError
from lab.hook_cost import counted
from lab.ranks import holders, wait, wait_all_active
from mds.build import OPTIMIZED, Recipe, built

STOCK, IDLE, RECORDING = VARIANTS = ("stock", "idle", "recording")
RANKS = 3
IN_USE = re.compile(r"([0-9]+) \(.*Bytes in use by application")  # of tcmalloc
_FOLDER = Path("/var/log/ceph")  # the lab's log_dir as the lab sees it


class Bed:
    """A lab of RANKS ranks, and the programs that its MDSs can be."""

    def __init__(self, lab: Lab, release: str) -> None:
        self.lab = lab
        patched = built(release, OPTIMIZED)
        stock = Recipe(releases.get(release), stock=True, flags=OPTIMIZED).program
        if not stock.exists():
            build_it = f"python3 -m mds.build --release {release} --stock --flags={OPTIMIZED}"
            raise LabError(f"no stock ceph-mds for {release} to compare with: build it with `{build_it}`")
        for variant, program in zip(VARIANTS, (stock, patched, patched), strict=True):
            (lab.log_dir / variant).mkdir()
            shutil.copy2(program, lab.log_dir / variant / "ceph-mds")

    def run_counted(self, variants: Sequence[str]) -> counted.Counters:
        """As run(); what can count instructions of these MDSs."""
        if not (self.lab.log_dir / STOCK / counted.FOLDER).exists():
            counted.install(self.lab, _FOLDER, VARIANTS)
        self.run(variants, counted.FOLDER)
        return counted.Counters(self.lab, _FOLDER)

    def run(self, variants: Sequence[str], folder: str = "") -> None:
        """Restart all MDSs, rank N as variants[N], with the programs in a folder below the variants' own.

        :raises LabError: one does not get its rank back
        """
        before = holders(self.lab)
        # All before any is started: a rank that lives on while another fails may hit tracker 79440.
        for daemon, _ in before.values():
            self.lab.kill(daemon)
        for rank, variant in enumerate(variants):
            self._start(rank, *before[rank], _FOLDER / variant / folder)
        gone = [gid for _, gid in before.values()]
        wait_all_active(self.lab, RANKS, 120, without=gone)
        for rank, variant in enumerate(variants):
            if variant == RECORDING:
                self.tell("dump", "mindex", "/", "0", rank=rank)

    def _start(self, rank: int, daemon: str, gone: int, folder: Path) -> None:
        """The mon gives it the one rank that it knows to have failed: that of the MDS of this name."""
        self.lab.start(daemon, program=str(folder / "ceph-mds"))

        def back() -> bool:
            name, gid = holders(self.lab).get(rank, ("", gone))
            return name == daemon and gid != gone

        wait(f"{daemon} has rank {rank} again", back, 30)

    def tell(self, *command: str, rank: int = 0) -> Any:
        """A command to a rank."""
        return json.loads(self._tell(*command, rank=rank))

    def _tell(self, *command: str, rank: int = 0) -> str:
        done = self.lab.exec(["ceph", "tell", f"mds.{cluster.FS_NAME}:{rank}", *command], timeout=60)
        return done.stdout or done.stderr

    def daemon(self, rank: int) -> str:
        """What has a rank."""
        return holders(self.lab)[rank][0]

    def pid(self, rank: int) -> int:
        """The host's, of a rank's MDS."""
        (pid,) = self.lab.daemons()[self.daemon(rank)]
        return pid

    def _proc(self, rank: int, name: str) -> str:
        """What /proc says of a rank's MDS."""
        return Path(f"/proc/{self.pid(rank)}/{name}").read_text()

    def replies(self) -> tuple[list[float], float]:
        """Of each rank since it started; and when that was (Unix, s)."""
        found = sample(self.lab)
        return [found["ranks"][str(rank)]["replies"] for rank in range(RANKS)], found["t"]

    def cpu_times(self) -> list[float]:
        """Of each rank's MDS since it started, in all modes, s."""
        tick = os.sysconf("SC_CLK_TCK")
        return [cpu_ticks(self._proc(rank, "stat")) / tick for rank in range(RANKS)]

    def memory(self) -> dict[str, int]:
        """Of rank 0's MDS, bytes: resident, and what it has allocated and not freed."""
        status = self._proc(0, "status")
        resident, in_use = re.search(r"VmRSS:\s+([0-9]+)", status), IN_USE.search(self._tell("heap", "stats"))
        if not resident or not in_use:
            raise LabError("the memory of the MDS is not known")
        return {"rss": int(resident[1]) * 1024, "in_use": int(in_use[1])}

    def sent(self) -> int:
        """Bytes that the MDSs sent since they started."""
        dumps = [self.tell("perf", "dump", rank=rank) for rank in range(RANKS)]
        return sum(
            int(part["msgr_send_bytes"])
            for dump in dumps
            for name, part in dump.items()
            if name.startswith("AsyncMessenger::Worker")
        )
