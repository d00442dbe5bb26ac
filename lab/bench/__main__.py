# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m lab bench`: balancers against each other, on real clusters, one cell after another."""

import argparse
import gzip
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import releases
from lab.bench import plot, summary
from lab.bench.balancers import BALANCERS
from lab.bench.cell import Order, measure
from lab.bench.workloads import WORKLOADS
from lab.measurement import exit_status
from lab.progress import ConsoleProgress

OUT = Path("docs/results/bench")


def main(argv: Sequence[str]) -> int:
    """Run what is missing of the matrix, then write tables and pictures; the exit status."""
    args = _arguments(argv)
    orders = [
        Order(
            workload=WORKLOADS[workload],
            balancer=balancer,
            run=run,
            release=args.release,
            ranks=args.ranks,
            mds_cpu=args.mds_cpu,
            seconds=args.seconds,
            hook=args.hook,
        )
        for run in range(1, args.runs + 1)
        for workload in args.workloads
        for balancer in args.balancers
    ]

    def work() -> None:
        _run(orders, args.out)
        _report(orders, args.out)

    return exit_status("bench", work, "finished cells are kept, and not run again")


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m lab bench", description=__doc__, allow_abbrev=False)
    names = {"workloads": list(WORKLOADS), "balancers": list(BALANCERS)}
    for option, known in names.items():
        parser.add_argument(
            f"--{option}", nargs="+", choices=known, default=known, help="default: all of them"
        )
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--hook", action="store_true", help="MDSs with the hook (make mds)")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--mds-cpu", type=int, default=15, metavar="PERCENT", help="of a core, each MDS")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=75.0, help="of each phase")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="default: %(default)s")
    return parser.parse_args(argv)


def _path(out: Path, order: Order) -> Path:
    return out / f"{order.key}.json.gz"


def _run(orders: Sequence[Order], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    missing = [order for order in orders if not _path(out, order).exists()]
    began = time.monotonic()
    progress = ConsoleProgress()
    for number, order in enumerate(missing):
        left = ""
        if number:
            each = (time.monotonic() - began) / number
            left = f", about {each * (len(missing) - number) / 60:.0f} min left"
        print(f"{order.key}: {number + 1} of {len(missing)}{left}", flush=True)
        _save(_path(out, order), measure(order, progress))


def _save(path: Path, cell: dict[str, Any]) -> None:
    """Whole or not at all: a cell that is there is taken for finished."""
    part = path.with_suffix(".part")
    # No time stamp in it, so that the same result is the same file.
    part.write_bytes(gzip.compress(json.dumps(cell, separators=(",", ":")).encode(), mtime=0))
    part.rename(path)


def _report(orders: Sequence[Order], out: Path) -> None:
    for workload in dict.fromkeys(order.workload.name for order in orders):
        mine = [order for order in orders if order.workload.name == workload]
        cells = [json.loads(gzip.decompress(_path(out, order).read_bytes())) for order in mine]
        first = mine[0]
        mds = f"{first.release}{' with the hook' if first.hook else ''}"
        title = f"{workload}: {first.ranks} ranks at {first.mds_cpu} % of a core each, Ceph {mds}"
        name = f"{workload}-{first.release}{'-hook' if first.hook else ''}"
        text = f"{title}; median (lowest to highest) of the runs\n\n{summary.table(cells)}\n"
        (out / f"{name}.md").write_text(text)
        plot.draw(cells, title, out / f"{name}.png")
        print(f"\n{text}\npicture: {out / name}.png")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
