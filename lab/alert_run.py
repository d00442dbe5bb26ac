# SPDX-License-Identifier: LGPL-2.1-or-later
"""An alert's life in a lab: `python3 -m lab.alert_run`.

A skewed load on MDSs held to a part of a core, a real Prometheus with the rules, and a real Alertmanager: the
imbalance alert goes pending, fires, and resolves after `partition start`. What is written down is what
Prometheus' own API tells; pictures of the status page are taken before, during and after.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.clients.spec import LoadSpec
from lab.demo import module, scene
from lab.errors import LabError
from lab.measurement import about, exit_status, save
from lab.prometheus import Prometheus
from lab.sandbox import checkout

RULES = Path("monitoring/prometheus_alerts.yml")
OUT = Path("docs/results")
ALERT = "CephFilesystemMetadataImbalance"
PORTS = {"x": 9927, "y": 9928}
STEP_S = 5.0
PATIENCE_S = 900.0
ANALYZE_S = 40
# Of each heavy client, op/s: too much for one rank, and not for four.
HEAVY_RATE = 130.0
SHOWN = {
    "imbalance_factor": "max(ceph_mds_partitioner_imbalance_factor_ratio)",
    "imbalanced_epochs": "max(ceph_mds_partitioner_imbalanced_epochs)",
    "fullest_rank_share": "max(ceph_mds_partitioner_rank_load_requests_per_second) "
    "/ sum(ceph_mds_partitioner_rank_load_requests_per_second)",
    "load": "sum(ceph_mds_partitioner_rank_load_requests_per_second)",
    "plan_progress": "max(ceph_mds_partitioner_plan_progress_ratio)",
    "exported_inodes": "sum(ceph_mds_partitioner_rank_exported_inodes_total)",
}


def bounded(load: LoadSpec) -> LoadSpec:
    """The demo's load with an end to what its heavy clients ask for, so that four ranks are enough for it."""
    clients = (replace(c, rate=HEAVY_RATE) if c.rate is None else c for c in load.clients)
    return replace(load, clients=tuple(clients))


def say(text: str) -> None:
    """A line with the time."""
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", flush=True)


def picture(lab: Lab, path: Path, *, width: int, height: int, dark: bool = False) -> None:
    """The status page of the active manager, as Chromium shows it; nothing without Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        say(f"no picture {path.name}: apt-get install chromium")
        return
    url = lab.ceph("mgr", "services", format="json")["mds_partitioner"]
    enter = ["nsenter", "--target", str(lab.state.sandbox_pid), "--net", "--"]
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *scheme]
    shot = [f"--window-size={width},{height}", f"--screenshot={path.resolve()}", url]
    subprocess.run([*enter, chromium, *options, *shot], check=True, capture_output=True, timeout=60)
    say(f"picture {path}")


def until(what: str, condition: Callable[[], bool]) -> float:
    """Wait; the time when it came true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(STEP_S / 2)
    say(what)
    return time.time()


def run(release: str, out: Path) -> dict[str, Any]:
    """The whole story."""
    with Lab.up(name=f"alert-{os.getpid()}", release=release, mds=scene.RANKS, mgr=2) as lab:
        for name, port in PORTS.items():
            module.set_option(lab, f"{name}/server_port", str(port))
        module.enable(lab, scene.OPTIONS)
        load = bounded(scene.load(lab.make_subvolumes(scene.subvolumes()), *scene.AT_FIRST))
        lab.prepare(load)
        lab.set_mds_cpu(scene.CPU_PERCENT)
        say("subvolumes and files made")
        targets = {"mds_partitioner": [f"127.0.0.1:{port}" for port in PORTS.values()]}
        rules = [checkout() / RULES]
        with Prometheus(lab, targets=targets, rules=rules, interval=STEP_S) as prometheus:
            until("Prometheus scrapes", prometheus.ready)
            with lab.clients(load) as clients:
                found = _story(lab, prometheus, out)
                clients.stop()
        return {"release": release, "ceph": lab.monitor.command("version").strip(), **found}


def _story(lab: Lab, prometheus: Prometheus, out: Path) -> dict[str, Any]:
    def state() -> str:
        return prometheus.alerts().get(ALERT, "inactive")

    started = time.time()
    seen = {"load begins": started}
    seen["pending"] = until("the alert is pending", lambda: state() == "pending")
    seen["firing"] = until("the alert fires", lambda: state() == "firing")
    held = until("Alertmanager has it", lambda: ALERT in _held(prometheus))
    seen["in Alertmanager"] = held
    health = lab.ceph("health", "detail")
    picture(lab, out / "monitoring-before.png", width=1100, height=780)
    module.text(lab, "analyze start", duration=ANALYZE_S)
    until("analyzed", lambda: module.ask(lab, "analyze status")["state"] == "finished")
    module.text(lab, "partition plan", heavy="fanout", plan="even")
    module.text(lab, "partition start", plan="even")
    seen["partition start"] = time.time()
    say("partition start")
    time.sleep(2 * scene.EPOCH_S)
    picture(lab, out / "monitoring-during.png", width=1100, height=1620)
    seen["plan done"] = until("plan done", lambda: module.ask(lab, "partition status")["state"] == "done")
    seen["resolved"] = until("the alert is resolved", lambda: state() == "inactive")
    until("Alertmanager let it go", lambda: ALERT not in _held(prometheus))
    until("the health check is gone", lambda: "IMBALANCE" not in lab.ceph("health"))
    time.sleep(60)
    picture(lab, out / "monitoring-after.png", width=1100, height=1620)
    picture(lab, out / "monitoring-after-narrow-dark.png", width=420, height=2100, dark=True)
    ended = time.time()
    return {
        "started": started,
        "events": {name: round(at - started, 1) for name, at in seen.items()},
        "health_detail_while_firing": health.splitlines(),
        "alerts": _series(prometheus.query_range(f'ALERTS{{alertname="{ALERT}"}}', started, ended, STEP_S)),
        "other_alerts": _series(
            prometheus.query_range(f'ALERTS{{alertname!="{ALERT}"}}', started, ended, STEP_S)
        ),
        "series": {
            name: _values(prometheus.query_range(expr, started, ended, 2 * STEP_S), started)
            for name, expr in SHOWN.items()
        },
    }


def _held(prometheus: Prometheus) -> set[str]:
    return {alert["labels"]["alertname"] for alert in prometheus.alertmanager()}


def _values(result: list[dict[str, Any]], started: float) -> list[tuple[float, float | None]]:
    """Seconds since the load began, and the value; None for Prometheus' NaN, which JSON does not have."""
    return [
        (round(float(at) - started, 1), None if value == "NaN" else round(float(value), 4))
        for series in result
        for at, value in series["values"]
    ]


def _series(result: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Labels of each series of ALERTS, and from when to when it was there."""
    return [
        {"labels": series["metric"], "from": series["values"][0][0], "to": series["values"][-1][0]}
        for series in result
    ]


def main(argv: Sequence[str]) -> int:
    """Run it; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.alert_run", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    return exit_status("alert_run", lambda: _report(args, argv))


def _report(args: argparse.Namespace, argv: Sequence[str]) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    head = about(
        "lab.alert_run",
        argv,
        mds_cpu_percent=scene.CPU_PERCENT,
        heavy_clients_rate=HEAVY_RATE,
        epoch_s=scene.EPOCH_S,
        scrape_and_rule_interval_s=STEP_S,
    )
    found = run(args.release, args.out)
    path = args.out / f"monitoring-alert-{args.release}.json"
    save(path, {**head, **found})
    say(f"{found['events']}; {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
