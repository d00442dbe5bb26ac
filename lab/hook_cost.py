# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the hook costs an MDS: `python3 -m lab.hook_cost`.

Stock source built with the same flags, the hook idle, and the hook recording, in turns on one cluster: op/s
with rank 0 saturated at a CPU quota; its CPU time a reply, at a load that it serves with ease; memory with
200,000 inodes in its cache, each visited within the windows, and with many directories; what two ranks send a
beat while nobody works. Medians over the rounds; the order within a round changes. What is not measured anew
stays in the result.
"""

import argparse
import errno
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lab import cluster, releases
from lab.api import Lab
from lab.bench.subtrees import sample
from lab.clients.spec import ClientSpec, LoadSpec
from lab.demo.cost import cpu_ticks
from lab.errors import LabError
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress
from lab.ranks import active, all_active, wait
from mds.build import Recipe, built

T = TypeVar("T")
OUT = Path("docs/results/hook-cost.json")
MEMORY, WIRE, RATES = PARTS = ("memory", "wire", "rates")
STOCK, IDLE, RECORDING = VARIANTS = ("stock", "idle", "recording")
RATE = 200.0  # op/s of each client while CPU time is measured
MDS_CPU = 40  # %: rank 0 does all the work, so that the clients are never what is slow
CLIENTS = 8
SETTLE_S = 8.0
RANKS = 2  # the other one is there for the beats
# Directories and files in each: 200,000 inodes; and 10,000 dirfrags.
TREES = {"large": (100, 2000), "wide": (10_000, 2)}
LONG_BEAT_S = 60  # mds_bal_interval while memory is measured: all visits within the windows
BEAT_S, BEATS = 5, 8  # while messages are counted
IN_USE = re.compile(r"([0-9]+) \(.*Bytes in use by application")  # of tcmalloc
CONF = {"mds_cache_memory_limit": str(8 << 30)}


class Bed:
    """A cluster whose MDSs' program can be changed."""

    def __init__(self, lab: Lab, program: Path, release: str) -> None:
        self.lab, self._program = lab, program
        self._programs = {
            STOCK: Recipe(releases.get(release), stock=True).program,
            IDLE: built(release),
            RECORDING: built(release),
        }

    def run(self, variant: str) -> None:
        """Restart the MDSs as another program: the file that is bound into the lab is overwritten."""
        before = active(self.lab).values()
        for daemon in self._mds():
            self.lab.kill(daemon)
        wait("no thread of theirs is left", lambda: self._replace(self._programs[variant]), 60)
        for daemon in self._mds():
            self.lab.start(daemon)
        wait("every rank has another MDS", lambda: all_active(self.lab, RANKS, without=before), 120)
        if variant == RECORDING:
            for rank in range(RANKS):
                self.tell("dump", "mindex", "/", "0", rank=rank)

    def _replace(self, program: Path) -> bool:
        try:
            shutil.copyfile(program, self._program)
        except OSError as e:
            if e.errno != errno.ETXTBSY:
                raise
            return False
        return True

    def _mds(self) -> list[str]:
        return [name for name in self.lab.daemons() if name.startswith("mds.")]

    def tell(self, *command: str, rank: int = 0) -> Any:
        """A command to a rank."""
        return json.loads(self._tell(*command, rank=rank))

    def _tell(self, *command: str, rank: int = 0) -> str:
        done = self.lab.exec(["ceph", "tell", f"mds.{cluster.FS_NAME}:{rank}", *command], timeout=60)
        return done.stdout or done.stderr

    def _proc(self, name: str) -> str:
        """What /proc says of rank 0's MDS."""
        gid = active(self.lab)[0]
        info = self.lab.monitor.json("fs get", fs_name=cluster.FS_NAME)["mdsmap"]["info"]
        (pid,) = self.lab.daemons()[f"mds.{info[f'gid_{gid}']['name']}"]
        return Path(f"/proc/{pid}/{name}").read_text()

    def replies(self) -> tuple[float, float]:
        """Of rank 0 since it started; and when that was (Unix, s)."""
        found = sample(self.lab)
        return found["ranks"]["0"]["replies"], found["t"]

    def cpu_time(self) -> float:
        """Of rank 0's MDS since it started, in all modes, s."""
        return cpu_ticks(self._proc("stat")) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> dict[str, int]:
        """Of rank 0's MDS, bytes: resident, and what it has allocated and not freed."""
        status = self._proc("status")
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
    with bed.lab.clients(work):
        time.sleep(SETTLE_S)
        replies, began = bed.replies()
        time.sleep(seconds)
        last, ended = bed.replies()
        return (last - replies) / (ended - began)


