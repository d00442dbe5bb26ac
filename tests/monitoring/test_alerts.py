# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each alert fires when it should, and not when it should not: Prometheus' own rule tests."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from mds_partitioner.monitor import health, streaks
from monitoring.alerts import ALERTS, MUCH, NEARLY_ALL, RUNBOOKS, Alert, rules

ROOT = Path(__file__).parents[2]
CHECKED_IN = ROOT / "monitoring/prometheus_alerts.yml"
P = "ceph_mds_partitioner_"
FS = {"fs": "a"}
RANK0 = {"fs": "a", "rank": "0", "ceph_daemon": "mds.x"}
RANK1 = {"fs": "a", "rank": "1", "ceph_daemon": "mds.y"}
PLAN = {"fs": "a", "plan": "p"}
CAPACITY = "rank_capacity_requests_per_second"
LOAD = "rank_load_requests_per_second"


def series(name: str, values: str, /, **labels: str) -> dict[str, str]:
    """An input series, one value a minute."""
    full = name if name == "up" or name.startswith("ceph_") else P + name
    text = ", ".join(f'{k}="{v}"' for k, v in {"cluster": "c", "instance": "i", **labels}.items())
    return {"series": f"{full}{{{text}}}", "values": values}


@dataclass(frozen=True)
class Case:
    """What Prometheus sees, and which labels, beside the cluster, an alert has after so many minutes."""

    what: str
    alert: str
    seen: tuple[dict[str, str], ...]
    minutes: int
    labels: Mapping[str, str] | None  # None: it does not fire


def uneven(factor: str, epochs: str = "9x40") -> tuple[dict[str, str], ...]:
    return (
        series("imbalance_factor_ratio", factor, **FS),
        series("imbalance_threshold_ratio", "0.075x40", **FS),
        series("imbalanced_epochs", epochs, **FS),
    )


def taken_over(silence: str) -> tuple[dict[str, str], ...]:
    """Uneven under one manager for 3 minutes, and under the next one after some that it told nothing."""
    told = {"imbalance_factor_ratio": ("0.5", "0.5"), "imbalance_threshold_ratio": ("0.075", "0.075")}
    told |= {"imbalanced_epochs": ("9", "1+6")}
    first = (series(name, f"{before}x3 stale", **FS) for name, (before, _) in told.items())
    then = (series(name, f"{silence} {after}x20", **FS, instance="j") for name, (_, after) in told.items())
    return (*first, *then)


HOT = series("rank_hot", "1x40", **RANK0)
# No sample of the factor: the capacity of a rank is not known.
OPEN = (uneven("0x40")[1], series("imbalance_most_ratio", "0.9x40", **FS))


def loads(*values: str, capacity: str = "100x90", silent: int = 0) -> tuple[dict[str, str], ...]:
    """``silent``: ranks beside these that do not tell theirs."""
    ranks = (RANK0, RANK1)
    return (
        *(series(LOAD, v, **labels) for v, labels in zip(values, ranks, strict=False)),
        series(CAPACITY, capacity, **FS),
        series("active_ranks", f"{len(values) + silent}x90", **FS),
    )


def failed_over(before: str, after: str) -> tuple[dict[str, str], ...]:
    """Rank 0's load as one manager tells it, and then another."""
    minutes = int(before.rpartition("x")[2]) + 1
    return (*loads(f"{before} stale"), series(LOAD, f"_x{minutes} {after}", **RANK0, instance="j"))


