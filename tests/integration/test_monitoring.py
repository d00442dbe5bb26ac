# SPDX-License-Identifier: LGPL-2.1-or-later
"""What operators watch, on a real cluster: the endpoint, health checks, a real Prometheus with our rules."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from prometheus import Prometheus, fetch
from queries import concrete, queries
from support import FS, LIGHT, OPTIONS, Cluster, at_work, rate_of, wait_for
from test_engine import engine_pids

from lab.clients.spec import LoadSpec
from lab.errors import LabError

ROOT = Path(__file__).parents[2]
PORTS = {"x": 9927, "y": 9928}
CEPH_PORTS = {"x": 9283, "y": 9284}
ALERT, CHECK = "CephFilesystemMetadataImbalance", "MDS_PARTITIONER_IMBALANCE"
ENGINE_DOWN = "MDS_PARTITIONER_ENGINE_DOWN"
ENDPOINT_DOWN = "MDS_PARTITIONER_ENDPOINT_DOWN"
INTERVAL = 2.0  # s
# The load of these tests is about 250 requests a second: one rank is nearly full, four are not.
CAPACITY = 300


def services(cluster: Cluster) -> dict[str, str]:
    found: dict[str, str] = cluster.mon("mgr services")
    return found


def metrics(cluster: Cluster, manager: str) -> str:
    """A scrape of one manager; nothing while it does not answer."""
    try:
        return fetch(cluster.lab, f"http://127.0.0.1:{PORTS[manager]}/metrics")
    except LabError:
        return ""


def is_active(cluster: Cluster, manager: str) -> bool:
    return "ceph_mds_partitioner_active 1.0" in metrics(cluster, manager)


def is_standby(cluster: Cluster, manager: str) -> bool:
    return "ceph_mds_partitioner_active 0.0" in metrics(cluster, manager)


@pytest.fixture(scope="module")
def watched(running: Cluster) -> Cluster:
    """Both managers answer, each on a port of its own, as they share a host."""
    for manager, port in PORTS.items():
        running.set(**{f"{manager}/server_port": port})
    wait_for("both managers answer", lambda: all(metrics(running, name) for name in PORTS))
    return running


@pytest.fixture
def quick_rules(tmp_path: Path) -> Path:
    """The project's rules, which wait for seconds where the real ones wait for minutes."""
    rules = yaml.safe_load((ROOT / "monitoring/prometheus_alerts.yml").read_text())
    for rule in rules["groups"][0]["rules"]:
        rule["for"] = re.sub(r"^\d+m$", "6s", rule["for"])
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump(rules))
    return file


@pytest.fixture
def cephs_own(watched: Cluster) -> None:
    """Ceph's prometheus module, whose metrics ours join with."""
    for manager, port in CEPH_PORTS.items():
        watched.lab.monitor.command(
            "config set", who="mgr", name=f"mgr/prometheus/{manager}/server_port", value=str(port)
        )
    watched.lab.monitor.command("mgr module enable", module="prometheus")
    wait_for("the module answers", watched.module_answers)
    wait_for("Ceph's metrics", lambda: "prometheus" in services(watched))


@pytest.fixture
def prometheus(watched: Cluster, cephs_own: None, quick_rules: Path) -> Iterator[Prometheus]:
    targets = {
        "mds_partitioner": [f"127.0.0.1:{port}" for port in PORTS.values()],
        "ceph": [f"127.0.0.1:{port}" for port in CEPH_PORTS.values()],
    }
    with Prometheus(watched.lab, targets=targets, rules=[quick_rules], interval=INTERVAL) as running:
        wait_for("Prometheus scrapes", running.ready)
        yield running


def test_mgr_services_names_the_endpoint_and_the_standby_answers_too(watched: Cluster) -> None:
    active = watched.active_mgr()
    (standby,) = set(PORTS) - {active}
    url = f"http://127.0.0.1:{PORTS[active]}/"
    wait_for("the active manager answers", lambda: is_active(watched, active))
    wait_for("the standby answers", lambda: is_standby(watched, standby))
    # A manager that has just taken over may not have told yet.
    wait_for("the service is listed", lambda: services(watched).get("mds_partitioner", "") == url)
    assert f"<h2>{FS}</h2>" in fetch(watched.lab, url)

    def pointing() -> bool:
        return f'href="{url}"' in fetch(watched.lab, f"http://127.0.0.1:{PORTS[standby]}/")

    wait_for("the standby points to the active manager", pointing)


