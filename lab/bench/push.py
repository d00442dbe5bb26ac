# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a push of new hints costs the monitor and the MDSs: `python3 -m lab.bench.push`.

A push is an object in the metadata pool and one `fs set balancer`: a new FSMap for every daemon and client
that subscribed, and one read by each MDS in its next beat. Windows with a push every two seconds alternate
with windows without, under a light load whose latency is compared too.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.bench.setting import FS
from lab.clients.run import Line
from lab.clients.spec import ClientSpec, LoadSpec
from lab.demo import module
from lab.demo.cost import cpu_ticks
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress

OUT = Path("docs/results/push-cost.json")
RANKS = 4
CLIENTS = 8
RATE = 25.0  # op/s a client
PUSH_EVERY_S = 2.0
_SETTLE_S = 5.0
POLICY = Path(__file__).resolve().parents[2] / "mantle" / "lunule.lua"


def push(lab: Lab, number: int) -> None:
    """What act/switch.py does, with hints that differ every time."""
    name = f"push.{number}"
    text = f"hints = {{capacity = {100_000 + number}}} {POLICY.read_text()}"
    lab.exec(["rados", "-p", f"{FS}_meta", "put", name, "-"], stdin=text)
    lab.monitor.command("fs set", fs_name=FS, var="balancer", val=name)


def _ticks(lab: Lab) -> dict[str, int]:
    """CPU time so far, in the kernel's ticks, of the monitors together and of the MDSs together."""
    found = {"mon": 0, "mds": 0}
    for daemon, pids in lab.daemons().items():
        kind = daemon.partition(".")[0]
        if kind in found:
            found[kind] += sum(cpu_ticks(Path(f"/proc/{pid}/stat").read_text()) for pid in pids)
    return found


def _window(lab: Lab, seconds: float, first_push: int | None, lines: list[Line]) -> dict[str, Any]:
    began, before, start, pushes = time.monotonic(), _ticks(lab), time.time(), 0
    while time.monotonic() - began < seconds:
        if first_push is not None:
            push(lab, first_push + pushes)
            pushes += 1
        time.sleep(max(0.0, began + max(1, pushes) * PUSH_EVERY_S - time.monotonic()))
    passed, after = time.monotonic() - began, _ticks(lab)
    seen = [x for x in lines if x.get("ops") and start <= x["t"] < start + seconds]
    return {
        "seconds": round(passed, 2),
        "pushes": pushes,
        "cpu_ms_per_s": {k: round((after[k] - before[k]) * 1000 / _hertz() / passed, 3) for k in after},
        "p95_ms": round(statistics.median(x["latency_ms"]["all"]["p95"] for x in seen), 3),
    }


def _hertz() -> int:
    return os.sysconf("SC_CLK_TCK")


def measure(release: str, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Pairs of windows, without and with pushes."""
    progress = ConsoleProgress()
    found = []
    with Lab.up(name=f"push-{os.getpid()}", release=release, mds=RANKS, mgr=1, progress=progress) as lab:
        module.enable(lab, {})
        names = [f"c{i}" for i in range(CLIENTS)]
        paths = lab.make_subvolumes(names)
        mix = {"create": 1.0, "stat": 3.0}
        load = LoadSpec(tuple(ClientSpec(name=n, path=paths[n], mix=mix, rate=RATE) for n in names))
        lab.prepare(load)
        lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="true")
        push(lab, 0)
        lines: list[Line] = []
        with lab.clients(load, on_line=lines.append) as clients:
            time.sleep(_SETTLE_S)
            for number in range(rounds):
                with progress.step(f"round {number + 1}: quiet, then a push every {PUSH_EVERY_S:.0f} s"):
                    quiet = _window(lab, seconds, None, lines)
                    pushing = _window(lab, seconds, 1 + 1000 * number, lines)
                found.append({"quiet": quiet, "pushing": pushing})
            clients.stop()
    return found


def summary(rounds: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Medians over the rounds: CPU a push (ms; all four MDSs together), and the ratio of p95 latencies."""

    def a_push(kind: str) -> float:
        costs = [
            (r["pushing"]["cpu_ms_per_s"][kind] - r["quiet"]["cpu_ms_per_s"][kind])
            * r["pushing"]["seconds"]
            / r["pushing"]["pushes"]
            for r in rounds
        ]
        return float(statistics.median(costs))

    return {
        "mon_cpu_ms_a_push": round(a_push("mon"), 2),
        "all_mds_cpu_ms_a_push": round(a_push("mds"), 2),
        "p95_ratio": round(
            statistics.median(r["pushing"]["p95_ms"] / r["quiet"]["p95_ms"] for r in rounds), 3
        ),
    }


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.bench.push", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each window")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    return exit_status("push", lambda: _report(args, argv))


def _report(args: argparse.Namespace, argv: Sequence[str]) -> None:
    head = about("lab.bench.push", argv, release=args.release, ranks=RANKS, clients=CLIENTS)
    rounds = measure(args.release, args.rounds, args.seconds)
    value = {**head, "rounds": rounds, "medians": summary(rounds)}
    save(args.out, value)
    print(f"medians: {value['medians']}\nnumbers: {args.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
