# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real Prometheus with an Alertmanager beside a lab: on the lab's network, from the host's packages."""

import json
import shutil
import signal
import subprocess
import tempfile
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from lab.api import Lab
from lab.errors import LabError

PORT, ALERTMANAGER_PORT = 9090, 9093
PACKAGES = {
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "setpriv": "util-linux",
}
_FETCH = (
    "import sys, urllib.request, urllib.error\n"
    "try:\n"
    "    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())\n"
    "except urllib.error.HTTPError as e:\n"
    "    print(e.read().decode())\n"
)


def fetch(lab: Lab, url: str) -> str:
    """What is at a URL of the lab's network."""
    return lab.exec(["python3", "-c", _FETCH, url], timeout=60).stdout


def configuration(targets: Mapping[str, Sequence[str]], rules: Sequence[Path], interval: float) -> str:
    """Prometheus' configuration: targets by job, an interval in seconds for scrapes and rules."""
    every = f"{interval * 1000:.0f}ms"
    manager = {"static_configs": [{"targets": [f"127.0.0.1:{ALERTMANAGER_PORT}"]}]}
    jobs = [
        {
            "job_name": job,
            "honor_labels": True,
            "static_configs": [{"targets": list(of), "labels": {"cluster": "lab"}}],
        }
        for job, of in targets.items()
    ]
    return str(
        yaml.safe_dump(
            {
                "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
                "rule_files": [str(path) for path in rules],
                "alerting": {"alertmanagers": [manager]},
                "scrape_configs": jobs,
            }
        )
    )


class Prometheus:
    """Running beside a lab until it is closed; as a context manager, to the end of the block."""

    def __init__(
        self,
        lab: Lab,
        *,
        targets: Mapping[str, Sequence[str]],
        rules: Sequence[Path],
        interval: float = 5.0,
    ) -> None:
        """``interval`` in seconds, for scrapes and rules."""
        for name, package in PACKAGES.items():
            if shutil.which(name) is None:
                raise LabError(f"this machine lacks {name}: apt-get install {package}")
        self._lab = lab
        self._home = tempfile.TemporaryDirectory(prefix="lab-prometheus-")
        home = Path(self._home.name)
        (home / "prometheus.yml").write_text(configuration(targets, rules, interval))
        (home / "alertmanager.yml").write_text("route: {receiver: none}\nreceivers: [{name: none}]\n")
        self._processes = [
            self._start(
                "prometheus",
                f"--config.file={home}/prometheus.yml",
                f"--storage.tsdb.path={home}/data",
                f"--web.listen-address=127.0.0.1:{PORT}",
                "--query.lookback-delta=30s",
            ),
            self._start(
                "prometheus-alertmanager",
                f"--config.file={home}/alertmanager.yml",
                f"--storage.path={home}/alerts",
                f"--web.listen-address=127.0.0.1:{ALERTMANAGER_PORT}",
                "--cluster.listen-address=",
            ),
        ]

    def _start(self, *command: str) -> "subprocess.Popen[bytes]":
        # Killed with this process, however it ends.
        enter = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "--",
            "nsenter",
            "--target",
            str(self._lab.state.sandbox_pid),
            "--net",
            "--",
        ]
        log = (Path(self._home.name) / f"{command[0]}.log").open("wb")
        with log:
            return subprocess.Popen(
                [*enter, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End both and forget their data."""
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            process.wait(20)
        self._home.cleanup()

    def log(self, name: str = "prometheus") -> str:
        """What a program said."""
        return (Path(self._home.name) / f"{name}.log").read_text(errors="replace")

    def _api(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        text = fetch(self._lab, f"http://127.0.0.1:{PORT}/api/v1/{path}?{query}")
        answer = json.loads(text)
        if answer["status"] != "success":
            raise LabError(f"Prometheus: {answer.get('error', text)}")
        return answer["data"]

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The result of an expression now."""
        found: list[dict[str, Any]] = self._api("query", query=expr)["result"]
        return found

    def query_range(self, expr: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        """The result over a time; all in seconds."""
        data = self._api("query_range", query=expr, start=str(start), end=str(end), step=str(step))
        found: list[dict[str, Any]] = data["result"]
        return found

    def alerts(self) -> dict[str, str]:
        """States of the alerts that are pending or firing, by name."""
        return {a["labels"]["alertname"]: a["state"] for a in self._api("alerts")["alerts"]}

    def alertmanager(self) -> list[dict[str, Any]]:
        """The alerts that Alertmanager holds active."""
        url = f"http://127.0.0.1:{ALERTMANAGER_PORT}/api/v2/alerts"
        found: list[dict[str, Any]] = json.loads(fetch(self._lab, url))
        return found

    def ready(self) -> bool:
        """Does it answer, and was every target scraped?"""
        try:
            targets = self._api("targets")["activeTargets"]
        except (ValueError, LabError):
            return False
        return bool(targets) and all(t["lastScrape"] > "0002" for t in targets)