def cpu(bed: Bed, work: LoadSpec, seconds: float) -> float:
    """CPU time of rank 0's MDS for each reply, microseconds."""
    with bed.lab.clients(work):
        time.sleep(SETTLE_S)
        used, (replies, _) = bed.cpu_time(), bed.replies()
        time.sleep(seconds)
        more, (last, _) = bed.cpu_time(), bed.replies()
        return 1e6 * (more - used) / (last - replies)


def memory(bed: Bed, tree: str, path: str, variant: str) -> dict[str, float]:
    """Memory of rank 0 after every file of a tree was opened once."""
    dirs, files = TREES[tree]
    spec = ClientSpec("scan", path, job="scan", workers=16, dirs=dirs, files=files, cache=1000)
    with bed.lab.clients(LoadSpec((spec,))) as clients:
        clients.wait(600)
    found: dict[str, float] = {"cached_inodes": bed.tell("perf", "dump", "mds_mem")["mds_mem"]["ino"]}
    if variant == RECORDING:
        found["recorded_inodes"] = bed.tell("dump", "mindex", "/", "0")["inodes"]
    return found | bed.memory()


def wire(bed: Bed) -> float:
    """Bytes that all ranks send in a beat while no client is there."""
    time.sleep(SETTLE_S)
    first = bed.sent()
    time.sleep(BEAT_S * BEATS)
    return (bed.sent() - first) / BEATS


class Course:
    """What is measured of each variant, round by round."""

    def __init__(self, bed: Bed, args: argparse.Namespace, progress: ConsoleProgress) -> None:
        self._bed, self._args, self._progress = bed, args, progress
        self._rng = random.Random(5)

    def part(self, name: str) -> Mapping[str, Any]:
        """Measure one of PARTS."""
        ways: dict[str, Callable[[], Mapping[str, Any]]] = {
            MEMORY: self.memories,
            WIRE: self.wires,
            RATES: self.rates,
        }
        return ways[name]()

    def rates(self) -> dict[str, dict[str, list[float]]]:
        """Replies a second of rank 0, saturated; and its CPU time a reply."""
        bed, seconds, rounds = self._bed, self._args.seconds, self._args.rounds
        paths = bed.lab.make_subvolumes([f"c{i}" for i in range(CLIENTS)])
        full, easy = load(paths), load(paths, RATE)
        bed.lab.prepare(full)
        times = self._rounds("CPU us a reply", rounds, lambda _: cpu(bed, easy, seconds))
        bed.lab.set_mds_cpu(MDS_CPU)
        found = self._rounds("op/s", rounds, lambda _: throughput(bed, full, seconds))
        bed.lab.set_mds_cpu(None)
        return {"op_s": found, "cpu_us_a_reply": times}

    def memories(self) -> dict[str, dict[str, list[dict[str, float]]]]:
        """Memory by tree."""
        self._beat(LONG_BEAT_S)
        found = {}
        for tree, (dirs, files) in TREES.items():
            (path,) = self._bed.lab.make_subvolumes([tree]).values()
            self._bed.lab.prepare(LoadSpec((ClientSpec(tree, path, dirs=dirs, files=files),)), timeout=900)
            found[tree] = self._rounds(
                f"memory, {tree}", self._args.memory_rounds, partial(memory, self._bed, tree, path)
            )
        return found

    def wires(self) -> dict[str, dict[str, list[float]]]:
        """Bytes a beat."""
        self._beat(BEAT_S)
        self._balance(True)
        found = self._rounds("bytes a beat", self._args.memory_rounds, lambda _: wire(self._bed))
        self._balance(False)
        return {"bytes_a_beat": found}

    def _balance(self, on: bool) -> None:
        self._bed.lab.monitor.command(
            "fs set", fs_name=cluster.FS_NAME, var="balance_automate", val=str(on).lower()
        )

    def _beat(self, seconds: int) -> None:
        self._bed.lab.monitor.command("config set", who="mds", name="mds_bal_interval", value=str(seconds))

    def _rounds(self, what: str, rounds: int, one: Callable[[str], T]) -> dict[str, list[T]]:
        found: dict[str, list[T]] = {variant: [] for variant in VARIANTS}
        for number in range(rounds):
            for variant in order(self._rng):
                self._bed.run(variant)
                found[variant].append(one(variant))
                self._progress.note(f"{what}, round {number + 1}, {variant}: {found[variant][-1]}")
        return found


