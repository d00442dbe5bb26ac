# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dashboards: as their source makes them, valid by Grafana's schema, and sound PromQL over our metrics.

That every query returns data is tested on a lab: tests/integration/test_monitoring.py.
"""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from monitor_snapshots import NOW, plan, scheduler, snapshot, uneven
from queries import concrete, panels, queries

from mds_partitioner.engine.urgency import THRESHOLD
from mds_partitioner.monitor.metrics import exposition, families
from monitoring.alerts import ALERTS
from monitoring.dashboards import dashboards

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "monitoring/grafana"
BOARDS = {path.name: json.loads(path.read_text()) for path in sorted(GRAFANA.glob("*.json"))}
OTHERS = {"ceph_mds_metadata"}  # of Ceph's prometheus module


def exported() -> set[str]:
    """Every name in a scrape."""
    ended = replace(plan("done", 1.0), finished=NOW)
    samples = (replace(uneven(), plan=p, scheduler=scheduler()) for p in (plan(), ended))
    text = "".join(exposition(families(snapshot(sample))).decode() for sample in samples)
    return set(re.findall(r"^(\w+)", re.sub(r"^#.*\n", "", text, flags=re.M), flags=re.M))


def names(expr: str) -> set[str]:
    return set(re.findall(r"\bceph_\w+", re.sub(r'"[^"]*"', '""', expr))) - {"ceph_daemon"}


@pytest.fixture(params=BOARDS, ids=str)
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = BOARDS[request.param]
    return found


def test_the_dashboards_that_are_checked_in_are_those_of_the_source() -> None:
    made = {name: json.loads(text) for name, text in dashboards().items()}
    assert made == BOARDS, "run python3 -m monitoring"


def test_a_dashboard_has_only_what_grafanas_schema_knows(board: dict[str, Any]) -> None:
    read = Dashboard.from_json(board)
    assert json.loads(JSONEncoder(sort_keys=True, indent=2).encode(read)) == board


def test_a_dashboard_can_be_told_from_others_and_is_templated(board: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z0-9-]{1,40}", board["uid"]) and board["title"] and board["description"]
    assert [v["name"] for v in board["templating"]["list"]] == ["datasource", "cluster", "fs"]
    assert "ceph-mixin" in board["tags"]
    assert len({b["uid"] for b in BOARDS.values()}) == len(BOARDS)


def test_panels_have_ids_texts_units_and_places_of_their_own(board: dict[str, Any]) -> None:
    everything = board["panels"]
    assert len({p["id"] for p in everything}) == len(everything)
    assert len({p["title"] for p in everything}) == len(everything)
    taken: set[tuple[int, int]] = set()
    for panel in everything:
        at = panel["gridPos"]
        cells = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    for panel in panels(board):
        assert panel["description"], panel["title"]
        assert panel["options"] is not None
        assert panel["targets"] and len({t["refId"] for t in panel["targets"]}) == len(panel["targets"])
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
        assert panel["type"] == "state-timeline" or panel["fieldConfig"]["defaults"]["unit"]


def test_queries_are_of_metrics_that_exist_and_of_the_chosen_cluster() -> None:
    known = exported() | OTHERS
    for board in BOARDS.values():
        for _, expr in queries(board):
            assert names(expr) <= known, f"{names(expr) - known} in {expr}"
            assert 'cluster=~"$cluster"' in expr


def test_the_factor_turns_yellow_at_the_threshold_that_is_the_default() -> None:
    (panel,) = [p for board in BOARDS.values() for p in panels(board) if p["title"] == "Imbalance factor"]
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert steps[1]["value"] == THRESHOLD and f"{THRESHOLD}" in panel["description"]


def test_a_counter_is_drawn_by_how_it_grows() -> None:
    """What it is in all is since some daemon started."""
    for board in BOARDS.values():
        for _, expr in queries(board):
            counters = re.findall(r"ceph_\w+_(?:total|sum|count)\b", expr)
            grown = re.findall(
                r"(?:rate|increase)\((?:\(max by \([\w, ]+\) \()?(ceph_\w+_(?:total|sum|count))\b", expr
            )
            assert counters == grown, expr


def test_alerts_are_about_metrics_that_exist() -> None:
    known = exported() | {"ceph_mgr_module_status", "ceph_health_detail"}
    for alert in ALERTS:
        assert names(alert.expr) <= known, alert.name


def test_prometheus_can_parse_every_query(promtool: str, tmp_path: Path) -> None:
    exprs = [concrete(expr, "lab", "cephfs") for board in BOARDS.values() for _, expr in queries(board)]
    rules = [{"record": f"panel:{i}", "expr": expr} for i, expr in enumerate(exprs)]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(
        [promtool, "check", "rules", "--lint=none", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