@pytest.mark.every_release_alike
def test_the_endpoint_can_be_switched_off(watched: Cluster) -> None:
    watched.set(metrics="false")
    try:
        wait_for("no manager answers", lambda: not any(metrics(watched, name) for name in PORTS))
        wait_for("the service is not listed", lambda: "mds_partitioner" not in services(watched))
    finally:
        watched.set(metrics="true")
    wait_for("both managers answer", lambda: all(metrics(watched, name) for name in PORTS))


@pytest.mark.every_release_alike
def test_a_port_that_another_manager_has_is_a_health_check_that_clears_itself(watched: Cluster) -> None:
    active = watched.active_mgr()
    (standby,) = set(PORTS) - {active}
    wait_for("the standby answers", lambda: is_standby(watched, standby))
    option = f"mgr/mds_partitioner/{active}/server_port"
    try:
        watched.lab.monitor.command("config set", who="mgr", name=option, value=str(PORTS[standby]))
        check = wait_for("the check is raised", lambda: watched.health().get(ENDPOINT_DOWN))
        assert f"port {PORTS[standby]}" in check["detail"][0]["message"]
        assert f"ceph config set mgr {option}" in check["detail"][0]["message"]
    finally:
        watched.lab.monitor.command("config set", who="mgr", name=option, value=str(PORTS[active]))
    wait_for("the check is gone", lambda: ENDPOINT_DOWN not in watched.health())
    wait_for("the active manager answers", lambda: is_active(watched, active))


@pytest.mark.every_release_alike
def test_a_dead_engine_is_a_health_check_that_clears_itself(cluster: Cluster, watched: Cluster) -> None:
    wait_for("no check", lambda: ENGINE_DOWN not in cluster.health())
    cluster.set(engine_python="no-such-python")
    for pid in engine_pids(cluster):
        os.kill(pid, signal.SIGKILL)
    check = wait_for("the check is raised", lambda: cluster.health().get(ENGINE_DOWN))
    assert "no-such-python" in check["detail"][0]["message"]
    assert "engine_python" in check["detail"][0]["message"]
    assert "ceph_mds_partitioner_engine_up 0.0" in metrics(cluster, cluster.active_mgr())
    cluster.set(engine_python="python3")
    wait_for("the check is gone", lambda: ENGINE_DOWN not in cluster.health())


@pytest.mark.every_release_alike
def test_imbalance_alerts_and_resolves_and_every_panel_has_data(
    cluster: Cluster, load: LoadSpec, prometheus: Prometheus
) -> None:
    started = time.time()
    cluster.set(rank_capacity=CAPACITY, imbalance_epochs=3)

    def state() -> str:
        return prometheus.alerts().get(ALERT, "inactive")

    def first(state: str) -> float:
        """When the alert was in that state for the first time; no poll of ours is quick enough for all."""
        alerts = f'ALERTS{{alertname="{ALERT}",alertstate="{state}"}}'
        found = prometheus.query_range(alerts, started, time.time(), INTERVAL)
        assert found, f"it was never {state}"
        return min(float(at) for series in found for at, _ in series["values"])

    try:
        assert state() == "inactive"
        with at_work(cluster, load):
            wait_for("the alert fires", lambda: state() == "firing")
            check = wait_for("the health check is raised", lambda: cluster.health().get(CHECK))
            assert "epochs: imbalance factor" in check["detail"][0]["message"]
            assert f"analyze start {FS}" in check["detail"][0]["message"] or "partition" in str(check)
            wait_for(
                "Alertmanager has it",
                lambda: ALERT in {a["labels"]["alertname"] for a in prometheus.alertmanager()},
            )
            cluster.lab.ceph("health", "mute", CHECK, "1h")
            assert cluster.health()[CHECK]["muted"] is True
            cluster.lab.ceph("health", "unmute", CHECK)
            cluster.analyze()
            cluster.plan("--heavy", "fanout")
            cluster.module("partition start")
            cluster.wait_state("done")
            wait_for("the alert is resolved", lambda: state() == "inactive")
            wait_for("the health check is gone", lambda: CHECK not in cluster.health())
            cluster.module("scheduler start")  # it advises: its panels have data
            scrapes(prometheus, 4)
        assert first("pending") < first("firing")
        boards = [
            json.loads(path.read_text()) for path in sorted((ROOT / "monitoring/grafana").glob("*.json"))
        ]
        empty = [
            f"{title}: {expr}"
            for board in boards
            for title, expr in queries(board)
            if not prometheus.query_range(concrete(expr, "lab", FS, "10s"), started, time.time(), INTERVAL)
        ]
        assert not empty, f"panels without data: {empty}"
    finally:
        cluster.cli("mds_partitioner", "scheduler", "stop", FS)  # refused when it was not started
        cluster.set(rank_capacity=0, imbalance_epochs=30)


