# SPDX-License-Identifier: LGPL-2.1-or-later
"""One full rank of many, which IF hardly sees: `python3 -m experiments.large_cluster --old FILE`.

Every rank has a subvolume whose client asks for a part of what a rank can serve. Rank 0 has two more, whose
clients ask for all that they are answered: it is full, at 1.4 times the mean, and the factor is below its
threshold. Quotas are so small that two cores have room for all MDSs and clients. The shipped lunule.lua and
an older one run in turns on one cluster, with the same capacity.
"""

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.common import provenance
from experiments.common.balancers.setting import FS
from experiments.common.balancers.subtrees import PIN, Pin, path_of, put, settled
from experiments.common.cells.cell import Phases, measure
from experiments.common.cells.order import Cluster, Order
from experiments.common.cells.sampling import Sampling
from experiments.common.cells.stage import Stage, until_working
from experiments.common.figures import figures, markdown
from experiments.common.figures.limits import limits
from experiments.common.measurement import about, exit_status, save
from experiments.common.workloads.base import SEED, UNCACHED, Workload, home_of
from lab import releases
from lab.api import Lab
from lab.clients.run import Line
from lab.clients.spec import ClientSpec, LoadSpec
from lab.errors import LabError
from lab.progress import ConsoleProgress
from lab.sandbox import checkout

OUT = Path("out/large.json")
NOW = checkout() / "mantle/lunule.lua"
HOT = ("hot0", "hot1")
PART = 0.66  # of a rank's capacity that each is asked for: the full one of ten is then at 1.44 times the mean
_PILOT_S, _BEFORE_S, _LAST_S = 15.0, 25.0, 30.0
FIGURES: Mapping[str, str] = {
    "if_before": "IF before",
    "fullest_before": "fullest/mean before",
    "fullest_last": "fullest/mean in the last 30 s",
    "ops_before": "op/s before",
    "ops_last": "op/s in the last 30 s",
    "p95_before": "p95 before, ms",
    "p95_last": "p95 in the last 30 s, ms",
    "seconds_until_even": "s until fullest/mean stays at most 1.3",
    "inodes_migrated": "inodes migrated",
}
EVEN = 1.3


@dataclass(frozen=True)
class Reading(Workload):
    """Reads at random. rate: op/s of each of the clients that every rank has one of; None: all they can."""

    ranks: int
    rate: float | None = None

    @property
    def name(self) -> str:
        """large."""
        return "large"

    @property
    def phases(self) -> tuple[str, ...]:
        """One."""
        return ("read",)

    @property
    def ends(self) -> bool:
        """Never."""
        return False

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One a rank, and those that make rank 0 hot."""
        return (*(f"rank{rank}" for rank in range(self.ranks)), *HOT)

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """Directories of 100 files: 8 in each rank's subvolume, 16 in each hot one."""
        return self.load("read", paths, "")

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients."""
        shape: dict[str, Any] = {"files": 100, "cache": UNCACHED, "mix": {"stat": 3.0, "open": 1.0}}
        # A rank serves more, the more requests it has at once: as many as in the calibration are to fill it.
        hot = {"dirs": 16, "workers": 32}
        own = {"dirs": 8, "workers": 16, "rate": self.rate}
        clients = (
            ClientSpec(name=name, path=paths[name], **shape, **(hot if name in HOT else own))
            for name in self.subvolumes
        )
        return LoadSpec(tuple(clients), seed=SEED)

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """For an oracle, which this bench does not run."""
        return {home_of(paths[name]): 1.0 for name in self.subvolumes}


def requests_an_operation(stage: Stage) -> float:
    """Measured while all clients ask rank 0."""
    workload = stage.cluster.workload
    lines: list[Line] = []
    load = workload.load("read", stage.paths, "pilot")
    stage.lab.set_mds_cpu(stage.cluster.mds_cpu)
    with Sampling(stage.lab.sandbox) as sampling, stage.lab.clients(load, on_line=lines.append) as clients:
        until_working(lines, {client.name for client in load.clients})
        began = time.time()
        time.sleep(_PILOT_S)
        ended = time.time()
        clients.stop()
    seen = [s["ranks"]["0"] for s in sampling.lines if began <= s["t"] <= ended and "0" in s["ranks"]]
    asked = sum(sign * (row["requests"] - row["forwards"]) for sign, row in ((1, seen[-1]), (-1, seen[0])))
    return float(asked) / sum(
        int(line["ops"]) for line in lines if "ops" in line and began < line["t"] <= ended
    )


def _place(stage: Stage, ranks: int) -> None:
    """Each rank's own subvolume goes there, and may be moved. :raises LabError: one did not get there"""
    lab = stage.lab
    pins = [Pin(home_of(stage.paths[f"rank{r}"]), PIN, str(r)) for r in range(1, ranks)]
    put(lab, pins)
    found = {path_of(key): rank for key, rank in settled(lab).items()}
    lost = [pin.path for pin in pins if figures.owner(found, pin.path) != int(pin.value)]
    if lost:
        raise LabError(f"{len(lost)} subvolumes did not get to their ranks, {lost[0]} for one")
    put(lab, [pin.off for pin in pins])  # a subtree stays where its pin was


