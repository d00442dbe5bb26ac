# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m lab.hook_cost`: what is not measured anew stays in the result."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.errors import LabError
from lab.hook_cost import counted, sampled
from lab.hook_cost.bed import RANKS, Bed
from lab.hook_cost.course import INSTRUCTIONS, MDS_CPU, PARTS, SAMPLES, Course
from lab.hook_cost.summary import summary
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress

OUT = Path("docs/results/hook-cost.json")
CONF = {"mds_cache_memory_limit": str(8 << 30)}


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """The parts that are asked for, on one cluster."""
    progress = ConsoleProgress()
    for part, check_installed in (
        (INSTRUCTIONS, counted.check_installed),
        (SAMPLES, sampled.check_installed),
    ):
        if part in args.parts:
            check_installed()
    with Lab.up(
        name=f"mds-cost-{os.getpid()}",
        release=args.release,
        mds=RANKS,
        mgr=1,
        conf=CONF,
        progress=progress,
    ) as lab:
        course = Course(Bed(lab, args.release), args, progress)
        return {part: course.part(part) for part in PARTS if part in args.parts}


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
    parser.add_argument("--rounds", type=int, default=7, help="of rates")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement of rates")
    parser.add_argument("--count-rounds", type=int, default=12, help="of instructions")
    parser.add_argument("--memory-rounds", type=int, default=3, help="and of messages")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)

    def work() -> None:
        found = earlier(args)
        head = about("lab.hook_cost", argv, release=args.release, mds_cpu=MDS_CPU)
        found |= {part: {**head, **result} for part, result in measure(args).items()}
        found["summary"] = summary(**{part: found[part] for part in PARTS})
        save(args.out, found)
        print(json.dumps(found["summary"], indent=1))

    return exit_status("hook_cost", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
