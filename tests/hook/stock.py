# SPDX-License-Identifier: LGPL-2.1-or-later
"""The distribution's MDSs beside patched ones, and what none of them may have done."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from lab import cluster, releases, rootfs
from lab.api import Lab
from lab.progress import ConsoleProgress
from lab.waiting import until

RANKS = range(4)
STOCK = "/var/log/ceph/stock/ceph-mds"  # in the lab; its name is what the lab knows an MDS by
FATAL = re.compile(r"ceph_assert|FAILED assert|Caught signal")


def stock_program(lab: Lab, release: str) -> None:
    """Put the distribution's program where the lab can run it: its own place is taken by the patched one."""
    root = rootfs.acquire(releases.get(release), ConsoleProgress())
    try:
        folder = lab.log_dir / Path(STOCK).parent.name
        folder.mkdir(exist_ok=True)
        shutil.copy2(root.path / "usr/bin/ceph-mds", folder)
    finally:
        root.release()


def scrub(lab: Lab) -> dict[str, Any]:
    """Scrub everything, and say what damage the ranks know of."""
    began = _tell(lab, 0, "scrub", "start", "/", "recursive,force")
    until(
        lambda: _tell(lab, 0, "scrub", "status")["status"].startswith("no active scrubs"),
        600,
        "the scrub ends",
        every=1.0,
    )
    damage = {rank: _tell(lab, rank, "damage", "ls") for rank in RANKS}
    return {"return_code": began["return_code"], "damage": {r: d for r, d in damage.items() if d}}


def _tell(lab: Lab, rank: int, *command: str) -> Any:
    out = lab.exec(["ceph", "tell", f"mds.{cluster.FS_NAME}:{rank}", *command], timeout=60).stdout
    return json.loads(out)


def fatal_lines(folder: Path) -> list[str]:
    """Lines of the MDSs' logs that must not be there."""
    found = []
    for log in sorted(folder.glob("ceph-mds.*.log")):
        with log.open(errors="replace") as lines:
            found += [f"{log.name}: {line.strip()[:300]}" for line in lines if FATAL.search(line)]
    return found
