# SPDX-License-Identifier: LGPL-2.1-or-later
"""How calmly lunule.lua spreads one hot rank, before and now: `python3 -m lab.bench.calm --before FILE`.

Eight clients read at random from four directories each, all on rank 0 of four; the policy is put into
force, as the module does it, while they work. Both versions run in turns on one cluster, and are given the
same capacity.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.bench import figures
from lab.bench.cell import Phases, measure
from lab.bench.order import Cluster, Order
from lab.bench.setting import FS
from lab.bench.stage import Stage, until_working
from lab.bench.workloads.base import SEED, UNCACHED
from lab.bench.workloads.create_reread import CreateReread
from lab.clients.run import Line
from lab.clients.spec import ClientSpec, LoadSpec
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress

OUT = Path("docs/results/lunule-calm.json")
NOW = Path(__file__).resolve().parents[2] / "mantle" / "lunule.lua"
RANKS, MDS_CPU = 4, 15
BEAT_S = 10.0
CALM = 0.1  # IF; the policy itself acts above 0.075
_HOT_S = 12.0  # on one rank, before the policy


@dataclass(frozen=True)
class Reading(CreateReread):
    """Directories stay as they are, so that one cluster serves all runs."""

    @property
    def name(self) -> str:
        return "calm"

    @property
    def phases(self) -> tuple[str, ...]:
        return ("read",)

    @property
    def fresh(self) -> bool:
        return False

    def data(self, paths: Any) -> LoadSpec:
        return self.load("read", paths, "")

    def load(self, phase: str, paths: Any, tag: str) -> LoadSpec:
        shape: dict[str, Any] = {"workers": 4, "dirs": 4, "files": 1000, "cache": UNCACHED}
        mix = {"stat": 3.0, "open": 1.0}
        clients = (ClientSpec(name=n, path=paths[n], mix=mix, **shape) for n in self.subvolumes)
        return LoadSpec(tuple(clients), seed=SEED)


def put_policy(lab: Lab, name: str, text: str) -> None:
    """Put a policy's text into force, as the module does it."""
    lab.exec(["rados", "-p", f"{FS}_meta", "put", name, "-"], stdin=text)
    lab.monitor.command("fs set", fs_name=FS, var="balancer", val=name)
    lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="true")


def _phases(order: Order, text: str) -> Phases:
    def phases(stage: Stage, lines: list[Line]) -> dict[str, tuple[float, float]]:
        load = stage.cluster.workload.load("read", stage.paths, order.key)
        with stage.lab.clients(load, on_line=lines.append) as clients:
            until_working(lines, {client.name for client in load.clients})
            time.sleep(_HOT_S)
            put_policy(stage.lab, order.key, f"hints = {{capacity = {stage.capacity:.0f}}} {text}")
            began = time.time()
            time.sleep(order.limit)
            ended = time.time()
            # Before the clients end: an idle cluster would bring what it imported back.
            stage.lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="false")
            stage.lab.monitor.command("fs set", fs_name=FS, var="balancer", val="")
            clients.stop()
        return {"read": (began, ended)}

    return phases


def row(cell: dict[str, Any]) -> dict[str, Any]:
    """What a run came to. The IF is of the last ten seconds, each second."""
    span = cell["spans"]["read"]
    series = [(t, x) for t, x in figures.imbalance(cell, cell["capacity"]) if span[0] < t <= span[1]]
    above = [t for t, x in series if x > CALM]
    last = max(above, default=span[0]) - span[0]
    stays = not above or above[-1] < series[-1][0]
    first = figures.first_migration(cell, span)
    return {
        "version": cell["balancer"],
        "run": cell["run"],
        "capacity": cell["capacity"],
        "beats_until_calm": round(last / BEAT_S, 1) if stays else None,
        "beats_until_first_export": None if first is None else round(first / BEAT_S, 1),
        "inodes_migrated": figures.total(cell, "exported_inodes", span),
        "ops_per_s": round(figures.throughput(cell, span)),
        "if": [round(x, 3) for _, x in series][::5],
    }


def table(result: dict[str, Any]) -> str:
    """The rows, and their medians, for people."""
    head = "beats until IF stays at most 0.1|beats until the first export|inodes migrated|op/s"
    names = ("beats_until_calm", "beats_until_first_export", "inodes_migrated", "ops_per_s")
    lines = [f"    {result['command']}", "", "| |" + head + "|", "|---|" + "---:|" * len(names)]

    def line(title: str, values: Sequence[Any]) -> str:
        shown = ("never" if x is None else f"{x:,}" for x in values)
        return f"| {title} | " + " | ".join(shown) + " |"

    for version in ("before", "now"):
        rows = [r for r in result["runs"] if r["version"] == version]
        lines += [line(f"{version}, run {r['run']}", [r[n] for n in names]) for r in rows]
        known = [[r[n] for r in rows if r[n] is not None] for n in names]
        lines.append(line(f"{version}, median", [statistics.median(k) if k else None for k in known]))
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str]) -> int:
    """Measure, adding to what the file has; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.bench.calm", allow_abbrev=False)
    parser.add_argument("--before", type=Path, required=True, help="the older lunule.lua")
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 2, 3], help="numbers of the runs")
    parser.add_argument("--seconds", type=float, default=70.0)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)

    def work() -> None:
        result = about("lab.bench.calm", argv)
        result["runs"] = json.loads(args.out.read_text())["runs"] if args.out.exists() else []
        texts = {"before": args.before.read_text(), "now": NOW.read_text()}
        cluster = Cluster(Reading(), args.release, RANKS, MDS_CPU)
        with Stage(cluster, analyze=False, progress=ConsoleProgress()) as stage:
            for run in args.runs:
                for version, text in texts.items():
                    order = Order(cluster, version, run, args.seconds)
                    stage_order = Order(cluster, "none", run, args.seconds)
                    cell = measure(stage, stage_order, _phases(order, text)) | {"balancer": version}
                    result["runs"].append(row(cell))
                    save(args.out, result)
                    args.out.with_suffix(".md").write_text(table(result))
        print(table(result))

    return exit_status("calm", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
