# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the hook costs an MDS: `python3 -m lab.hook_cost`.

Stock source built with the same flags, the hook idle, and the hook recording, in turns on a cluster with one
rank: op/s with the rank saturated at a CPU quota, then resident memory with 200,000 inodes in its cache, each
visited within the windows. Medians over the rounds; the order within a round changes.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import cluster, releases
from lab.api import Lab
from lab.bench.sampling import Sampling
from lab.clients.spec import ClientSpec, LoadSpec
from lab.errors import LabError
from lab.hook_stress import wait
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress
from mds.build import Recipe, built

OUT = Path("docs/results/hook-cost.json")
STOCK, IDLE, RECORDING = VARIANTS = ("stock", "idle", "recording")
MDS_CPU = 40  # %: one rank, so that the clients are never what is slow
CLIENTS = 8
SETTLE_S = 8.0
DIRS, FILES = 100, 2000  # 200,000 inodes
BEAT_S = 60  # mds_bal_interval while memory is measured: all visits within the windows
CONF = {"mds_cache_memory_limit": str(8 << 30)}


class Bed:
    """A cluster with one rank, whose program can be changed."""

    def __init__(self, lab: Lab, program: Path, release: str) -> None:
        self.lab, self._program = lab, program
        self._programs = {
            STOCK: Recipe(releases.get(release), stock=True).program,
            IDLE: built(release),
            RECORDING: built(release),
        }

    def run(self, variant: str) -> None:
        """Restart the MDS as another program: the file that is bound into the lab is overwritten."""
        self.lab.kill("mds.a")
        shutil.copyfile(self._programs[variant], self._program)
        self.lab.start("mds.a")
        wait("rank 0 is active", self._active, 60)
        if variant == RECORDING:
            self.lab.exec(["ceph", "tell", "mds.a", "dump", "mindex", "/", "0"])

    def _active(self) -> bool:
        info = self.lab.monitor.json("fs get", fs_name=cluster.FS_NAME)["mdsmap"]["info"].values()
        return [i["state"] for i in info if i["rank"] == 0] == ["up:active"]

    def tell(self, *command: str) -> Any:
        """A command to the MDS."""
        return json.loads(self.lab.exec(["ceph", "tell", "mds.a", *command], timeout=60).stdout)

    def rss(self) -> int:
        """Resident memory of the MDS, bytes."""
        (pid,) = self.lab.daemons()["mds.a"]
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise LabError("the MDS has no VmRSS")


def order(rng: random.Random) -> list[str]:
    """The variants, shuffled."""
    return rng.sample(VARIANTS, len(VARIANTS))


def load(paths: dict[str, str], rate: float | None = None) -> LoadSpec:
    """Clients that get past their caches with every operation."""
    mix = {"stat": 3.0, "open": 1.0}
    return LoadSpec(
        tuple(
            ClientSpec(name, path, mix=mix, workers=4, dirs=4, files=500, cache=10, rate=rate)
            for name, path in paths.items()
        )
    )


def throughput(bed: Bed, work: LoadSpec, seconds: float) -> float:
    """Replies a second of the saturated rank."""
    with bed.lab.clients(work), Sampling(bed.lab.sandbox) as sampling:
        time.sleep(SETTLE_S + seconds)
        seen = [s for s in sampling.lines if "0" in s["ranks"]]
    last = seen[-1]
    first = next(s for s in seen if s["t"] >= last["t"] - seconds)
    replies = last["ranks"]["0"]["replies"] - first["ranks"]["0"]["replies"]
    return float(replies / (last["t"] - first["t"]))


def memory(bed: Bed, path: str, variant: str) -> dict[str, float]:
    """Resident memory after every file was opened once."""
    spec = ClientSpec("scan", path, job="scan", workers=16, dirs=DIRS, files=FILES, cache=1000)
    with bed.lab.clients(LoadSpec((spec,))) as clients:
        clients.wait(600)
    cached = bed.tell("perf", "dump", "mds_mem")["mds_mem"]["ino"]
    found: dict[str, float] = {"cached_inodes": cached, "rss": bed.rss()}
    if variant == RECORDING:
        found["recorded_inodes"] = bed.tell("dump", "mindex", "/", "0")["inodes"]
    return found


def measure(args: argparse.Namespace, program: Path) -> dict[str, Any]:
    """Both parts, on one cluster."""
    progress, rng = ConsoleProgress(), random.Random(5)
    rates: dict[str, list[float]] = {v: [] for v in VARIANTS}
    memories: dict[str, list[dict[str, float]]] = {v: [] for v in VARIANTS}
    shutil.copy2(built(args.release), program)
    with Lab.up(
        name=f"mds-cost-{os.getpid()}",
        release=args.release,
        mds=1,
        mgr=1,
        mds_binary=program,
        conf=CONF,
        progress=progress,
    ) as lab:
        bed = Bed(lab, program, args.release)
        paths = lab.make_subvolumes([f"c{i}" for i in range(CLIENTS)])
        work = load(paths)
        lab.prepare(work)
        lab.set_mds_cpu(MDS_CPU)
        for number in range(args.rounds):
            for variant in order(rng):
                bed.run(variant)
                rates[variant].append(throughput(bed, work, args.seconds))
                progress.note(f"round {number + 1}: {variant}: {rates[variant][-1]:.1f} op/s")
        lab.set_mds_cpu(None)
        lab.monitor.command("config set", who="mds", name="mds_bal_interval", value=str(BEAT_S))
        (large,) = lab.make_subvolumes(["large"]).values()
        lab.prepare(LoadSpec((ClientSpec("large", large, dirs=DIRS, files=FILES),)), timeout=900)
        for number in range(args.memory_rounds):
            for variant in order(rng):
                bed.run(variant)
                memories[variant].append(memory(bed, large, variant))
                progress.note(f"round {number + 1}: {variant}: {memories[variant][-1]}")
    return {"op_s": rates, "memory": memories, **_summary(rates, memories)}


def _summary(
    rates: dict[str, list[float]], memories: dict[str, list[dict[str, float]]]
) -> dict[str, dict[str, float]]:
    """Medians, and how the others differ from the stock program, round by round."""

    def paired(variant: str) -> float:
        return statistics.median(b / a - 1 for a, b in zip(rates[STOCK], rates[variant], strict=True))

    rss = {v: statistics.median(m["rss"] for m in found) for v, found in memories.items() if found}
    inodes = [m["recorded_inodes"] for m in memories[RECORDING]]
    summary = {
        "median_op_s": {v: round(statistics.median(x), 1) for v, x in rates.items()},
        "op_s_against_stock_percent": {v: round(100 * paired(v), 2) for v in (IDLE, RECORDING)},
    }
    if rss:
        summary["median_rss"] = rss
        summary["rss_against_stock_percent"] = {
            v: round(100 * (rss[v] / rss[STOCK] - 1), 2) for v in (IDLE, RECORDING)
        }
        summary["bytes_a_recorded_inode"] = {
            RECORDING: round((rss[RECORDING] - rss[IDLE]) / statistics.median(inodes), 1)
        }
    return summary


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.hook_cost", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement of op/s")
    parser.add_argument("--memory-rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)

    def work() -> None:
        head = about("lab.hook_cost", argv, release=args.release, mds_cpu=MDS_CPU)
        with tempfile.TemporaryDirectory() as folder:
            found = measure(args, Path(folder) / "ceph-mds")
        save(args.out, {**head, **found})
        print(json.dumps({k: v for k, v in found.items() if k not in ("op_s", "memory")}, indent=1))

    return exit_status("hook_cost", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