def measure(args: argparse.Namespace, program: Path) -> dict[str, Any]:
    """All of it, on one cluster."""
    progress = ConsoleProgress()
    shutil.copy2(built(args.release), program)
    with Lab.up(
        name=f"mds-cost-{os.getpid()}",
        release=args.release,
        mds=RANKS,
        mgr=1,
        mds_binary=program,
        conf=CONF,
        progress=progress,
    ) as lab:
        course = Course(Bed(lab, program, args.release), args, progress)
        return {part: course.part(part) for part in PARTS if part in args.parts}


def summary(found: Mapping[str, Any]) -> dict[str, Any]:
    """Medians, and how the others differ from the stock program, op/s and CPU time round by round."""
    rates, times = found[RATES]["op_s"], found[RATES]["cpu_us_a_reply"]
    memories, wires = found[MEMORY], found[WIRE]["bytes_a_beat"]

    def paired(figures: Mapping[str, Sequence[float]]) -> dict[str, float]:
        def ratios(variant: str) -> list[float]:
            return [b / a - 1 for a, b in zip(figures[STOCK], figures[variant], strict=True)]

        return {v: round(100 * statistics.median(ratios(v)), 2) for v in others}

    def median(tree: str, variant: str, what: str) -> float:
        return float(statistics.median(m[what] for m in memories[tree][variant]))

    def grown(tree: str) -> float:
        return median(tree, RECORDING, "in_use") - median(tree, IDLE, "in_use")

    others = (IDLE, RECORDING)
    an_inode = grown("large") / median("large", RECORDING, "recorded_inodes")
    of_inodes = an_inode * median("wide", RECORDING, "recorded_inodes")
    rss = {variant: median("large", variant, "rss") for variant in VARIANTS}
    return {
        "op_s": {v: round(statistics.median(x), 1) for v, x in rates.items()},
        "op_s_against_stock_percent": paired(rates),
        "cpu_us_a_reply": {v: round(statistics.median(x), 1) for v, x in times.items()},
        "cpu_against_stock_percent": paired(times),
        "rss": rss,
        "rss_against_stock_percent": {v: round(100 * (rss[v] / rss[STOCK] - 1), 2) for v in others},
        "in_use_idle_against_stock_percent": round(
            100 * (median("large", IDLE, "in_use") / median("large", STOCK, "in_use") - 1), 2
        ),
        "bytes_a_recorded_inode": round(an_inode, 1),
        "bytes_a_recorded_dirfrag": round((grown("wide") - of_inodes) / TREES["wide"][0], 1),
        "bytes_a_beat": {v: round(statistics.median(x)) for v, x in wires.items()},
    }


def earlier(args: argparse.Namespace) -> dict[str, Any]:
    """What was measured before of parts that are not measured now. :raises LabError: nothing was"""
    kept = json.loads(args.out.read_text()) if args.out.exists() else {}
    for part in PARTS:
        if part not in args.parts and part not in kept:
            raise LabError(f"{args.out} has no earlier result of {part}: measure that, too")
    return {part: kept[part] for part in PARTS if part not in args.parts}


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.hook_cost", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement of op/s")
    parser.add_argument("--memory-rounds", type=int, default=3, help="and of messages")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)

    def work() -> None:
        found = earlier(args)
        head = about("lab.hook_cost", argv, release=args.release, mds_cpu=MDS_CPU)
        with tempfile.TemporaryDirectory() as folder:
            for part, result in measure(args, Path(folder) / "ceph-mds").items():
                found[part] = {**head, **result}
        found["summary"] = summary(found)
        save(args.out, found)
        print(json.dumps(found["summary"], indent=1))

    return exit_status("hook_cost", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
