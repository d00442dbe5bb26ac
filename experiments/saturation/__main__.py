# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the module see that a rank is full, however few its clients? `python3 -m experiments.saturation`.

On one lab the load is on rank 0 of four, synchronous clients of several numbers come and go,
and the module's samples of each epoch are kept. Each setting is judged by the engine as by a manager that has
just started: from its own epochs alone. The control is half of the capacity so found, at random times.
What is in the result already is not run again; each cell tells of its own making.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.common.figures import markdown
from experiments.common.figures.factor import SMOOTHNESS, THRESHOLD, engine
from experiments.common.measurement import about, exit_status, save
from lab import module, releases
from lab.api import Lab
from lab.clients.spec import ClientSpec, LoadSpec
from lab.errors import LabError
from lab.waiting import until

OUT = Path("docs/results/saturation.json")
QUOTAS = (10, 15, 20)  # percent of a core
CLIENTS = (4, 8, 12, 16, 24, 64)
RANKS = 4
EPOCH_S = 5  # as often as MDSs report
WITHIN = 3  # epochs
MORE = 1  # epochs after these
CLOSE = 0.2  # of the most that the rank served
CONTROL_EPOCHS = 6
CONTROL_CLIENTS = 16
MANY = 64
MOUNTS = 16  # at most; more clients are several threads of a mount, each with one operation under way
THREADS = 4  # of a mount of the control
START_S = 90.0

Answer = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """One load at one quota. ``rate``: op/s in all at most, None for synchronous clients."""

    quota: int
    run: int
    clients: int
    rate: float | None = None
    release: str = releases.DEFAULT

    @property
    def key(self) -> str:
        """Its name in the result."""
        load = "half" if self.rate else self.clients
        return f"{self.release}, {self.quota} %, run {self.run}, {load}"

    def load(self, path: str) -> LoadSpec:
        """Mounts with directories of their own."""
        mounts = max(n for n in range(1, MOUNTS + 1) if self.clients % n == 0)
        threads = THREADS if self.rate else self.clients // mounts
        share = None if self.rate is None else self.rate / mounts
        return LoadSpec(
            tuple(
                ClientSpec(f"c{i}", path, workers=threads, dirs=2, first_dir=2 * i, files=60, rate=share)
                for i in range(mounts)
            )
        )


def engine_judge(epochs: Sequence[Answer]) -> Answer:
    """The engine's verdict on these epochs, as the first that a manager sees.

    But for two things that a manager knows (judge/verdict.py) and recorded epochs do not tell: here latency
    is with the wait for the metadata pool, and a listing counts as any other request.
    """
    judge: Callable[[Answer], Answer] = engine("judge").judge

    def rows(name: str) -> list[list[float]]:
        return [[epoch["ranks"][i][name] for epoch in epochs] for i in range(len(epochs[0]["ranks"]))]

    return judge(
        {
            "ranks": [rank["rank"] for rank in epochs[0]["ranks"]],
            **{"loads": rows("requests"), "latency": rows("quickest"), "fetches": rows("fetches")},
            "moved": [[0.0] * len(row) for row in rows("requests")],  # nothing moves here
            **{"capacity": 0, "learned_capacity": None, "least_capacity": None, "smoothness": SMOOTHNESS},
            **{"threshold": THRESHOLD, "role_threshold": engine("urgency").ROLE_THRESHOLD},
            **{"epoch_capacity": None, "mask": None},
        }
    )


def recognised(epochs: Sequence[Answer]) -> int | None:
    """The number of the epoch at which rank 0 is known to be full; None: at none of them."""
    verdicts = (engine_judge(epochs[:n]) for n in range(1, len(epochs) + 1))
    return next(
        (n for n, v in enumerate(verdicts, 1) if 0 in v["saturated"] and v["capacity"]["value"]), None
    )


def most(epochs: Sequence[Answer]) -> float:
    """The highest mean of two epochs in a row, 10 s, that rank 0 served, req/s."""
    rates = [epoch["ranks"][0]["requests"] for epoch in epochs]
    return max(map(statistics.fmean, itertools.pairwise(rates)), default=0.0)


