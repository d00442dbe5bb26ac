# SPDX-License-Identifier: LGPL-2.1-or-later
"""DGIST's two findings about one MDS that no migration cures: `python3 -m lab.bench.dgist`.

stat: clients that look at files, all in one directory or each in its own, with an ordinary client's cache;
also with a change of the directory now and then, which takes everybody's cached view of it away.
create: clients that create, on an MDS without a quota, while the OSD's answers come late. The delay is Ceph's
own (ms_inject_delay: uniform between nothing and a maximum), because the kernel of a small virtual machine
often has no `tc netem`; what the MDS saw of it is told by the latency of its journal.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.clients.run import Line
from lab.clients.spec import ClientSpec, LoadSpec
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress

OUT = Path("docs/results/bench/dgist.json")
CLIENTS = (1, 2, 4, 7)  # as DGIST
FILES = 1000
CACHE = 16_384  # client_cache_size's default
DELAYS_MS = (0.0, 1.0, 4.0, 16.0)  # highest; the mean is half
CREATORS = 7
IDLE_RATE = 5.0  # op/s
_SETTLE_S = 4.0
# Whose messages come late is settled when a connection is made; how late, at any time.
_LATE = {"ms_inject_delay_type": "osd"}


def _counters(lab: Lab) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(lab.exec(["ceph", "daemon", "mds.a", "perf", "dump"]).stdout)
    return answer


def _delay(lab: Lab, most_ms: float) -> None:
    """How late an MDS sees what the OSD sends."""
    values = {"max": f"{most_ms / 1000:g}", "probability": "1" if most_ms else "0"}
    for name, value in values.items():
        lab.monitor.command("config set", who="mds", name=f"ms_inject_delay_{name}", value=value)


def _window(lab: Lab, load: LoadSpec, seconds: float) -> dict[str, float]:
    """What a load gets from one MDS."""
    lines: list[Line] = []
    with lab.clients(load, on_line=lines.append) as clients:
        time.sleep(_SETTLE_S)
        before, began = _counters(lab), time.time()
        time.sleep(seconds)
        after, ended = _counters(lab), time.time()
        clients.stop()
    ops = sum(line["ops"] for line in lines if "ops" in line and began < line["t"] <= ended)
    journal = [dump["mds_log"]["jlat"] for dump in (before, after)]
    writes = journal[1]["avgcount"] - journal[0]["avgcount"]
    return {
        "ops": round(ops / (ended - began), 1),
        "requests": round((after["mds"]["request"] - before["mds"]["request"]) / (ended - began), 1),
        "revocations": round(
            (after["mds"]["ceph_cap_op_revoke"] - before["mds"]["ceph_cap_op_revoke"]) / (ended - began), 1
        ),
        "journal_ms": round(1000 * (journal[1]["sum"] - journal[0]["sum"]) / writes, 3) if writes else 0.0,
    }


def _stat(paths: dict[str, str], names: Sequence[str], shared: bool, changes: bool) -> LoadSpec:
    return LoadSpec(
        tuple(
            ClientSpec(
                name=name,
                path=paths["shared" if shared else name],
                mix={"stat": 19.0, "create": 0.5, "unlink": 0.5} if changes else {"stat": 1.0},
                workers=2,
                dirs=1,
                files=FILES,
                cache=CACHE,
            )
            for name in names
        )
    )


def _create(paths: dict[str, str], names: Sequence[str], rate: float | None) -> LoadSpec:
    return LoadSpec(
        tuple(
            ClientSpec(
                name=name,
                path=paths[name],
                mix={"create": 1.0, "unlink": 1.0},
                workers=2,
                dirs=1,
                files=1,
                rate=rate,
            )
            for name in names
        )
    )


def measure(release: str, mds_cpu: int, seconds: float, runs: int) -> dict[str, list[dict[str, Any]]]:
    """Both, on one cluster of one rank."""
    progress = ConsoleProgress()
    found: dict[str, list[dict[str, Any]]] = {"stat": [], "create": []}
    names = [f"p{k}" for k in range(max(*CLIENTS, CREATORS))]
    with Lab.up(
        name=f"dgist-{os.getpid()}", release=release, mds=1, mgr=1, conf=_LATE, progress=progress
    ) as lab:
        paths = lab.make_subvolumes([*names, "shared"])
        lab.prepare(_stat(paths, names, shared=False, changes=False))
        lab.prepare(_stat(paths, names[:1], shared=True, changes=False))
        for run in range(1, runs + 1):
            lab.set_mds_cpu(mds_cpu)
            for changes, clients, shared in itertools.product((False, True), CLIENTS, (False, True)):
                where = "one directory" if shared else "private directories"
                with progress.step(f"stat{' and changes' if changes else ''}, {clients} clients, {where}"):
                    result = _window(lab, _stat(paths, names[:clients], shared, changes), seconds)
                key = {"run": run, "changes": changes, "clients": clients, "shared": shared}
                found["stat"].append({**key, **result})
            lab.set_mds_cpu(None)
            for delay in DELAYS_MS:
                _delay(lab, delay)
                with progress.step(f"create, answers of the OSD up to {delay:g} ms late"):
                    # An idle MDS shows the round trip alone.
                    idle = _window(lab, _create(paths, names[:1], IDLE_RATE), seconds)["journal_ms"]
                    result = _window(lab, _create(paths, names[:CREATORS], None), seconds)
                found["create"].append({"run": run, "delay_ms": delay, "idle_journal_ms": idle, **result})
            _delay(lab, 0.0)
    return found


def tables(found: dict[str, list[dict[str, Any]]]) -> str:
    """Medians over the runs, in Markdown."""
    lines = [
        "| stat, clients | private, op/s | shared, op/s | shared / private | revocations/s, shared |",
        "|---|---:|---:|---:|---:|",
    ]
    for changes, clients in itertools.product((False, True), CLIENTS):
        rows = [r for r in found["stat"] if (r["changes"], r["clients"]) == (changes, clients)]
        private = statistics.median(row["ops"] for row in rows if not row["shared"])
        shared = statistics.median(row["ops"] for row in rows if row["shared"])
        revoked = statistics.median(row["revocations"] for row in rows if row["shared"])
        who = f"{clients}, with changes" if changes else f"{clients}"
        lines.append(f"| {who} | {private:,.0f} | {shared:,.0f} | {shared / private:.2f} | {revoked:,.0f} |")
    lines += [
        "",
        "| create, OSD late by, ms | idle MDS: journal write, ms | under load, ms | op/s | of the first |",
        "|---|---:|---:|---:|---:|",
    ]
    first = None
    for delay in DELAYS_MS:
        rows = [row for row in found["create"] if row["delay_ms"] == delay]
        ops = statistics.median(row["ops"] for row in rows)
        first = first or ops
        idle, journal = (
            statistics.median(row[key] for row in rows) for key in ("idle_journal_ms", "journal_ms")
        )
        lines.append(f"| {delay:g} | {idle:.1f} | {journal:.1f} | {ops:,.0f} | {ops / first:.2f} |")
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.bench.dgist", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--mds-cpu", type=int, default=30, metavar="PERCENT", help="of a core, for stat")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)

    def work() -> None:
        head = about("lab.bench.dgist", argv, release=args.release, mds_cpu=args.mds_cpu)
        found = measure(args.release, args.mds_cpu, args.seconds, args.runs)
        save(args.out, {**head, **found})
        text = tables(found)
        args.out.with_suffix(".md").write_text(text + "\n")
        print(text)

    return exit_status("dgist", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