SATURATED0 = series("rank_saturated", "1x40", **RANK0)
SATURATED1 = series("rank_saturated", "1x40", **RANK1)
IMBALANCE, NEAR = "CephFilesystemMetadataImbalance", "CephFilesystemRankNearCapacity"
FORECAST, OVERLOAD = "CephFilesystemRankForecastAboveCapacity", "CephFilesystemMetadataOverload"
STALLED, ROLLED = "CephFilesystemPartitionPlanStalled", "CephFilesystemPartitionPlanRolledBack"
FALLBACK, DOWN = "CephFilesystemBalancerPolicyFallback", "CephFilesystemPartitionerDown"
ENGINE, UNJUDGED = "CephFilesystemPartitionerEngineDown", "CephFilesystemPartitionerUnjudged"
UNREADABLE, STUCK = "CephFilesystemPartitionJournalUnreadable", "CephFilesystemSchedulerStuck"
MISJUDGES = "CephFilesystemSchedulerMisjudges"
# The alert that tells of what a health check tells.
TOLD_BY = {
    health.PAUSED: STALLED,
    health.JOURNAL: UNREADABLE,
    health.FALLBACK: FALLBACK,
    health.IMBALANCE: IMBALANCE,
    health.SCHEDULER_STUCK: STUCK,
    health.SCHEDULER_ADVISES: IMBALANCE,  # who wants advice reads it; the load itself is told
    health.SCHEDULER_MISJUDGES: MISJUDGES,
    health.STALE: DOWN,
    health.UNJUDGED: UNJUDGED,
    health.ENGINE_DOWN: ENGINE,
    health.ENDPOINT_DOWN: DOWN,
}
RUNNING = series("plan_state", "1x40", **PLAN, state="running")
EPOCH_10_S = series("epoch_interval_seconds", "10x40")
EPOCH_15_MIN = series("epoch_interval_seconds", "900x90")
EPOCH_15_MIN_THEN = series("epoch_interval_seconds", "900x90", instance="j")  # as the next manager says
ENABLED = series("ceph_mgr_module_status", "1x40", name="mds_partitioner")
FRESH = series("epoch_end_timestamp_seconds", "-50+60x40")
ENGINE_DEAD = series("engine_up", "0x40")


def epoch_of(seconds: int) -> dict[str, str]:
    return series("epoch_interval_seconds", f"{seconds}x90")


def raised(check: str, values: str, **more: str) -> dict[str, str]:
    """As Ceph's own prometheus module tells it."""
    return series("ceph_health_detail", values, name=check, severity="HEALTH_WARN", **more)


def of_a_check(code: str, alert: str) -> tuple[Case, ...]:
    other = raised("MDS_SLOW_REQUEST", "1x40")
    return (
        Case("it is raised", alert, (raised(code, "0x4 1x40"), other), 11, {}),
        Case("it was raised for a moment", alert, (raised(code, "0x4 1x3 0x40"), other), 11, None),
        Case("another one is raised", alert, (raised(code, "0x40"), other), 30, None),
        Case(
            "it is raised across a fail-over of the managers",
            alert,
            (raised(code, "1x3 stale"), raised(code, "_x5 1x40", instance="j")),
            6,
            {},
        ),
    )


def failed(epochs: str) -> dict[str, str]:
    return series("engine_failed_epochs", epochs)


def full(epochs: str) -> dict[str, str]:
    """Of rank 0."""
    return series("rank_full_epochs", epochs, **RANK0)


def overloaded(epochs: str) -> dict[str, str]:
    return series("overloaded_epochs", epochs, **FS)


def unjudged(epochs: str, fs: str = "a") -> dict[str, str]:
    return series("unjudged_epochs", epochs, fs=fs)


def long_and_taken_over(before: str, after: str) -> tuple[dict[str, str], ...]:
    """Uneven for 20 minutes under one manager, and then under the next; ``before`` and ``after``: epochs."""
    names, told = ("imbalance_factor_ratio", "imbalance_threshold_ratio"), ("0.5", "0.075")
    first = (series(name, f"{value}x20 stale", **FS) for name, value in zip(names, told, strict=True))
    then = (
        series(name, f"_x21 {value}x40", **FS, instance="j") for name, value in zip(names, told, strict=True)
    )
    count = "imbalanced_epochs"
    counts = (series(count, before, **FS), series(count, f"_x21 {after}", **FS, instance="j"))
    return (*first, *then, *counts, EPOCH_15_MIN_THEN)