class Epochs:
    """The module's samples, one an epoch."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._last: Any = None

    def next(self) -> Answer:
        """Wait for the next one."""
        return until(self._new, 6 * EPOCH_S, "the module takes a sample")

    def _new(self) -> Answer | None:
        answer = module.ask(self._lab, "imbalance")
        seen = [(rank["requests"], rank["latency"]) for rank in answer["ranks"]]
        before, self._last = self._last, seen
        silent = any(None in of_rank for of_rank in seen)
        return None if seen == before or silent else answer


def play(lab: Lab, path: str, setting: Setting, epochs: int) -> Answer:
    """Run one setting; its epochs from the first that began with all clients at work, and its operations."""
    lab.set_mds_cpu(setting.quota)
    load = setting.load(path)
    working: set[str] = set()

    def heard(line: Answer) -> None:
        if "t" in line:
            working.add(line["client"])

    with lab.clients(load, on_line=heard) as clients:
        until(lambda: len(working) == len(load.clients), START_S, f"{setting.key}: all clients work")
        series = Epochs(lab)
        for _ in range(2):  # the one there is, and the one that the clients began in
            series.next()
        since = time.time()
        seen = [series.next() for _ in range(epochs)]
        ended = time.time()
        lab.set_mds_cpu(None)  # so that unmounting takes no time
        lines = clients.stop()
    operations = sum(line["ops"] for line in lines if since <= line.get("t", 0.0) <= ended)
    return {"setting": asdict(setting), "epochs": seen, "op/s": operations / (ended - since)}


def judged(played: Answer) -> Answer:
    """With what the engine makes of it, and what the module itself said at the end."""
    epochs = played["epochs"]
    verdict, said = engine_judge(epochs[:WITHIN]), epochs[-1]
    return {
        **played,
        "key": Setting(**played["setting"]).key,
        "recognised": recognised(epochs),
        "capacity": verdict["capacity"]["value"],
        "most": most(epochs),
        "module": {"saturated": said["saturated"], "capacity": said["capacity"]},
    }


def settings(release: str, quotas: Sequence[int], runs: int) -> list[Setting]:
    """All of them, the fullest of each quota first; a control's rate is found when it is due."""
    return [
        Setting(quota, number, count, rate, release)
        for number, quota in itertools.product(range(1, runs + 1), quotas)
        for count, rate in [
            *((count, None) for count in sorted(CLIENTS, reverse=True)),
            (CONTROL_CLIENTS, 1.0),
        ]
    ]


def half(control: Setting, cells: Sequence[Answer]) -> Setting:
    """The control at half of the capacity that its quota and run taught (the median), op/s."""
    keys = {replace(control, clients=count, rate=None).key for count in CLIENTS}
    taught = [c for c in cells if c["key"] in keys and c["capacity"]]
    capacity = statistics.median(c["capacity"] for c in taught)
    served = sum(statistics.fmean(epoch["ranks"][0]["requests"] for epoch in c["epochs"]) for c in taught)
    return replace(control, rate=capacity * sum(c["op/s"] for c in taught) / served / 2)


def run(
    lab: Lab, missing: Sequence[Setting], cells: list[Answer], head: Answer, kept: Callable[[], None]
) -> None:
    """Play what is missing, and add it to the cells, with what tells of its making."""
    module.enable(lab, {"epoch": str(EPOCH_S)})
    path = lab.make_subvolumes(["a"])["a"]
    lab.prepare(LoadSpec((ClientSpec("p", path, workers=16, dirs=2 * MANY, files=60),)))
    for setting in missing:
        epochs = CONTROL_EPOCHS if setting.rate else WITHIN + MORE
        cell = judged(play(lab, path, half(setting, cells) if setting.rate else setting, epochs))
        cells.append({**cell, "about": head})
        kept()
        print(cell["key"], cell["recognised"], cell["capacity"], round(cell["most"]), flush=True)