def _put_policy(lab: Lab, name: str, text: str) -> None:
    """Put a policy's text into force, as the module does it."""
    lab.exec(["rados", "-p", f"{FS}_meta", "put", name, "-"], stdin=text)
    lab.monitor.command("fs set", fs_name=FS, var="balancer", val=name)
    lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="true")


def _phases(workload: Reading, text: str, key: str, seconds: float) -> Phases:
    """Each rank's own subvolume goes there, the load begins, the policy is put into force."""

    def phases(stage: Stage, lines: list[Line]) -> dict[str, tuple[float, float]]:
        lab = stage.lab
        lab.set_mds_cpu(None)
        _place(stage, workload.ranks)
        lab.set_mds_cpu(stage.cluster.mds_cpu)
        load = workload.load("read", stage.paths, key)
        with lab.clients(load, on_line=lines.append) as clients:
            until_working(lines, {client.name for client in load.clients})
            time.sleep(figures.WINDOW_S)
            before = time.time()
            time.sleep(_BEFORE_S)
            _put_policy(lab, key, f"hints = {{capacity = {stage.capacity:.0f}}} {text}")
            began = time.time()
            time.sleep(seconds)
            ended = time.time()
            lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="false")
            lab.monitor.command("fs set", fs_name=FS, var="balancer", val="")
            clients.stop()
        return {"before": (before, began), "policy": (began, ended), "last": (ended - _LAST_S, ended)}

    return phases


def fullest(cell: Mapping[str, Any]) -> list[tuple[float, float]]:
    """The fullest rank's load in parts of the mean, over ten seconds, each second."""
    return [(t, max(row) * len(row) / max(sum(row), 1e-9)) for t, row in figures.loads(cell)]


def _p95(cell: Mapping[str, Any], span: Sequence[float]) -> float:
    """Mean of the seconds' p95, ms."""
    seen: list[float] = [row[2] for row in cell["clients"] if span[0] < row[0] <= span[1]]
    return round(statistics.mean(seen), 1)


def row(cell: Mapping[str, Any]) -> dict[str, Any]:
    """What a run came to; FIGURES says what each figure is."""
    before, policy, last = (cell["spans"][name] for name in ("before", "policy", "last"))
    parts = fullest(cell)
    above = [t for t, x in parts if policy[0] < t <= policy[1] and x > EVEN]
    stays = not above or above[-1] < policy[1] - figures.WINDOW_S
    factor = figures.imbalance(cell, cell["capacity"])
    return {
        "version": cell["balancer"],
        "run": cell["run"],
        "capacity": cell["capacity"],
        "if_before": round(statistics.mean(figures.within(factor, before)), 3),
        "fullest_before": round(statistics.mean(figures.within(parts, before)), 2),
        "fullest_last": round(statistics.mean(figures.within(parts, last)), 2),
        "ops_before": round(figures.throughput(cell, before)),
        "ops_last": round(figures.throughput(cell, last)),
        "p95_before": _p95(cell, before),
        "p95_last": _p95(cell, last),
        "seconds_until_even": round(above[-1] - policy[0] if above else 0.0) if stays else None,
        "inodes_migrated": figures.total(cell, "exported_inodes", policy),
        "fullest": [round(x, 2) for _, x in parts][::5],
    }