CASES = (
    Case("imbalance that lasts", IMBALANCE, uneven("0.5x40"), 6, FS),
    Case("a hot rank of many", IMBALANCE, (*uneven("0.06x40"), HOT), 6, FS),
    Case("imbalance not yet lasting", IMBALANCE, uneven("0.5x40"), 4, None),
    Case("the scheduler finds it even", IMBALANCE, (*uneven("0.5x40", "0x40"), HOT), 30, None),
    Case("the scheduler finds it even no more", IMBALANCE, uneven("0.5x40", "0x9 1+6x30"), 16, FS),
    Case("imbalance that ended", IMBALANCE, uneven("0.5x10 0.01x20"), 15, None),
    Case("benign imbalance, below the threshold", IMBALANCE, uneven("0.07x40"), 30, None),
    Case("uneven, its urgency unknown", IMBALANCE, OPEN, 30, None),
    Case(
        "one uneven epoch that is long",
        IMBALANCE,
        (*uneven("0.5x14 0.01x20", "1x14 0x20"), EPOCH_15_MIN),
        14,
        None,
    ),
    Case("the second long epoch", IMBALANCE, (*uneven("0.5x40", "1x14 2x20"), EPOCH_15_MIN), 21, FS),
    Case("one hot epoch that is long", IMBALANCE, (*uneven("0x40", "1x40"), HOT, EPOCH_15_MIN), 14, None),
    Case(
        "it goes on in the next manager's first epoch, which is long",
        IMBALANCE,
        long_and_taken_over("2x20 stale", "1x40"),
        34,
        FS,
    ),
    Case(
        "the next manager's first epoch, which is long, is even",
        IMBALANCE,
        long_and_taken_over("2x20 stale", "0x40"),
        30,
        None,
    ),
    Case(
        "one uneven epoch of each of two managers, both long",
        IMBALANCE,
        long_and_taken_over("1x20 stale", "1x40"),
        34,
        None,
    ),
    Case("a short spike", IMBALANCE, uneven("0.01x5 0.9x3 0.01x20"), 9, None),
    Case(
        "imbalance across a fail-over",
        IMBALANCE,
        taken_over("_x3"),
        7,
        FS,
    ),
    Case(
        "imbalance across a fail-over, when nothing is told for a while",
        IMBALANCE,
        taken_over("_x5"),
        7,
        FS,
    ),
    Case("a file system that is gone", IMBALANCE, uneven("0.5x10 stale", "9x10 stale"), 13, None),
    Case(
        "a full rank across a fail-over",
        NEAR,
        (
            *loads("95x8 stale", "10x40", capacity="100x8 stale"),
            series(LOAD, "_x10 95x40", **RANK0, instance="j"),
            series(CAPACITY, "_x10 100x40", **FS, instance="j"),
        ),
        15,
        RANK0,
    ),
    Case("a full rank", NEAR, loads("95x40", "10x40"), 16, RANK0),
    Case("a busy rank", NEAR, loads("80x40", "10x40"), 30, None),
    Case("a full rank for a moment", NEAR, loads("10x10 100x4 10x30", "10x40"), 16, None),
    Case(
        "a rank full in one epoch that is long",
        NEAR,
        (*loads("95x14 10x20", "10x40"), full("1x14 0x20"), EPOCH_15_MIN),
        14,
        None,
    ),
    Case(
        "a rank full in one epoch that is long, and three scrapes fail",
        NEAR,
        (
            *loads("95x4 stale _x2 95x40", "10x50", capacity="100x50"),
            full("1x4 stale _x2 1x40"),
            series("epoch_interval_seconds", "1800x4 stale _x2 1800x40"),
        ),
        21,
        None,
    ),
    Case(
        "a rank saturated in one epoch that is long",
        NEAR,
        (*loads("40x40", "50x40"), SATURATED0, full("1x40"), EPOCH_15_MIN),
        14,
        None,
    ),
    Case(
        "a rank full in the second long epoch",
        NEAR,
        (*loads("95x40", "10x40"), full("1x14 2x20"), EPOCH_15_MIN),
        26,
        RANK0,
    ),
    Case(
        "a rank full in each epoch of 5 minutes",
        NEAR,
        (*loads("95x40", "10x40"), full("1x4 2x4 3x30"), epoch_of(300)),
        11,
        RANK0,
    ),
    Case(
        "a rank full in one epoch of 8 minutes, and busy before and after it",
        NEAR,
        (*loads("85x5 120x7 85x30", "10x50"), full("0x5 1x7 0x30"), epoch_of(480)),
        17,
        None,
    ),
    Case(
        "a rank full in each short epoch",
        NEAR,
        (*loads("95x40", "10x40"), full("1+6x40"), EPOCH_10_S),
        16,
        RANK0,
    ),
    Case(
        "a full rank in the next manager's first epoch, which is long",
        NEAR,
        (
            *loads("95x20 stale", "10x40", capacity="100x20 stale"),
            full("2x20 stale"),
            series(LOAD, "_x21 95x40", **RANK0, instance="j"),
            series(CAPACITY, "_x21 100x40", **FS, instance="j"),
            series("rank_full_epochs", "_x21 1x40", **RANK0, instance="j"),
            EPOCH_15_MIN_THEN,
        ),
        34,
        RANK0,
    ),
    Case("a full rank that is gone", NEAR, loads("95x20 stale", "10x40"), 26, None),
    Case(
        "a saturated rank that is gone",
        NEAR,
        (*loads("40x40", "50x40"), series("rank_saturated", "1x20 stale", **RANK0)),
        26,
        None,
    ),
    Case("a full rank that can do less", NEAR, (*loads("40x40", "50x40"), SATURATED0), 16, RANK0),
    Case("a full rank that is saturated", NEAR, (*loads("95x40", "10x40"), SATURATED0), 16, RANK0),
    Case(
        "a rank that is saturated now and then",
        NEAR,
        (*loads("40x40", "50x40"), series("rank_saturated", "0x9 1x3 0x3 1x3 0x20", **RANK0)),
        22,
        None,
    ),
    Case("growth beyond capacity", FORECAST, loads("40+1x60", "10x60"), 56, RANK0),
    Case("growth from little", FORECAST, loads("0+0.9x50", "10x60"), 46, None),
    Case("much load that does not grow", FORECAST, loads("80x60", "10x60"), 46, None),
    Case("a load that made one step", FORECAST, loads("40x20 60x60", "10x60"), 37, None),
    Case("a load that began", FORECAST, loads("0x20 60x60", "10x60"), 45, None),
    Case("a load that made one large step", FORECAST, loads("55x20 90x60", "10x60"), 48, None),
    Case(
        "a load that grows from one long epoch to the next",
        FORECAST,
        (*loads("40x14 52x14 64x14 76x14 88x14", "10x90"), EPOCH_15_MIN),
        65,
        RANK0,
    ),
    Case("growth across a fail-over", FORECAST, failed_over("40+1x20", "62+1x40"), 56, RANK0),
    Case(
        "a new manager that is told loads by and by",
        FORECAST,
        failed_over("60x30", "0 12 24 36 48 60x60"),
        55,
        None,
    ),
    Case("every rank full", OVERLOAD, loads("95x40", "90x40"), 22, FS),
    Case("every rank full that tells it", OVERLOAD, loads("95x40", "90x40", silent=1), 22, FS),
    Case(
        "every rank is full that tells it, and can do less",
        OVERLOAD,
        (*loads("40x40", "50x40", silent=1), SATURATED0, SATURATED1),
        22,
        FS,
    ),
    Case("a rank falls silent beside an idle one", OVERLOAD, loads("95x10 stale", "10x40"), 30, None),
    Case(
        "every rank full in one epoch that is long",
        OVERLOAD,
        (*loads("95x40", "90x40"), overloaded("1x40"), series("epoch_interval_seconds", "1800x40")),
        28,
        None,
    ),
    Case(
        "every rank full in each epoch of 10 minutes",
        OVERLOAD,
        (*loads("95x40", "90x40"), overloaded("1x9 2x9 3x30"), epoch_of(600)),
        16,
        FS,
    ),
    Case(
        "every rank full in one epoch of 13 minutes, and busy before and after it",
        OVERLOAD,
        (*loads("80x5 120x12 80x30", "80x5 120x12 80x30"), overloaded("0x5 1x12 0x30"), epoch_of(780)),
        22,
        None,
    ),
    Case(
        "every rank full in the second long epoch",
        OVERLOAD,
        (*loads("95x40", "90x40"), overloaded("1x14 2x20"), EPOCH_15_MIN),
        31,
        FS,
    ),
    Case(
        "every rank saturated in one epoch that is long",
        OVERLOAD,
        (*loads("40x40", "50x40"), SATURATED0, SATURATED1, overloaded("1x40"), EPOCH_15_MIN),
        28,
        None,
    ),
    Case("one of two ranks full", OVERLOAD, loads("95x40", "10x40"), 30, None),
    Case(
        "every rank is full, and can do less",
        OVERLOAD,
        (*loads("40x40", "50x40"), SATURATED0, SATURATED1),
        22,
        FS,
    ),
    Case(
        "one of two ranks is full, and can do less",
        OVERLOAD,
        (*loads("40x40", "50x40"), SATURATED0, series("rank_saturated", "0x40", **RANK1)),
        30,
        None,
    ),
    Case(
        "a plan without progress",
        STALLED,
        (RUNNING, series("plan_progress_ratio", "0.3x40", **PLAN)),
        11,
        PLAN,
    ),
    Case(
        "a plan that stops in the middle",
        STALLED,
        (RUNNING, series("plan_progress_ratio", "0+0.01x20 0.2x30", **PLAN)),
        33,
        PLAN,
    ),
    Case(
        "a step that takes long",
        STALLED,
        (RUNNING, series("plan_progress_ratio", "0+0.01x20 0.2x8 0.3x30", **PLAN)),
        31,
        None,
    ),
    Case(
        "a plan whose first step takes long",
        STALLED,
        (RUNNING, series("plan_progress_ratio", "0x8 0.1x30", **PLAN)),
        10,
        None,
    ),
    Case(
        "a plan with progress",
        STALLED,
        (RUNNING, series("plan_progress_ratio", "0+0.01x40", **PLAN)),
        35,
        None,
    ),
    Case(
        "a plan with progress, while epochs are long",
        STALLED,
        (RUNNING, EPOCH_15_MIN, series("plan_progress_ratio", "0x8 0.1x8 0.2x8 0.3x8", **PLAN)),
        34,
        None,
    ),
    Case(
        "a plan without progress, while epochs are long",
        STALLED,
        (RUNNING, EPOCH_15_MIN, series("plan_progress_ratio", "0.1x8 0.2x30", **PLAN)),
        25,
        PLAN,
    ),
    Case("a plan that waits for the cluster", STALLED, (series("plan_waiting", "1x40", **PLAN),), 11, PLAN),
    Case(
        "a plan that waits across a fail-over",
        STALLED,
        (
            series("plan_waiting", "1x5 stale", **PLAN),
            series("plan_waiting", "_x7 1x40", **PLAN, instance="j"),
        ),
        11,
        PLAN,
    ),
    Case(
        "a plan without progress across a fail-over",
        STALLED,
        (
            series("plan_state", "1x5 stale", **PLAN, state="running"),
            series("plan_progress_ratio", "0.3x5 stale", **PLAN),
            series("plan_state", "_x7 1x40", **PLAN, state="running", instance="j"),
            series("plan_progress_ratio", "_x7 0.3x40", **PLAN, instance="j"),
        ),
        13,
        PLAN,
    ),
    Case(
        "it waits by a manager that was cut off, and takes itself for the active one",
        STALLED,
        (series("plan_waiting", "1x40", **PLAN), series("plan_waiting", "_x3 0x40", **PLAN, instance="j")),
        20,
        None,
    ),
    Case("a plan that is gone", STALLED, (series("plan_waiting", "1x20 stale", **PLAN),), 23, None),
    Case(
        "a plan that is done",
        STALLED,
        (
            series("plan_state", "0x40", **PLAN, state="running"),
            series("plan_state", "1x40", **PLAN, state="done"),
            series("plan_progress_ratio", "1x40", **PLAN),
            series("plan_waiting", "0x40", **PLAN),
        ),
        35,
        None,
    ),
    Case(
        "a plan just rolled back",
        ROLLED,
        (
            series("plan_state", "0x5 1x100", **PLAN, state="rolled-back"),
            series("plan_end_timestamp_seconds", "_x5 300x100", **PLAN),
        ),
        10,
        PLAN,
    ),
    Case(
        "a plan rolled back, across a fail-over",
        ROLLED,
        (
            series("plan_state", "1x5 stale", **PLAN, state="rolled-back"),
            series("plan_end_timestamp_seconds", "0x5 stale", **PLAN),
            series("plan_state", "_x7 1x40", **PLAN, state="rolled-back", instance="j"),
            series("plan_end_timestamp_seconds", "_x7 0x40", **PLAN, instance="j"),
        ),
        7,
        PLAN,
    ),
    Case(
        "a plan rolled back long ago",
        ROLLED,
        (
            series("plan_state", "0x5 1x100", **PLAN, state="rolled-back"),
            series("plan_end_timestamp_seconds", "_x5 300x100", **PLAN),
        ),
        70,
        None,
    ),
    Case("a fallback", FALLBACK, (series("policy_fallback", "0x5 1 0x20", **RANK0),), 9, RANK0),
    Case("a fallback of long ago", FALLBACK, (series("policy_fallback", "0x5 1 0x40", **RANK0),), 30, None),
    Case("only standbys answer", DOWN, (series("active", "0x40"),), 6, {}),
    Case("nobody answers", DOWN, (series("up", "0x40", job="mds_partitioner"),), 6, {}),
    Case(
        "the module was disabled",
        DOWN,
        (
            series("up", "0x40", job="mds_partitioner"),
            series("ceph_mgr_module_status", "0x40", name="mds_partitioner"),
        ),
        30,
        None,
    ),
    Case(
        "it is enabled and nobody answers",
        DOWN,
        (ENABLED, series("up", "0x40", job="mds_partitioner")),
        6,
        {},
    ),
    Case("the module is enabled and nothing is scraped", DOWN, (ENABLED,), 6, {}),
    Case(
        "another cluster's numbers are federated",
        DOWN,
        (
            ENABLED,
            series("active", "1x40"),
            FRESH,
            series("ceph_mgr_module_status", "1x40", name="mds_partitioner", cluster="other"),
            series("active", "1x40", cluster="other"),
            series("epoch_end_timestamp_seconds", "0+60x40", cluster="other"),
        ),
        30,
        None,
    ),
    Case(
        "the epochs stand still",
        DOWN,
        (series("active", "1x40"), series("epoch_end_timestamp_seconds", "0x40"), EPOCH_10_S),
        9,
        {},
    ),
    Case(
        "long epochs stand still",
        DOWN,
        (series("active", "1x40"), series("epoch_end_timestamp_seconds", "0x40"), EPOCH_15_MIN),
        33,
        {},
    ),
    Case(
        "a long epoch ends 9 minutes late",
        DOWN,
        (series("active", "1x40"), series("epoch_end_timestamp_seconds", "0x24 1440x15"), EPOCH_15_MIN),
        24,
        None,
    ),
    Case("the first epoch does not end", DOWN, (ENABLED, series("active", "1x40")), 6, {}),
    Case("the first epoch has not ended yet", DOWN, (ENABLED, series("active", "1x40")), 4, None),
    Case(
        "epochs are long",
        DOWN,
        (
            series("active", "1x40"),
            series("epoch_end_timestamp_seconds", "0x15 900x15"),
            series("epoch_interval_seconds", "900x40"),
        ),
        15,
        None,
    ),
    Case(
        "all is well",
        DOWN,
        (
            ENABLED,
            series("up", "1x40", job="mds_partitioner"),
            series("up", "0x40", job="mds_partitioner", instance="standby"),
            series("active", "1x40"),
            series("active", "0x40", instance="standby"),
            FRESH,
            EPOCH_10_S,
        ),
        30,
        None,
    ),
    Case("the engine is dead", ENGINE, (ENGINE_DEAD,), 6, {}),
    Case("the engine failed in a long epoch", ENGINE, (ENGINE_DEAD, failed("1x40"), EPOCH_15_MIN), 14, None),
    Case("and in the next", ENGINE, (ENGINE_DEAD, failed("1x14 2x20"), EPOCH_15_MIN), 21, {}),
    Case("the engine fails in each short epoch", ENGINE, (ENGINE_DEAD, failed("1+6x40"), EPOCH_10_S), 6, {}),
    Case(
        "the engine is dead across a fail-over",
        ENGINE,
        (series("engine_up", "0x3 stale"), series("engine_up", "_x5 0x40", instance="j")),
        6,
        {},
    ),
    Case(
        "the engine is dead in the next manager's first epoch, which is long",
        ENGINE,
        (
            *(series("engine_up", "0x20 stale"), failed("2x20 stale"), EPOCH_15_MIN_THEN),
            series("engine_up", "_x21 0x40", instance="j"),
            series("engine_failed_epochs", "_x21 1x40", instance="j"),
        ),
        34,
        {},
    ),
    Case("the engine was restarted", ENGINE, (series("engine_up", "1x5 0x2 1x30"),), 10, None),
    Case(
        "one of two file systems is not judged",
        UNJUDGED,
        (series("engine_up", "1x40"), unjudged("1+6x40"), unjudged("0x40", "b"), EPOCH_10_S),
        6,
        FS,
    ),
    Case(
        "it was not judged for a while",
        UNJUDGED,
        (series("engine_up", "1x40"), unjudged("0x3 1+6x3 0x30")),
        12,
        None,
    ),
    Case(
        "one is never judged, and now and then none",
        UNJUDGED,
        (
            series("engine_up", "1 1 0 1 1 0 1 1 0 1 1 0 1 1 0 1 1 0"),
            unjudged("1+6x40"),
            unjudged("0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1", "b"),
        ),
        14,
        FS,
    ),
    Case(
        "the engine dies",
        UNJUDGED,
        (series("engine_up", "1x5 0x30"), unjudged("0x5 1+6x30"), EPOCH_10_S),
        11,
        None,
    ),
    Case("none is judged, as the engine is dead", UNJUDGED, (ENGINE_DEAD, unjudged("1+6x40")), 30, None),
    Case("it was not judged in one long epoch", UNJUDGED, (unjudged("1x40"), EPOCH_15_MIN), 14, None),
    Case("nor in the next", UNJUDGED, (unjudged("1x14 2x20"), EPOCH_15_MIN), 21, FS),
    Case(
        "a manager that was cut off judges none, and takes itself for the active one",
        UNJUDGED,
        (unjudged("1+6x40"), series("unjudged_epochs", "0x40", **FS, instance="j"), EPOCH_10_S),
        10,
        None,
    ),
    Case(
        "no epoch ends any more, and the last one was uneven",
        IMBALANCE,
        (*uneven("0.5x40", "1x40"), EPOCH_10_S, series("epoch_end_timestamp_seconds", "0x40")),
        11,
        None,
    ),
    Case(
        "no epoch ends any more, since it fires",
        IMBALANCE,
        (*uneven("0.5x40"), EPOCH_10_S, series("epoch_end_timestamp_seconds", "-50+60x10 550x40")),
        20,
        FS,
    ),
    Case(
        "no epoch ends any more, and a rank was full in the last one",
        NEAR,
        (
            *(*loads("95x40"), series("rank_full_epochs", "1x40", **RANK0)),
            *(EPOCH_10_S, series("epoch_end_timestamp_seconds", "0x40")),
        ),
        20,
        None,
    ),
    Case(
        "no epoch ends any more, since it fires for another rank",
        NEAR,
        (
            *(*loads("95x40", "50x10 95x40"), series("rank_full_epochs", "9x40", **RANK0)),
            *(series("rank_full_epochs", "0x10 1x40", **RANK1), EPOCH_10_S),
            series("epoch_end_timestamp_seconds", "-50+60x11 610x40"),
        ),
        30,
        RANK0,
    ),
    Case(
        "no epoch ends any more, and all were full in the last one",
        OVERLOAD,
        (
            *(*loads("95x40", "95x40"), series("overloaded_epochs", "1x40", **FS)),
            *(EPOCH_10_S, series("epoch_end_timestamp_seconds", "0x40")),
        ),
        30,
        None,
    ),
    Case("an unjudged file system that is gone", UNJUDGED, (unjudged("9x10 stale"),), 13, None),
    *of_a_check(health.JOURNAL, UNREADABLE),
    *of_a_check(health.SCHEDULER_STUCK, STUCK),
    *of_a_check(health.SCHEDULER_MISJUDGES, MISJUDGES),
)