def rows(result: Answer) -> list[Answer]:
    """One row a setting: recognised at which epoch, C and the most that was served at that quota and run."""
    cells = result["cells"]

    def of_run(cell: Answer) -> tuple[str, int, int]:
        return cell["setting"]["release"], cell["setting"]["quota"], cell["setting"]["run"]

    highest = {of_run(c): max(d["most"] for d in cells if of_run(d) == of_run(c)) for c in cells}
    return [
        {
            "key": cell["key"],
            "control": cell["setting"]["rate"] is not None,
            "recognised": cell["recognised"],
            "told": any(0 in epoch["saturated"] for epoch in cell["epochs"][1:]),
            "capacity": cell["capacity"],
            "most": cell["most"],
            "part": cell["capacity"] / cell["most"] if cell["capacity"] else None,
            "of_any": cell["capacity"] / highest[of_run(cell)] if cell["capacity"] else None,
        }
        for cell in sorted(
            cells, key=lambda c: (*of_run(c), c["setting"]["rate"] or 0, c["setting"]["clients"])
        )
    ]


def text(result: Answer) -> str:
    """The result as a page of docs/results."""
    table = rows(result)
    loads, controls = ([r for r in table if r["control"] == kind] for kind in (False, True))
    seen = sum(r["recognised"] is not None and r["recognised"] <= WITHIN for r in loads)
    close = sum(r["part"] is not None and abs(r["part"] - 1) <= CLOSE for r in loads)
    never = sum(r["recognised"] is None for r in controls)
    then = sum(not r["told"] for r in controls)
    made = (cell.get("about", result) for cell in result["cells"])
    commands = dict.fromkeys(f"`{of['command']}`, {of['date']}, {of['ceph']}" for of in made)
    lines = [
        "# Is a full rank recognised, however few its clients?",
        "",
        ";\n".join(commands),
        "",
        f"- full within {WITHIN} epochs of {EPOCH_S} s: {seen} of {len(loads)}",
        f"- capacity within {CLOSE:.0%} of the most: {close} of {len(loads)}",
        f"- half of the capacity, at random times, never called full: {never} of {len(controls)}; by the",
        f"  module as it was then, from the second epoch on (it remembers the load before): {then}",
        "",
        "C is what the first three epochs teach an engine that knows nothing. The most is the highest mean",
        "of two epochs in a row (10 s) that rank 0 served under that load. The last column is against the",
        "most under any load at that quota and run: with more requests at once an MDS wakes up less often",
        "for each, and serves more. Requests/s.",
        "",
    ]
    head = ("release, quota, run, clients", "full at epoch", "C", "most", "C / most", "C / most of any")
    shown = [
        [
            row["key"],
            *(
                "-" if row[name] is None else f"{row[name]:{how}}"
                for name, how in (
                    *(("recognised", "d"), ("capacity", ".0f"), ("most", ".0f"), ("part", ".2f")),
                    ("of_any", ".2f"),
                )
            ),
        ]
        for row in table
    ]
    return "\n".join([*lines, markdown.table(head, shown, left=len(head))]) + "\n"


def earlier(out: Path) -> list[Answer]:
    """The cells of a result, judged again: the engine may be another one than when they were played.

    An older result tells the release of all of them, at its head.
    """
    if not out.exists():
        return []
    result = json.loads(out.read_text())
    return [
        judged({**cell, "setting": {"release": result["ceph"], **cell["setting"]}})
        for cell in result["cells"]
    ]


def measure(args: argparse.Namespace, argv: Sequence[str]) -> None:
    """Run what the result does not have yet; one that has all is left as it is."""
    cells = earlier(args.out)
    done = {cell["key"] for cell in cells}
    missing = [one for one in settings(args.release, args.quotas, args.runs) if one.key not in done]
    if not missing:
        print(f"{args.out} has all of it: to measure anew, give another --out")
        return
    unknown = [cell["key"] for cell in cells if "about" not in cell]
    if unknown:
        told = f"{len(unknown)} cells do not say by what they were made, {unknown[0]} for one"
        raise LabError(f"{args.out}: {told}: give another --out")
    head = about("experiments.saturation", argv, ceph=args.release)
    result: Answer = {**head, "cells": cells}

    def kept() -> None:
        save(args.out, result)
        args.out.with_suffix(".md").write_text(text(result))

    with Lab.up(name=f"saturation-{os.getpid()}", release=args.release, mds=RANKS, mgr=1) as lab:
        run(lab, missing, cells, head, kept)


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m experiments.saturation", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--quotas", type=int, nargs="+", default=QUOTAS)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    return exit_status("experiments.saturation", lambda: measure(args, argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
