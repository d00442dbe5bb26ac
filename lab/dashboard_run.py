# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the real Ceph Dashboard shows of the module: `python3 -m lab.dashboard_run`.

A Tentacle lab with the dashboard's package added (Reef's in Debian is stopped by PyO3). A health check of
ours is raised, and the dashboard's own REST API is asked what it carries: checks, the module, its options.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab import releases
from lab.api import Lab
from lab.demo import module
from lab.errors import LabError
from lab.measurement import about, exit_status, save
from lab.monitor import CommandError

OUT = Path("docs/results/monitoring-dashboard.json")
RELEASE = "tentacle"
PACKAGE = "ceph-mgr-dashboard"
PORT = 8080
CHECK = "MDS_PARTITIONER_ENGINE_DOWN"
PATIENCE_S = 180.0
USER, PASSWORD = "admin", "only-in-this-lab-1"
_CLIENT = """
import json, sys, urllib.request
base, accept = sys.argv[1], "application/vnd.ceph.api.v1.0+json"
def call(path, body=None, token=None):
    headers = {"Accept": accept, "Content-Type": "application/json"}
    if token: headers["Authorization"] = "Bearer " + token
    data = None if body is None else json.dumps(body).encode()
    return json.load(urllib.request.urlopen(urllib.request.Request(base + path, data, headers), timeout=60))
token = call("/api/auth", {"username": sys.argv[2], "password": sys.argv[3]})["token"]
print(json.dumps({path: call(path, None, token) for path in sys.argv[4:]}))
"""
PATHS = ("/api/health/full", "/api/mgr/module", "/api/mgr/module/mds_partitioner", "/api/cephfs")


def say(text: str) -> None:
    """A line with the time."""
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", flush=True)


def until(what: str, condition: Callable[[], bool]) -> None:
    """Wait for it; a manager that restarts does not answer for a while."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if condition():
                return say(what)
        except (CommandError, LabError):
            pass
        if time.monotonic() > deadline:
            raise LabError(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(1)


def _enable(lab: Lab) -> None:
    for name, value in {"ssl": "false", "server_addr": "127.0.0.1", "server_port": str(PORT)}.items():
        lab.monitor.command("config set", who="mgr", name=f"mgr/dashboard/{name}", value=value)
    lab.monitor.command("mgr module enable", module="dashboard")
    module.enable(lab, {"epoch": "5"})
    until("the dashboard listens", lambda: "dashboard" in lab.monitor.json("mgr services"))
    lab.exec(
        ["sh", "-c", f"echo '{PASSWORD}' | ceph dashboard ac-user-create {USER} administrator -i -"],
        timeout=120,
    )


def run() -> dict[str, Any]:
    """Raise a check, and ask the dashboard."""
    with Lab.up(name=f"dashboard-{os.getpid()}", release=RELEASE, mds=2, mgr=1) as lab:
        _enable(lab)
        module.set_option(lab, "engine_python", "no-such-python")
        pids = lab.exec(["pgrep", "-f", "m engine"], check=False).stdout.split()
        lab.exec(["kill", "-9", *pids], check=False)
        until("the check is raised", lambda: CHECK in lab.monitor.json("health")["checks"])
        url = lab.monitor.json("mgr services")["dashboard"].rstrip("/")
        found = json.loads(lab.exec(["python3", "-c", _CLIENT, url, USER, PASSWORD, *PATHS]).stdout)
        health = found["/api/health/full"]["health"]
        ours = next(m for m in found["/api/mgr/module"] if m["name"] == "mds_partitioner")
        return {
            "ceph": lab.monitor.command("version").strip(),
            "services": lab.monitor.json("mgr services"),
            "/api/health/full: checks": [c for c in health["checks"] if c["type"].startswith("MDS_PART")],
            "/api/mgr/module: always_on, enabled": [ours["always_on"], ours["enabled"]],
            "/api/mgr/module: options": sorted(ours["options"]),
            "/api/mgr/module/mds_partitioner": found["/api/mgr/module/mds_partitioner"],
            "/api/cephfs": [fs["mdsmap"]["fs_name"] for fs in found["/api/cephfs"]],
        }


def main(argv: Sequence[str]) -> int:
    """Run it; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.dashboard_run", allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    base = releases.get(RELEASE)
    releases.RELEASES[RELEASE] = replace(base, packages=(*base.packages, PACKAGE))
    return exit_status("dashboard_run", lambda: _report(args, argv))


def _report(args: argparse.Namespace, argv: Sequence[str]) -> None:
    head = about("lab.dashboard_run", argv)
    save(args.out, {**head, **run()})
    say(str(args.out))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
