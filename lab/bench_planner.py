# SPDX-License-Identifier: LGPL-2.1-or-later
"""Time the planner in the real engine process: ``python3 -m lab.bench_planner --out
docs/results/planner.json``.

The subvolumes are made up after what LINE shows of theirs (a few heavy ones, the rest log-normal); times
are the median of several runs, over the pipe and back, JSON included.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
MEMORY_LIMIT = 1 << 30
SEED = 20231116


@dataclass(frozen=True)
class Case:
    """A size to plan for, where the subvolumes are at first, and how long and large it may be."""

    name: str
    ranks: int
    subvolumes: int
    heavies: int
    start: str
    goal_seconds: float


CASES = (
    Case("LINE, scattered", 36, 3_000, 4, "scattered", 0.05),
    Case("LINE, all on rank 0", 36, 3_000, 4, "rank 0", 0.05),
    Case("LINE, rank 35 gone", 36, 3_000, 4, "gone", 0.05),
    Case("large, scattered", 1_024, 100_000, 20, "scattered", 2.0),
    Case("large, all on rank 0", 1_024, 100_000, 20, "rank 0", 2.0),
    Case("large, rank 1023 gone", 1_024, 100_000, 20, "gone", 2.0),
)


@dataclass(frozen=True)
class Outcome:
    """What was measured of a case: seconds (median of the runs), peak resident bytes of the engine, the
    plan: the fullest rank's points over their lower bound, its requests over the mean."""

    name: str
    ranks: int
    subvolumes: int
    mode: str
    round_trip: float
    engine: float
    slowest_round_trip: float
    goal_seconds: float
    peak_rss: int
    fullest_before_over_bound: float
    fullest_over_bound: float
    busiest_before_over_mean: float
    busiest_over_mean: float
    moved: int
    heavy_ranks: int


def sizes(random: np.random.Generator, case: Case, median: float, heavy: float) -> npt.NDArray[np.float64]:
    """Log-normal values, the first few several fair shares large. heavy: in parts of a rank's fair share."""
    values: npt.NDArray[np.float64] = random.lognormal(np.log(median), 2.0, case.subvolumes)
    values = np.minimum(values, 0.8 * values.sum() / case.ranks)
    values[: case.heavies] = values.sum() / case.ranks * heavy * random.uniform(0.8, 1.5, case.heavies)
    return values


def request(case: Case, mode: str) -> dict[str, Any]:
    """The arguments of `plan` for a case, but the classes."""
    random = np.random.default_rng(SEED)
    wss, reqs, rentries = (sizes(random, case, m, h) for m, h in ((2e3, 2.0), (20.0, 3.0), (2e4, 4.0)))
    starts = {
        "rank 0": np.zeros(case.subvolumes, dtype=int),
        "scattered": random.integers(0, case.ranks, case.subvolumes),
        "gone": random.integers(0, case.ranks, case.subvolumes),
    }
    ranks = list(range(case.ranks - (case.start == "gone")))
    return {
        "ranks": ranks,
        "all_ranks": ranks,
        "cache_inodes": 1.5 * float(wss.sum()) / case.ranks,
        "subvolumes": {
            "wss": np.round(wss).tolist(),
            "reqs": np.round(reqs, 3).tolist(),
            "rentries": np.round(rentries).tolist(),
            "current": [[r] for r in starts[case.start].tolist()],
            "fixed": [None] * case.subvolumes,
        },
        "heavy_mode": mode,
        "children": {},
        "current_mask": None,
        "smoothness": 0.2,
        "capacity": 10_000,
        "threshold": 0.075,
        "min_gain": 0.05,
    }


