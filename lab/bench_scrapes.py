# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is the manager responsive while its endpoint is hammered? `python3 -m lab.bench_scrapes`.

The time of `ceph mds_partitioner status`, over a held connection, in phases of a minute: nobody at the
endpoint; 50 scrapers with a second between two scrapes; 50 without a pause; 50 and hostile clients, which
drip, say nothing, send a megabyte of header, or ask for unknown paths and with POST.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.demo import module, scene
from lab.errors import LabError
from lab.measurement import about, exit_status, save
from lab.sandbox import CODE

OUT = Path("docs/results")
PORT = 9927
SCRAPERS = 50
PAUSE_S = 0.05  # between two commands


@dataclass(frozen=True)
class Phase:
    """Who is at the endpoint; ``pause`` in seconds, ``hostile`` is a number a kind."""

    name: str
    scrapers: int
    pause: float
    hostile: int


PHASES = (
    Phase("quiet", 0, 0.0, 0),
    Phase("50 scrapers, one scrape a second each", SCRAPERS, 1.0, 0),
    Phase("50 scrapers without a pause", SCRAPERS, 0.0, 0),
    Phase("50 scrapers a second and 50 hostile clients", SCRAPERS, 1.0, 10),
    Phase("quiet again", 0, 0.0, 0),
)


def quantile(values: Sequence[float], part: float) -> float:
    """The smallest value that so large a part does not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def told(values: Sequence[float]) -> dict[str, float]:
    """Number and quantiles, in milliseconds."""
    milliseconds = {f"p{int(100 * q)}": round(1000 * quantile(values, q), 2) for q in (0.5, 0.9, 0.99)}
    return {"number": len(values), **milliseconds, "max": round(1000 * max(values, default=0.0), 2)}


def commands(lab: Lab, seconds: float) -> list[float]:
    """How long `mds_partitioner status` took, again and again."""
    taken, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.monotonic()
        module.text(lab, "status")
        taken.append(time.monotonic() - started)
        time.sleep(PAUSE_S)
    return taken


def play(lab: Lab, phase: Phase, seconds: float) -> dict[str, Any]:
    """One phase."""
    arguments = [PORT, seconds, phase.scrapers, phase.pause, phase.hostile]
    argv = ["python3", f"{CODE}/lab/inside/hammer.py", *map(str, arguments)]
    with subprocess.Popen(lab.sandbox.command(argv), stdout=subprocess.PIPE, text=True) as hammer:
        time.sleep(1)
        taken = commands(lab, seconds - 2)
        out, _ = hammer.communicate(timeout=seconds + 120)
    if hammer.returncode:
        raise LabError(f"the clients of the endpoint failed with {hammer.returncode}")
    seen = json.loads(out)
    return {
        "phase": phase.name,
        "command_ms": told(taken),
        "scrape_ms": told(seen["scrape_seconds"]),
        "answers": seen["counts"],
    }


def measure(release: str, seconds: float) -> dict[str, Any]:
    """All phases on one lab."""
    with Lab.up(name=f"scrapes-{os.getpid()}", release=release, mds=scene.RANKS, mgr=1) as lab:
        module.enable(lab, scene.OPTIONS)
        lab.make_subvolumes(scene.subvolumes())
        module.text(lab, "analyze start", duration=15)
        while module.ask(lab, "analyze status")["state"] == "running":
            time.sleep(1)
        module.text(lab, "status")
        phases = []
        for phase in PHASES:
            phases.append(play(lab, phase, seconds))
            print(phases[-1], flush=True)
        return {"ceph": lab.monitor.command("version").strip(), "phases": phases}


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.bench_scrapes", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each phase")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    return exit_status("bench_scrapes", lambda: _report(args, argv))


def _report(args: argparse.Namespace, argv: Sequence[str]) -> None:
    head = about("lab.bench_scrapes", argv, release=args.release, seconds=args.seconds)
    found = measure(args.release, args.seconds)
    quiet = found["phases"][0]["command_ms"]
    ratios = {p["phase"]: round(p["command_ms"]["p99"] / quiet["p99"], 2) for p in found["phases"][1:]}
    path = args.out / f"monitoring-scrapes-{args.release}.json"
    save(path, {**head, **found, "p99_ratio_to_quiet": ratios})
    print(f"p99 of the command over quiet: {ratios}; {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
