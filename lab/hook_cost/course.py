# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is measured of each variant.

wire: what idle ranks send a beat. memory: of rank 0 with 200,000 inodes in its cache, each visited within the
windows, and with many directories. In these two all ranks are one variant, in turns; the order within a round
changes. rates: op/s and CPU time a reply with every rank at its CPU quota; the three variants serve at the
same time, each a rank with clients of its own, and in a round each variant has each rank once. instructions:
those that an MDS executes for a reply, counted in such rounds while as much is asked of every rank. samples:
in which functions recording MDSs at their quota spend their time.
"""

import argparse
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from lab import cluster
from lab.bench.subtrees import PIN, Pin, put, settled
from lab.clients.spec import ClientSpec, LoadSpec
from lab.hook_cost import sampled
from lab.hook_cost.bed import RANKS, RECORDING, VARIANTS, Bed
from lab.progress import ConsoleProgress

T = TypeVar("T")
# Bytes first: what memory has left in the journals is trimmed for a while.
WIRE, MEMORY, RATES, INSTRUCTIONS, SAMPLES = PARTS = ("wire", "memory", "rates", "instructions", "samples")
MDS_CPU = 15  # %: the clients of three ranks fit beside them on two cores
CLIENTS = 3  # a rank
SETTLE_S = 8.0
# Directories and files in each: 200,000 inodes; and 10,000 dirfrags.
TREES = {"large": (100, 2000), "wide": (10_000, 2)}
# mds_bal_interval; memory's is so long that all visits are within the windows
BEAT_S = {WIRE: 5, MEMORY: 60, RATES: 10, INSTRUCTIONS: 10, SAMPLES: 10}
BEATS = 8  # while messages are counted
SAMPLED_S = 120.0  # that functions are sampled
OPERATIONS = 1500  # of a client while instructions are counted, and as many before


def rotations(rng: random.Random) -> list[list[str]]:
    """The variants by rank for each window of a round: every variant is on every rank once."""
    first = rng.sample(VARIANTS, len(VARIANTS))
    return [first[turn:] + first[:turn] for turn in range(len(first))]


def load(paths: Mapping[str, str], operations: int | None) -> LoadSpec:
    """Clients that get past their caches with every operation; they end after so many, or never."""
    one = ClientSpec("client", "/", mix={"stat": 3.0, "open": 1.0}, workers=4, dirs=4, files=500, cache=10)
    return LoadSpec(
        tuple(replace(one, name=name, path=path, operations=operations) for name, path in paths.items())
    )


def window(bed: Bed, work: LoadSpec, variants: list[str], seconds: float) -> dict[str, Any]:
    """One of rates: replies and CPU time of each rank, and the variant that it was."""
    bed.run(variants)
    with bed.lab.clients(work):
        time.sleep(SETTLE_S)
        used, (replies, began) = bed.cpu_times(), bed.replies()
        time.sleep(seconds)
        more, (last, ended) = bed.cpu_times(), bed.replies()
    ranks = [
        {"variant": variants[rank], "replies": last[rank] - replies[rank], "cpu_s": more[rank] - used[rank]}
        for rank in range(RANKS)
    ]
    return {"seconds": ended - began, "ranks": ranks}


def count(bed: Bed, work: LoadSpec, variants: list[str]) -> dict[str, Any]:
    """One of instructions: those of each rank, its replies, and the variant that it was."""
    counters = bed.run_counted(variants)
    _do(bed, work)
    counters.start()
    before, _ = bed.replies()
    _do(bed, work)
    found, (replies, _) = counters.read(), bed.replies()
    ranks = [
        {
            "variant": variants[rank],
            "replies": replies[rank] - before[rank],
            "instructions": found[bed.daemon(rank)],
        }
        for rank in range(RANKS)
    ]
    return {"ranks": ranks}


def _do(bed: Bed, work: LoadSpec) -> None:
    with bed.lab.clients(work) as clients:
        clients.wait(600)


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
    time.sleep(BEAT_S[WIRE] * BEATS)
    return (bed.sent() - first) / BEATS


class Course:
    """The measurements, round by round."""

    def __init__(self, bed: Bed, args: argparse.Namespace, progress: ConsoleProgress) -> None:
        self._bed, self._args, self._progress = bed, args, progress
        self._rng = random.Random(5)

    def part(self, name: str) -> Mapping[str, Any]:
        """Measure one of PARTS."""
        ways: dict[str, Callable[[], Mapping[str, Any]]] = {
            MEMORY: self.memories,
            WIRE: self.wires,
            RATES: self.rates,
            INSTRUCTIONS: self.instructions,
            SAMPLES: self.samples,
        }
        self._bed.lab.monitor.command(
            "config set", who="mds", name="mds_bal_interval", value=str(BEAT_S[name])
        )
        return ways[name]()

    def rates(self) -> dict[str, list[list[dict[str, Any]]]]:
        """The windows of each round."""
        work = self._placed("r", None)
        self._bed.lab.set_mds_cpu(MDS_CPU)
        rounds = self._rounds(
            RATES, self._args.rounds, lambda variants: window(self._bed, work, variants, self._args.seconds)
        )
        self._bed.lab.set_mds_cpu(None)
        return {"rounds": rounds}

    def instructions(self) -> dict[str, list[list[dict[str, Any]]]]:
        """The same of what is counted."""
        work = self._placed("i", OPERATIONS)
        return {
            "rounds": self._rounds(INSTRUCTIONS, self._args.count_rounds, partial(count, self._bed, work))
        }

    def samples(self) -> dict[str, Any]:
        """Percent of the time by function."""
        work = self._placed("s", None)
        self._bed.run([RECORDING] * RANKS)
        self._bed.lab.set_mds_cpu(MDS_CPU)
        with self._bed.lab.clients(work):
            time.sleep(SETTLE_S)
            found = sampled.of_symbols([self._bed.pid(rank) for rank in range(RANKS)], SAMPLED_S)
        self._bed.lab.set_mds_cpu(None)
        return {"seconds": SAMPLED_S, "frequency": sampled.FREQUENCY, "percent": found}

    def _placed(self, prefix: str, operations: int | None) -> LoadSpec:
        """Clients, each of which works on one rank."""
        lab = self._bed.lab
        names = {rank: [f"{prefix}{rank}c{number}" for number in range(CLIENTS)] for rank in range(RANKS)}
        paths = {rank: lab.make_subvolumes(mine) for rank, mine in names.items()}
        work = load({name: path for mine in paths.values() for name, path in mine.items()}, operations)
        lab.prepare(work)
        put(lab, [Pin(path, PIN, str(rank)) for rank, mine in paths.items() for path in mine.values()])
        settled(lab)
        return work

    def _rounds(
        self, what: str, number: int, one: Callable[[list[str]], dict[str, Any]]
    ) -> list[list[dict[str, Any]]]:
        rounds = []
        for nth in range(number):
            windows = []
            for variants in rotations(self._rng):
                windows.append(one(variants))
                self._progress.note(f"{what}, round {nth + 1}: {windows[-1]}")
            rounds.append(windows)
        return rounds

    def memories(self) -> dict[str, dict[str, list[dict[str, float]]]]:
        """Memory by tree."""
        found = {}
        for tree, (dirs, files) in TREES.items():
            (path,) = self._bed.lab.make_subvolumes([tree]).values()
            self._bed.lab.prepare(LoadSpec((ClientSpec(tree, path, dirs=dirs, files=files),)), timeout=900)
            found[tree] = self._in_turns(f"memory, {tree}", partial(memory, self._bed, tree, path))
        return found

    def wires(self) -> dict[str, dict[str, list[float]]]:
        """Bytes a beat."""
        self._balance(True)
        found = self._in_turns("bytes a beat", lambda _: wire(self._bed))
        self._balance(False)
        return {"bytes_a_beat": found}

    def _balance(self, on: bool) -> None:
        self._bed.lab.monitor.command(
            "fs set", fs_name=cluster.FS_NAME, var="balance_automate", val=str(on).lower()
        )

    def _in_turns(self, what: str, one: Callable[[str], T]) -> dict[str, list[T]]:
        found: dict[str, list[T]] = {variant: [] for variant in VARIANTS}
        for number in range(self._args.memory_rounds):
            for variant in self._rng.sample(VARIANTS, len(VARIANTS)):
                self._bed.run([variant] * RANKS)
                found[variant].append(one(variant))
                self._progress.note(f"{what}, round {number + 1}, {variant}: {found[variant][-1]}")
        return found