class Engine:
    """The real engine process, asked over its pipes."""

    def __init__(self) -> None:
        self.command = [sys.executable, "-m", "engine", "--nice", "0", "--memory-limit", str(MEMORY_LIMIT)]
        env = os.environ | {"PYTHONPATH": str(ROOT / "mgr" / "mds_partitioner")}
        self._child = subprocess.Popen(self.command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, message: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """The answer, and the seconds from before writing JSON to after reading JSON."""
        assert self._child.stdin is not None and self._child.stdout is not None
        start = time.perf_counter()
        self._child.stdin.write(json.dumps(message).encode() + b"\n")
        self._child.stdin.flush()
        reply: dict[str, Any] = json.loads(self._child.stdout.readline())
        seconds = time.perf_counter() - start
        if not reply["ok"]:
            raise RuntimeError(reply["error"]["message"])
        return reply, seconds

    def peak_rss(self) -> int:
        status = Path(f"/proc/{self._child.pid}/status").read_text()
        line = next(row for row in status.splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait(timeout=30)


def classes(engine: Engine, asked: dict[str, Any]) -> list[str]:
    """The classes of the subvolumes, as the engine finds them."""
    sizes = {name: asked["subvolumes"][name] for name in ("wss", "reqs", "rentries")}
    arguments = {"ranks": asked["ranks"], "subvolumes": sizes}
    reply, _ = engine.ask({"id": 0, "call": "classify", "args": arguments})
    found: list[str] = reply["result"]["class"]
    return found


def busiest(asked: dict[str, Any], placement: list[list[int]]) -> float:
    """The requests of the busiest rank to use, over their mean; a heavy subvolume shares its out evenly."""
    reqs, ranks = asked["subvolumes"]["reqs"], asked["ranks"]
    busy = np.zeros(max(asked["all_ranks"] + [rank for own in placement for rank in own]) + 1)
    for load, own in zip(reqs, placement, strict=True):
        busy[own] += load / len(own)
    mean = float(sum(reqs)) / len(ranks)
    return float(busy[ranks].max()) / mean


def measure(case: Case, mode: str, runs: int) -> Outcome:
    """Run one case in an engine of its own, warmed up by a ping."""
    engine = Engine()
    try:
        engine.ask({"id": 0, "call": "ping", "args": {}})
        asked = request(case, mode)
        asked["subvolumes"]["class"] = classes(engine, asked)
        answers = [engine.ask({"id": number, "call": "plan", "args": asked}) for number in range(1, runs + 1)]
        peak = engine.peak_rss()
    finally:
        engine.close()
    result = answers[0][0]["result"]
    start = asked["subvolumes"]["current"]
    return Outcome(
        name=case.name,
        ranks=case.ranks,
        subvolumes=case.subvolumes,
        mode=mode,
        round_trip=statistics.median(seconds for _, seconds in answers),
        engine=statistics.median(reply["seconds"] for reply, _ in answers),
        slowest_round_trip=max(seconds for _, seconds in answers),
        goal_seconds=case.goal_seconds,
        peak_rss=peak,
        fullest_before_over_bound=result["fullest_before"]["value"] / result["lower_bound"],
        fullest_over_bound=result["fullest_after"]["value"] / result["lower_bound"],
        busiest_before_over_mean=busiest(asked, start),
        busiest_over_mean=busiest(asked, result["new"]),
        moved=sum(old != new for old, new in zip(start, result["new"], strict=True)),
        heavy_ranks=len(result["heavy_ranks"]),
    )


def versions() -> dict[str, str]:
    engine = Engine()
    try:
        reply, _ = engine.ask({"id": 0, "call": "ping", "args": {}})
    finally:
        engine.close()
    return {name: reply["result"][name] for name in ("python", "numpy", "scipy", "sklearn")}


def show(outcomes: list[Outcome]) -> None:
    table = Table(title="plan: median seconds, over the pipe and back")
    for name in ("case", "ranks", "subvolumes", "mode", "round trip", "goal", "engine", "peak RSS"):
        table.add_column(name)
    for name in ("before / bound", "fullest / bound", "requests / mean", "moved", "heavy ranks"):
        table.add_column(name)
    for o in outcomes:
        table.add_row(
            *(
                o.name,
                str(o.ranks),
                str(o.subvolumes),
                o.mode,
                f"{o.round_trip:.3f} s",
                f"{o.goal_seconds} s",
            ),
            *(f"{o.engine:.3f} s", f"{o.peak_rss / 2**20:.0f} MiB", f"{o.fullest_before_over_bound:.2f}"),
            *(f"{o.fullest_over_bound:.4f}", f"{o.busiest_over_mean:.4f}", str(o.moved), str(o.heavy_ranks)),
        )
    Console(width=170).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="lab.bench_planner", description="Time the planner.")
    parser.add_argument("--out", type=Path, required=True, help="where the results go, JSON")
    parser.add_argument("--runs", type=int, default=5, help="plans a case")
    options = parser.parse_args()
    outcomes = [measure(case, mode, options.runs) for case in CASES for mode in ("mask", "fanout")]
    show(outcomes)
    record = {
        "command": f"python3 -m lab.bench_planner --out {options.out} --runs {options.runs}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "load_average": os.getloadavg(),
        "memory_limit": MEMORY_LIMIT,
        "seed": SEED,
        "versions": versions(),
        "outcomes": [asdict(o) for o in outcomes],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