def table(result: Mapping[str, Any]) -> str:
    """The rows, and their medians, for people."""
    lines = [
        f"    {result['command']}",
        "",
        f"{result['ranks']} ranks at {result['mds_cpu']} % of a core, Ceph {result['release']}.",
        "",
    ]
    shown = []

    def line(title: str, values: Sequence[Any]) -> list[str]:
        return [title, *("never" if x is None else f"{x:,.4g}" for x in values)]

    for version in ("old", "now"):
        rows = [r for r in result["runs"] if r["version"] == version]
        good = [r for r in rows if _counts(r)]
        for r in rows:
            told = "" if _counts(r) else ", does not count"
            shown.append(line(f"{version}, run {r['run']}{told}", [r[n] for n in FIGURES]))
        medians = line(f"{version}, median", [_median([r[n] for r in good]) for n in FIGURES])
        shown.append(medians if good else [f"{version}, median", *["none counts"] * len(FIGURES)])
    return "\n".join([*lines, markdown.table(["", *FIGURES.values()], shown)]) + "\n"


def _counts(run: Mapping[str, Any]) -> bool:
    """Older runs do not tell."""
    return bool(run.get("counts", True))


def _median(values: Sequence[float | None]) -> float | None:
    """None where a value is."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known and len(known) == len(values) else None


def main(argv: Sequence[str]) -> int:
    """Measure what the file does not have yet; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m experiments.large_cluster", allow_abbrev=False)
    parser.add_argument("--old", type=Path, required=True, help="the older lunule.lua")
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--ranks", type=int, default=10)
    parser.add_argument("--mds-cpu", type=int, default=5, help="quota of each MDS, percent of a core")
    parser.add_argument("--seconds", type=float, default=130.0, help="under a policy: three turns and more")
    parser.add_argument("--runs", type=int, default=3, help="of each version, interleaved")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    return exit_status("experiments.large_cluster", lambda: _measure(args, argv))


def _of(args: argparse.Namespace, old: str) -> dict[str, Any]:
    """What runs have in common that are set beside each other."""
    return {
        **{name: vars(args)[name] for name in ("release", "ranks", "mds_cpu", "seconds")},
        "part": PART,
        "old": hashlib.sha256(old.encode()).hexdigest()[:16],
        **provenance.made_by(("workload", "balancers", "policy"))["digests"],
    }


def _earlier(out: Path, of: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runs that are gone on with. :raises LabError: one is of something else, or does not tell"""
    runs: list[dict[str, Any]] = json.loads(out.read_text())["runs"] if out.exists() else []
    for run in runs:
        name, kept = f"{run['version']}, run {run['run']}", run.get("of")
        if kept is None:
            raise LabError(f"{out}: {name} does not say what it is of: give another --out")
        other = [f"{key} {kept.get(key)}, not {of[key]}" for key in of if kept.get(key) != of[key]]
        if other:
            raise LabError(f"{out}: {name} is of {', '.join(other)}: give another --out")
    return runs


def _measure(args: argparse.Namespace, argv: Sequence[str]) -> None:
    result = about(
        "experiments.large_cluster", argv, release=args.release, ranks=args.ranks, mds_cpu=args.mds_cpu
    )
    texts = {"old": args.old.read_text(), "now": NOW.read_text()}
    of = _of(args, texts["old"])
    result["runs"] = _earlier(args.out, of)
    done = {(r["version"], r["run"]) for r in result["runs"]}
    wanted = [(v, n) for n in range(1, args.runs + 1) for v in texts if (v, n) not in done]
    if wanted:
        cluster = Cluster(Reading(args.ranks), args.release, args.ranks, args.mds_cpu)
        with Stage(cluster, analyze=False, progress=ConsoleProgress()) as stage:
            result["capacity"], result["requests_an_operation"] = stage.capacity, requests_an_operation(stage)
            busy = Reading(args.ranks, PART * stage.capacity / result["requests_an_operation"])
            for version, run in wanted:
                phases = _phases(busy, texts[version], f"large-{version}-{run}", args.seconds)
                cell = measure(stage, Order(cluster, "none", run, args.seconds), phases)
                found = row(cell | {"balancer": version}) | {"counts": limits(cell).counts, "of": of}
                result["runs"].append(found | {"commit": cell["version"], "date": cell["date"]})
                save(args.out, result)
                args.out.with_suffix(".md").write_text(table(result))
    print(table(result))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
