# SPDX-License-Identifier: LGPL-2.1-or-later
"""A load that makes and deletes its directories all the time: `partition` during it, and the scheduler,
against the built-in balancer. `python3 -m experiments.churn`.

Each run is on a cluster of its own, all load on rank 0 at first. At the same moment of each run either
`balance_automate` is set, or an analysis begins that is planned from and carried out under the load, or the
scheduler is started.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.common import provenance
from experiments.common.balancers import pinning
from experiments.common.balancers.balancers import BALANCERS, scheduler_off
from experiments.common.balancers.setting import FS, Setting
from experiments.common.cells.order import rotated
from experiments.common.cells.sampling import Sampling
from experiments.common.cells.stage import until_working
from experiments.common.measurement import about, exit_status, save
from lab import module, releases
from lab.api import Lab
from lab.clients.run import Line
from lab.clients.spec import ClientSpec, LoadSpec
from lab.errors import LabError
from lab.waiting import until

OUT = Path("out/churn.json")
SUBVOLUMES = ("a", "b")
CLIENTS = 4  # of each subvolume
WORKERS = 4
FILES = 40  # in each directory, which so lives for seconds
UNSETTLED_S = 5.0
ANALYSIS_S = 20
LAST_S = 60.0
ROLLBACK_S = 60.0


def load(paths: Mapping[str, str]) -> LoadSpec:
    """All clients."""
    return LoadSpec(
        tuple(
            ClientSpec(
                f"{name}{i}", paths[name], job="churn", home="/work", workers=WORKERS, dirs=1, files=FILES
            )
            for name in SUBVOLUMES
            for i in range(CLIENTS)
        )
    )


def switched_on(balancer: str) -> Callable[[Lab], dict[str, Any]]:
    """One that needs to know nothing of the run to come."""

    def switch_on(lab: Lab) -> dict[str, Any]:
        BALANCERS[balancer].switch_on(Setting(lab, ranks=0, capacity=0.0, demand={}))
        return {}

    return switch_on


def planned(lab: Lab) -> dict[str, Any]:
    """Analyze, plan, carry out; returns the plan's steps and what it predicted."""
    pinning.analyze(lab, ANALYSIS_S)
    pinning.analyzed(lab)
    plan = module.ask(lab, "partition plan", fs=FS, heavy="fanout")
    if plan["steps"]:
        module.text(lab, "partition start", fs=FS, plan=plan["name"])
    return {
        "commands": plan["commands"],
        "caveats": plan["caveats"],
        "predicted_load": plan["prediction"]["load_after"],
    }


def decided(lab: Lab) -> dict[str, Any]:
    """What the scheduler did by the end of the load; it is rolled back."""
    turns = module.ask(lab, "scheduler history", fs=FS)["rows"]
    scheduler_off(lab)
    return {"decisions": [[turn["at"], turn["why"]] for turn in turns], "after_rollback": "off"}


def undone(lab: Lab) -> dict[str, Any]:
    """The plan's state at the end of the load, and after a rollback."""
    ended = module.ask(lab, "partition status", fs=FS)["state"]
    module.text(lab, "partition rollback", fs=FS)

    def over() -> dict[str, Any] | None:
        answer = module.ask(lab, "partition status", fs=FS)
        return None if answer["state"] == "rolling-back" else answer

    now = until(over, ROLLBACK_S, "the plan is rolled back", every=1.0)
    return {"state": ended, "after_rollback": now["state"], "steps": [step["state"] for step in now["steps"]]}


WAYS: Mapping[str, Callable[[Lab], dict[str, Any]]] = {
    **{name: switched_on(name) for name in ("builtin", "builtin-to-auth")},
    "plan": planned,
    "scheduler": switched_on("scheduler"),
}
_PARTS = {"plan": ("planner",), "scheduler": ("scheduler",)}


def fullest_part(samples: Sequence[Mapping[str, Any]]) -> float:
    """The part of all requests that the rank with the most of them served."""
    first, last = samples[0]["ranks"], samples[-1]["ranks"]
    served: list[int] = [
        sum(sign * (rank[r]["requests"] - rank[r]["forwards"]) for sign, rank in ((1, last), (-1, first)))
        for r in last
        if r in first
    ]
    return max(served) / max(sum(served), 1)


