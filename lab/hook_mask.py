# SPDX-License-Identifier: LGPL-2.1-or-later
"""A masked directory among others that move: `python3 -m lab.hook_mask`.

Twelve subvolumes under load that wanders from one half of them to the other, four ranks, one subvolume with
ceph.dir.bal.mask. It must stay on its ranks while the balancer moves others; follow when the mask changes;
and be there after every MDS was restarted. Once with the built-in balancer, once with lunule by mIndex.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.bench.balancers import BALANCERS, switch_off
from lab.bench.figures import moves, owner
from lab.bench.sampling import Sampling
from lab.bench.setting import Setting
from lab.bench.subtrees import Pin, authorities, path_of, put
from lab.clients.spec import ClientSpec, LoadSpec
from lab.demo import module
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress
from lab.ranks import gid, wait, wait_all_active
from mds.build import built

OUT = Path("docs/results/hook-mask.json")
RANKS, MDS_CPU = 4, 15
CAPACITY = 700.0  # req/s of a rank at 15 % of a core, about
NAMES = tuple(f"m{number}" for number in range(12))
MASK = "ceph.dir.bal.mask"
TURN_S = 40.0  # one half of the clients works, then the other, and so on
FOLLOW_S = 120.0
AGAIN_S = 30.0
METRICS_S = 15.0  # what clients told of themselves must have come before a rank fails: tracker 79440
PATIENCE_S = 120.0


def ranks_of(subtrees: Mapping[str, int], path: str) -> set[int]:
    """Who has authority over a directory and what is below it."""
    inner = {rank for key, rank in subtrees.items() if path_of(key) == path or key.startswith(path + "/")}
    whole = any(path_of(key) == path for key in subtrees)
    return inner if whole else inner | {owner(subtrees, path)}


class Course:
    """One balancer's turn."""

    def __init__(self, lab: Lab, load: LoadSpec, masked: str, progress: ConsoleProgress) -> None:
        self.lab, self.masked, self._progress = lab, masked, progress
        self._clients = load.clients

    def run(self, balancer: str, seconds: float) -> dict[str, Any]:
        """What became of the masked directory."""
        self._mask("1,2")
        BALANCERS[balancer].switch_on(Setting(self.lab, RANKS, CAPACITY, {}))
        found: dict[str, Any] = {"balancer": balancer}
        with Sampling(self.lab.sandbox) as sampling:
            found["s_to_get_into_the_mask"] = self._follow({1, 2})
            since = time.time()
            with self._progress.step(f"{balancer}: {seconds:g} s of wandering load"):
                self._wander(seconds)
            found |= held(sampling.lines, (since, time.time()), self.masked, {1, 2})
            self._mask("3")
            found["s_to_follow_the_new_mask"] = self._follow({3})
        self._restart()
        with self.lab.clients(LoadSpec(self._clients)), Sampling(self.lab.sandbox) as sampling:
            since = time.time() + AGAIN_S / 2
            time.sleep(AGAIN_S)
        found["after_restarts"] = held(sampling.lines, (since, time.time()), self.masked, {3})
        switch_off(self.lab)
        self._mask("-1")
        return found

    def _wander(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        half = len(self._clients) // 2
        # The masked one is in both halves.
        first, second = self._clients[:half], (self._clients[0], *self._clients[half:])
        while time.monotonic() < until:
            with self.lab.clients(LoadSpec(first)):
                time.sleep(min(TURN_S, max(1.0, until - time.monotonic())))
            first, second = second, first

    def _mask(self, value: str) -> None:
        put(self.lab, [Pin(self.masked, MASK, value)])

    def _follow(self, ranks: set[int]) -> float:
        began = time.monotonic()
        wait(
            f"{self.masked} is on {sorted(ranks)}",
            lambda: ranks_of(authorities(self.lab), self.masked) <= ranks,
            FOLLOW_S,
        )
        return round(time.monotonic() - began, 1)

    def _restart(self) -> None:
        time.sleep(METRICS_S)
        for letter in "abcd"[:RANKS]:
            with self._progress.step(f"restart mds.{letter}"):
                self._replace(f"mds.{letter}")

    def _replace(self, daemon: str) -> None:
        gone = gid(self.lab, daemon)
        self.lab.kill(daemon)
        self.lab.start(daemon)
        wait_all_active(self.lab, RANKS, PATIENCE_S, without=[gone])


def held(
    samples: Sequence[Mapping[str, Any]], span: tuple[float, float], path: str, ranks: set[int]
) -> dict[str, Any]:
    """Looks at the maps of a span: on how many the directory was where it may be, and what else moved."""
    maps = [s for s in samples if span[0] <= s["t"] <= span[1] and s["subtrees"]]
    outside = [s for s in maps if not ranks_of(s["subtrees"], path) <= ranks]
    return {
        "seconds": round(maps[-1]["t"] - maps[0]["t"], 1) if maps else 0.0,
        "maps": len(maps),
        "maps_with_it_elsewhere": len(outside),
        "moves_of_others": sum(
            len(trail) - 1
            for key, trail in moves({"samples": maps}).items()
            if not f"{path_of(key)}/".startswith(f"{path}/")
        ),
    }


def fine(turn: Mapping[str, Any]) -> bool:
    """Nothing was elsewhere, something was looked at, and others moved."""
    parts = (turn, turn["after_restarts"])
    return turn["moves_of_others"] > 0 and all(p["maps"] and not p["maps_with_it_elsewhere"] for p in parts)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """A turn a balancer, on one cluster."""
    progress = ConsoleProgress()
    with Lab.up(
        name=f"hook-mask-{os.getpid()}",
        release=args.release,
        mds=RANKS,
        mgr=1,
        mds_binary=built(args.release),
        progress=progress,
    ) as lab:
        module.enable(lab, {})
        paths = lab.make_subvolumes(NAMES)
        load = LoadSpec(tuple(ClientSpec(name, paths[name], dirs=8, files=100, cache=10) for name in NAMES))
        lab.prepare(load)
        lab.set_mds_cpu(MDS_CPU)
        course = Course(lab, load, paths[NAMES[0]].rpartition("/")[0], progress)
        turns = [course.run(balancer, args.seconds) for balancer in ("builtin", "lunule-mindex")]
    return {"turns": turns, "fine": all(fine(turn) for turn in turns)}


def main(argv: Sequence[str]) -> int:
    """Run it; the exit status is 1 when the mask did not hold."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.hook_mask", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--seconds", type=float, default=300.0, help="that the mask must hold")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    results: list[dict[str, Any]] = []

    def work() -> None:
        head = about("lab.hook_mask", argv, release=args.release, mds_cpu=MDS_CPU)
        results.append(measure(args))
        save(args.out, {**head, **results[0]})

    status = exit_status("hook_mask", work)
    for turn in results and results[0]["turns"]:
        print(turn)
    return status or (0 if results and results[0]["fine"] else 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
