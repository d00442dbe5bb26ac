# SPDX-License-Identifier: LGPL-2.1-or-later
"""Chaos on a real cluster: `python3 -m tests.chaos --duration 900 --release tentacle --seed 7`."""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common.measurement import about, exit_status, save
from lab import releases
from lab.api import Lab
from lab.progress import ConsoleProgress
from tests.chaos.cluster import RANKS, Cluster
from tests.chaos.crank import Crank
from tests.chaos.scenario import Scenario
from tests.chaos.scheduling import SchedulerCrank

OUT = Path("out/chaos.json")
CONF = {
    "mgr_stats_period": "1",
    "mds_tick_interval": "1",
    # Only what is killed here is dead; a daemon of a busy machine is not to be taken for dead, too.
    "mon_mgr_beacon_grace": "60",
    "mds_beacon_grace": "60",
    # Clients that ended without a word hold back nothing for longer.
    "mds_reconnect_timeout": "6",
}
OPTIONS = {"epoch": 2, "rest_period": 0, "arrival_timeout": 60, "max_moves": 2, "scheduler_rest": 5}
MDS_CPU = 10  # %: so that the scheduler finds ranks full


def measure(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    """All of it, on a lab of its own."""
    began = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    name = f"chaos-{os.getpid()}"
    with Lab.up(
        name=name,
        release=args.release,
        mds=RANKS,
        mgr=2,
        conf=CONF,
        mds_cpu=MDS_CPU if args.scheduler else None,
        progress=ConsoleProgress(),
    ) as lab:
        cluster = Cluster(lab, saturated=args.scheduler)
        cluster.mon("mgr module enable", module="mds_partitioner")
        cluster.wait("the module answers", cluster.answers)
        for option, value in OPTIONS.items():
            cluster.mon("config set", who="mgr", name=f"mgr/mds_partitioner/{option}", value=str(value))
        for setting in ("session_timeout", "session_autoclose"):
            cluster.mon("fs set", fs_name=cluster.fs, var=setting, val="30")
        crank = SchedulerCrank(cluster) if args.scheduler else Crank(cluster)
        scenario = Scenario(cluster, crank, seed, tell)
        try:
            cluster.begin()
            scenario.run(args.duration)
            scenario.end()
        finally:
            cluster.end()
    return scenario.result()


def main(argv: Sequence[str]) -> int:
    """Run it; the exit status is 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--duration", type=float, default=900.0, metavar="SECONDS")
    parser.add_argument(
        "--scheduler", action="store_true", help="the scheduler acts, in place of plans by hand"
    )
    parser.add_argument("--seed", type=int, help="default: a new one")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    results: list[dict[str, Any]] = []

    def work() -> None:
        head = about("tests.chaos", argv, release=args.release, seed=seed)
        results.append(measure(args, seed))
        save(args.out, {**head, **results[0]})

    status = exit_status("tests.chaos", work)
    for result in results:
        print(json.dumps(result, indent=1))
        number = len(result["violations"])
        print(f"seed {seed}: {sum(result['events'].values())} events, {number} violations")
        status = status or int(number > 0)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
