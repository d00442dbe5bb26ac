# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a scrape holds: names, units, labels, bounded and parseable whatever subvolumes are called."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from monitor_snapshots import HOSTILE, broken, scheduler, snapshot, subvolume, uneven, unsettled
from prometheus_client.parser import text_string_to_metric_families

from mds_partitioner.monitor.metrics import PREFIX, active_metric, exposition, families, label
from mds_partitioner.monitor.state import Snapshot

UNITS = ("ratio", "seconds", "requests_per_second", "inodes", "points", "ranks", "epochs")
# Counts of things and yes/no, which have no unit.
UNITLESS = (
    *("active", "engine_up", "errors", "policy_fallback", "rank_saturated", "rank_role", "plan_state"),
    *("rank_hot",),
    *("plan_waiting", "analysis_subvolumes", "rank_capacity_known"),
    *("scheduler_moves_under_way", "scheduler_moves_advised", "scheduler_decisions", "scheduler_moves"),
    *("scheduler_mode", "hot_spots"),
)
LABELS = {
    "fs",
    "rank",
    "ceph_daemon",
    "role",
    "source_rank",
    "target_rank",
    "subvolume",
    "plan",
    "state",
    "stage",
    "mode",
    "kind",
}


def scraped(of: Snapshot) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = exposition(families(of)).decode()
    return {
        (s.name, frozenset(s.labels.items())): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def value(of: Snapshot, name: str, **labels: str) -> float:
    return scraped(of)[f"{PREFIX}_{name}", frozenset(labels.items())]


def test_every_name_has_the_prefix_and_a_unit_and_every_label_is_known() -> None:
    for family in families(snapshot()):
        short = family.name.removeprefix(f"{PREFIX}_")
        assert short != family.name
        assert short in UNITLESS or short.endswith(UNITS), f"{family.name} has no unit"
        assert family.documentation
        for sample in family.samples:
            assert set(sample.labels) <= LABELS


def test_rank_metrics_join_with_ceph_mds_metadata() -> None:
    of = snapshot()
    rank0 = {"fs": "cephfs", "rank": "0", "ceph_daemon": "mds.a"}
    assert value(of, "rank_load_requests_per_second", **rank0) == 612
    assert value(of, "rank_forecast_requests_per_second", **rank0) == pytest.approx(673.2)
    assert value(of, "rank_saturated", **rank0) == 1
    assert value(of, "rank_hot", **rank0) == 1
    assert value(of, "rank_role", **rank0, role="exporter") == 1
    assert value(of, "rank_role", **rank0, role="importer") == 0
    assert value(of, "rank_export_requests_per_second", **rank0) == 433


def test_judgement_plan_and_the_module_itself_are_told() -> None:
    of = snapshot()
    assert value(of, "imbalance_factor_ratio", fs="cephfs") == 0.83
    assert value(of, "imbalanced_epochs", fs="cephfs") == 12
    assert value(of, "move_requests_per_second", fs="cephfs", source_rank="0", target_rank="3") == 163
    assert value(of, "plan_progress_ratio", fs="cephfs", plan="plan-1") == 0.42
    assert value(of, "plan_state", fs="cephfs", plan="plan-1", state="running") == 1
    assert value(of, "plan_state", fs="cephfs", plan="plan-1", state="done") == 0
    assert value(of, "epoch_duration_seconds_sum") == 3.2
    assert value(of, "epoch_interval_seconds") == 10
    assert value(of, "errors_total", stage="judge") == 2
    assert value(of, "active") == 1


def test_what_is_not_known_is_not_told() -> None:
    names = {(name, dict(labels).get("rank")) for name, labels in scraped(snapshot())}
    assert (f"{PREFIX}_policy_fallback", "1") in names
    assert (f"{PREFIX}_policy_fallback", "0") not in names
    blind = {name for name, _ in scraped(broken())}
    assert f"{PREFIX}_imbalance_factor_ratio" not in blind
    assert value(broken(), "engine_up") == 0
    assert f"{PREFIX}_engine_up" not in {name for name, _ in scraped(Snapshot())}


def test_an_unknown_capacity_is_not_0_and_nor_is_what_follows_from_it() -> None:
    told = {name.removeprefix(f"{PREFIX}_") for name, _ in scraped(unsettled())}
    assert not told & {
        *("imbalance_factor_ratio", "urgency_ratio", "rank_capacity_requests_per_second"),
        "recommended_ranks",
    }
    assert value(unsettled(), "rank_capacity_known", fs="cephfs") == 0
    assert value(unsettled(), "imbalance_most_ratio", fs="cephfs") == 0.86
    assert value(snapshot(), "rank_capacity_known", fs="cephfs") == 1


def test_hot_spots_are_told_while_the_scheduler_looks() -> None:
    for hot, known in ((scheduler().hot, True), ((), True), (None, False)):
        of = snapshot(replace(uneven(), scheduler=replace(scheduler(), hot=hot)))
        names = {name for name, _ in scraped(of)}
        assert (f"{PREFIX}_hot_spots" in names, f"{PREFIX}_scheduler_mode" in names) == (known, True)


def test_hostile_names_stay_label_values_and_stay_apart() -> None:
    found = scraped(snapshot(uneven(HOSTILE)))
    shown = {dict(labels)["subvolume"] for name, labels in found if name.endswith("workload_points")}
    assert len(shown) == len(HOSTILE)


@given(st.lists(st.text(st.characters(), min_size=1, max_size=40), unique=True, max_size=8))
def test_any_two_names_have_different_labels_and_any_scrape_can_be_parsed(names: list[str]) -> None:
    assert len({label(name) for name in names}) == len(names)
    sample = uneven()
    assert sample.analysis is not None
    top = tuple(subvolume(name) for name in names)
    found = scraped(snapshot(replace(sample, analysis=replace(sample.analysis, top=top))))
    assert sum(name.endswith("workload_points") for name, _ in found) == len(names)


def test_a_standby_says_only_that_it_is_one() -> None:
    text = exposition([active_metric(False)]).decode()
    samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
    assert [(s.name, s.value) for s in samples] == [(f"{PREFIX}_active", 0.0)]