def run(way: str, release: str, ranks: int, quota: int, seconds: float) -> dict[str, Any]:
    """One cluster, one way; operations a second from the moment that balancing began."""
    lines: list[Line] = []
    made_by = provenance.made_by(("workload", "balancers", *_PARTS.get(way, ())))
    with Lab.up(name=f"churn-{os.getpid()}", release=release, mds=ranks, mgr=1) as lab:
        module.enable(lab, pinning.OPTIONS)
        spec = load(lab.make_subvolumes(SUBVOLUMES))
        lab.set_mds_cpu(quota)
        with Sampling(lab.sandbox) as sampling, lab.clients(spec, on_line=lines.append):
            until_working(lines, {client.name for client in spec.clients})
            time.sleep(UNSETTLED_S)
            began = time.time()
            told = WAYS[way](lab)
            acted = time.time() - began
            time.sleep(max(0.0, began + seconds - time.time()))
        lab.set_mds_cpu(None)
        if told.get("commands"):
            told |= undone(lab)
        if way == "scheduler":
            told |= decided(lab)
    end = began + seconds
    last = [s for s in sampling.lines if end - LAST_S <= s["t"] <= end]
    if len(last) < 2:
        raise LabError("the ranks were not sampled")
    return {
        **made_by,
        "way": way,
        "ops": rate(lines, began, end),
        "ops_last": rate(lines, end - LAST_S, end),
        "fullest_part_last": round(fullest_part(last), 3),
        "seconds_until_started": round(acted, 1),
        **told,
    }


def rate(lines: Sequence[Line], begin: float, end: float) -> float:
    """Operations a second between two times."""
    done = sum(int(row["ops"]) for row in lines if "ops" in row and begin < row["t"] <= end)
    return round(done / (end - begin), 1)


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Medians of each way, and the ratio of each run to that of the built-in balancer in its block.

    A block that was interrupted may have no such run: nothing of it is compared.
    """
    of = {way: {r["block"]: r for r in runs if r["way"] == way} for way in WAYS}
    base = of["builtin"]

    def ratios(way: str, what: str) -> list[float]:
        return [round(of[way][n][what] / base[n][what], 2) for n in sorted(of[way].keys() & base.keys())]

    others = [way for way in WAYS if way != "builtin" and of[way].keys() & base.keys()]
    medians = {way: statistics.median(r["ops"] for r in of[way].values()) for way in WAYS if of[way]}
    return {
        "median_ops": medians,
        "ratios": {way: ratios(way, "ops") for way in others},
        "ratios_last": {way: ratios(way, "ops_last") for way in others},
    }


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m experiments.churn", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--mds-cpu", type=int, default=15, help="quota of each MDS, percent of a core")
    parser.add_argument("--seconds", type=float, default=110.0, help="of each run, once balancing is on")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="in each block")
    parser.add_argument("--blocks", type=int, default=3, help="of one run of each way, the order rotated")
    parser.add_argument("--more", action="store_true", help="add to the runs that the result has already")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    return exit_status("experiments.churn", lambda: _measure(args, argv))


def _measure(args: argparse.Namespace, argv: Sequence[str]) -> None:
    of = _of(args)
    runs = _earlier(args.out, of, more=args.more)
    head = about("experiments.churn", argv, **of)
    last = max((one["block"] for one in runs), default=0)
    for block in range(last + 1, last + 1 + args.blocks):
        for way in rotated(args.ways, block):
            found = run(way, args.release, args.ranks, args.mds_cpu, args.seconds)
            runs.append({**found, "block": block})
            print(json.dumps(runs[-1]), flush=True)
            save(args.out, {**head, **summary(runs), "runs": runs})


def _of(args: argparse.Namespace) -> dict[str, Any]:
    """What all runs of a result have in common."""
    return {name: vars(args)[name] for name in ("release", "ranks", "mds_cpu", "seconds")}


def _earlier(out: Path, of: Mapping[str, Any], *, more: bool) -> list[dict[str, Any]]:
    """The runs that are added to. :raises LabError: they are of something else, or would be written over"""
    if not out.exists():
        return []
    if not more:
        raise LabError(f"{out} is there already: add to it with --more, or give another --out")
    result: dict[str, Any] = json.loads(out.read_text())
    other = [
        f"{name} {result.get(name)}, not {value}" for name, value in of.items() if result.get(name) != value
    ]
    if any("block" not in one for one in result["runs"]):
        other.append("runs that do not tell their block")
    if other:
        raise LabError(f"{out} has {', '.join(other)}: give another --out")
    return list(result["runs"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