def rendered(text: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{ \$labels\.(\w+) }}", lambda m: labels.get(m[1], ""), text)


def expected(alert: Alert, labels: Mapping[str, str]) -> dict[str, dict[str, str]]:
    rule = alert.rule()
    own = {"cluster": "c", **labels}
    return {
        "exp_labels": {**rule["labels"], **own},
        "exp_annotations": {k: rendered(v, own) for k, v in rule["annotations"].items()},
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.what}")
def test_alert(case: Case, promtool: str, tmp_path: Path) -> None:
    alert = next(a for a in ALERTS if a.name == case.alert)
    fires = [] if case.labels is None else [expected(alert, case.labels)]
    test = {
        "rule_files": [str(CHECKED_IN)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": list(case.seen),
                "alert_rule_test": [
                    {"eval_time": f"{case.minutes}m", "alertname": case.alert, "exp_alerts": fires}
                ],
            }
        ],
    }
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump(test))
    done = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_module_counts_epochs_by_what_the_alerts_compare() -> None:
    assert (NEARLY_ALL, MUCH) == (streaks.NEARLY_ALL, streaks.MUCH)


def test_what_a_health_check_tells_an_alert_tells_too() -> None:
    assert set(TOLD_BY) == set(health.MEANINGS)
    assert set(TOLD_BY.values()) <= {alert.name for alert in ALERTS}