@pytest.mark.every_release_alike
def test_no_alert_fires_on_a_healthy_idle_cluster(cluster: Cluster, prometheus: Prometheus) -> None:
    cluster.set(**OPTIONS, rank_capacity=CAPACITY)  # without a capacity there is no factor
    try:
        wait_for("the factor is low", lambda: _factor(prometheus) < 0.05)
        scrapes(prometheus, 8)
        assert {name for name, state in prometheus.alerts().items() if state == "firing"} == set()
    finally:
        cluster.set(rank_capacity=0)


@pytest.mark.every_release_alike
def test_a_light_load_on_one_rank_alone_is_benign(
    cluster: Cluster, load: LoadSpec, prometheus: Prometheus
) -> None:
    light = replace(load, clients=tuple(c for c in load.clients if c.name in LIGHT))
    # What the module has learned of a slow machine may be so little that this load is not light.
    cluster.set(rank_capacity=10 * rate_of(light))
    try:
        with at_work(cluster, light):
            share = "max(ceph_mds_partitioner_rank_load_requests_per_second)"
            wait_for("the load is seen", lambda: _number(prometheus, share) > rate_of(light) / 2)
            started = time.time()
            scrapes(prometheus, 12)
            factor, threshold = (
                f"ceph_mds_partitioner_imbalance_{name}_ratio" for name in ("factor", "threshold")
            )
            seen = prometheus.query_range(f"{factor} > {threshold}", started, time.time(), INTERVAL)
    finally:
        cluster.set(rank_capacity=0)
    assert seen == [], "a rank that has next to nothing to do is no reason to act"


def scrapes(prometheus: Prometheus, number: int) -> None:
    """Until Prometheus has seen so many more epochs of the module than it had."""
    ended = "max(ceph_mds_partitioner_epoch_end_timestamp_seconds)"
    seen = {_number(prometheus, ended)}

    def enough() -> bool:
        seen.add(_number(prometheus, ended))
        return len(seen) > number

    wait_for(f"{number} epochs", enough)


def _number(prometheus: Prometheus, expr: str) -> float:
    found = prometheus.query(expr)
    return float(found[0]["value"][1]) if found else 0.0


def _factor(prometheus: Prometheus) -> float:
    found = prometheus.query("max(ceph_mds_partitioner_imbalance_factor_ratio)")
    return float(found[0]["value"][1]) if found else 1.0


def test_after_a_fail_over_the_next_manager_answers(watched: Cluster) -> None:
    before = watched.active_mgr()
    (other,) = set(PORTS) - {before}
    watched.lab.monitor.command("mgr fail")
    wait_for("the other manager is active", lambda: watched.active_mgr() == other)
    wait_for("it answers as the active one", lambda: is_active(watched, other))
    wait_for("the other one as a standby", lambda: is_standby(watched, before))
    wait_for("the module answers", watched.module_answers)
    # The monitor learns it with the manager's next beacon.
    wait_for(
        "`mgr services` names the other one",
        lambda: services(watched).get("mds_partitioner", "").endswith(f":{PORTS[other]}/"),
    )


@pytest.mark.every_release_alike
def test_nothing_but_get_and_head_is_answered(watched: Cluster) -> None:
    script = (
        "import http.client, sys\n"
        "for method in ('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'HEAD', 'GET'):\n"
        "    c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20)\n"
        "    c.request(method, '/metrics'); print(method, c.getresponse().status); c.close()\n"
    )
    port = str(PORTS[watched.active_mgr()])
    out = watched.lab.exec(["python3", "-c", script, port]).stdout.split("\n")
    refused = [f"{m} 405" for m in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")]
    assert [line for line in out if line] == [*refused, "HEAD 200", "GET 200"]
