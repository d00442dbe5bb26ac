# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPU time and memory that the simulator takes for clusters of Ceph's limit and beyond: `make bench-sim`.

Each run is a process of its own, on one core. Beyond 256 ranks it is an extrapolation: Ceph has no such
cluster.
"""

import argparse
import json
import os
import resource
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sim.course import run
from sim.scenario import parse

POLICIES = ("builtin", "lunule", "scheduler")
CLUSTER = """
about = "{ranks} ranks, {directories} directories, {clients} clients; a tenth of the subvolumes is on rank 0."
policy = "lunule"
fails_with = "nothing"
seconds = {seconds}
seeds = [1]
[ranks]
count = {ranks}
to_auth = true
[[subvolumes]]
name = "spread"
count = {spread}
directories = [{each}]
rank = "spread"
inodes = 50
[[subvolumes]]
name = "here"
count = {here}
directories = [{each}]
rank = 0
inodes = 50
[[clients]]
name = "readers"
on = [0, {subvolumes}]
apart = true
count = {clients}
threads = 1
think = 0.05
[physics]
step = 0.5
[must]
"""
SIZES = {
    "Ceph's limit": {"ranks": 256, "subvolumes": 3_000, "each": 32, "clients": 3_000, "seconds": 600},
    "beyond it": {"ranks": 1_024, "subvolumes": 12_000, "each": 4, "clients": 12_000, "seconds": 300},
}


def text(size: dict[str, int]) -> str:
    """The scenario of a size."""
    here = size["subvolumes"] // 10
    directories = size["subvolumes"] * (size["each"] + 1)
    return CLUSTER.format(**size, here=here, spread=size["subvolumes"] - here, directories=directories)


def measured(name: str, policy: str) -> dict[str, float]:
    """CPU seconds, and MiB at most, of this process."""
    recording = run(parse(text(SIZES[name]), "large"), policy, 1)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "mebibytes": round(used.ru_maxrss / 1024),
        "moves": len(recording.moves),
        "requests_a_second": round(recording.answered / SIZES[name]["seconds"]),
    }


def main(argv: Sequence[str]) -> int:
    """Print, and keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("docs/results/sim/speed.json"))
    args = parser.parse_args(argv)
    found: dict[str, dict[str, Any]] = {}
    for name, size in SIZES.items():
        found[name] = {"cluster": size}
        for policy in POLICIES:
            with ProcessPoolExecutor(1) as alone:  # the most memory is that of a process's life
                found[name][policy] = alone.submit(measured, name, policy).result()
            print(f"{name}, {policy}: {found[name][policy]}", flush=True)
    value = {
        "command": "make bench-sim",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average_at_end": [round(x, 2) for x in os.getloadavg()],
        "runs": found,
    }
    args.out.write_text(json.dumps(value, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