def test_every_alert_is_tested_firing_and_not_firing() -> None:
    for alert in ALERTS:
        outcomes = {case.labels is None for case in CASES if case.alert == alert.name}
        assert outcomes == {True, False}, f"{alert.name}: {outcomes}"


def test_the_rules_that_are_checked_in_are_those_of_the_source() -> None:
    assert CHECKED_IN.read_text() == rules(), "run python3 -m monitoring"


def test_prometheus_accepts_the_rules(promtool: str) -> None:
    done = subprocess.run(
        [promtool, "check", "rules", str(CHECKED_IN)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and f"{len(ALERTS)} rules found" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_follows_ceph_mixins_conventions_and_has_a_runbook(alert: Alert) -> None:
    assert alert.name.startswith("CephFilesystem")
    rule = alert.rule()
    assert set(rule["labels"]) == {"severity", "type"}
    assert rule["labels"]["severity"] == ("info" if alert.name == ROLLED else "warning")
    assert set(rule["annotations"]) == {"description", "documentation", "summary"}
    assert "{{ $labels.cluster }}" in rule["annotations"]["summary"]
    runbook = (ROOT / RUNBOOKS / f"{alert.name}.md").read_text()
    for part in ("## What it means", "## Diagnosis", "## Mitigation"):
        assert part in runbook
    assert "    ceph " in runbook, "a runbook has commands"
