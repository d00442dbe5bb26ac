# SPDX-License-Identifier: LGPL-2.1-or-later
"""The alerts, in ceph-mixin's manner: names, labels and annotations as there, a cluster label on everything.

Every metric is aggregated by the labels that matter, so that a fail-over of the managers, after which another
instance is scraped, neither doubles a series nor starts an alert's waiting anew.
"""

from dataclasses import dataclass
from typing import Any

import yaml

GROUP = "mds_partitioner"
RUNBOOKS = "docs/runbooks"
CLUSTER = "cluster {{ $labels.cluster }}"
FS = "File system {{ $labels.fs }}"
RANK = "rank {{ $labels.rank }} ({{ $labels.ceph_daemon }})"
PLAN = "plan {{ $labels.plan }}"

_FS, _RANKS, _PLAN = "cluster, fs", "cluster, fs, rank", "cluster, fs, plan"
_RANK = f"{_RANKS}, ceph_daemon"


def metric(name: str, by: str, over: str = "{}", matching: str = "") -> str:
    """A metric of ours, one series for each value of ``by``; ``over`` goes around each instance's."""
    return f"max by ({by}) ({over.format(f'ceph_mds_partitioner_{name}{matching}')})"


def lately(name: str, by: str, matching: str = "") -> str:
    """As ``metric``, and for 2 minutes as it was told last: the managers' scrapes are a minute apart at most,
    and the one that takes over has the first numbers some seconds after it answers."""
    return metric(name, by, "last_over_time({}[2m])", matching)


_HELD = "last_over_time({}[5m])"  # as long as any number is that alerts on epochs look at
_UNDER_WAY, _ROLLED_BACK = '{state=~"running|rolling-back"}', '{state="rolled-back"}'
SLACK = 2  # min, for a scrape and a look at the rules
LONG = 60 * (5 - SLACK)  # s: no alert waits for less than 5 min
NEARLY_ALL, MUCH = 0.9, 0.85  # of the capacity; a test compares them with those that the module counts by


def _long(seconds: int) -> str:
    return f"on (cluster) {metric('epoch_interval_seconds', 'cluster', _HELD)} > {seconds}"


def of_one_long_epoch(epochs: str, by: str, alert: str, wait: int = 5) -> str:
    """``unless`` the expression before it is of one long epoch alone.

    What is told once an epoch stays as it is until the next, however it was meanwhile. Where one is about as
    long as the alert waits, one alone is no evidence of all that time. A manager that takes over counts them
    anew: what has been found before it goes on.

    :param epochs: the metric that counts them in a row
    :param wait: how long the alert waits, min
    """
    found = f'on ({by}) ALERTS{{alertname="{alert}"}}'
    few = f"{metric(epochs, by, _HELD)} < 2 and {_long(60 * (wait - SLACK))}"
    return f"unless on ({by}) ({few} unless {found})"


def of_a_long_epoch_before(epochs: str, by: str) -> str:
    """``unless`` the expression before it, a mean of some minutes, is so by a long epoch that is over.

    :param epochs: as above
    """
    return f"unless on ({by}) ({metric(epochs, by, _HELD)} < 1 and {_long(LONG)})"


FACTOR, THRESHOLD = lately("imbalance_factor_ratio", _FS), lately("imbalance_threshold_ratio", _FS)
UNEVEN = lately("imbalanced_epochs", _FS)
CAPACITY = lately("rank_capacity_requests_per_second", _FS)
LOAD = metric("rank_load_requests_per_second", _RANK, "avg_over_time({}[5m])")
UTILISATION = f"{LOAD} / on (cluster, fs) group_left () {CAPACITY}"
# Ranks that do not tell it, silent ones, count neither as full nor as idle.
MEAN_LOAD = f"avg by ({_FS}) ({metric('rank_load_requests_per_second', _RANKS, 'avg_over_time({}[5m])')})"
LEAST_SATURATED = f"min by ({_FS}) ({metric('rank_saturated', _RANKS, 'avg_over_time({}[5m])')})"
# CAPACITY is one for all ranks: one that can do less is full before it has that.
SATURATED = f"{metric('rank_saturated', _RANK, 'avg_over_time({}[5m])')} > 0.9"
# A manager that has just taken over tells few numbers: the line goes through those of all.
GROWN = f"predict_linear({metric('rank_load_requests_per_second', _RANK)}[30m:1m], 3600)"

IMBALANCE, NEAR = "CephFilesystemMetadataImbalance", "CephFilesystemRankNearCapacity"
OVERLOAD, ENGINE_DOWN = "CephFilesystemMetadataOverload", "CephFilesystemPartitionerEngineDown"
UNJUDGED = "CephFilesystemPartitionerUnjudged"
# A manager that was cut off judges nothing any more; the one that took over may.
JUDGED_BY_NONE = f"min by ({_FS}) (last_over_time(ceph_mds_partitioner_unjudged_epochs[2m]))"
WAITS = f"min by ({_PLAN}) (last_over_time(ceph_mds_partitioner_plan_waiting[2m]))"  # likewise
# For as long as alerts wait: an epoch in which none is judged must not start the waiting for one anew.
ENGINE_DEAD = f"{metric('engine_up', 'cluster', 'max_over_time({}[5m])')} == 0"
INTERVAL = metric("epoch_interval_seconds", "cluster")
# A sample is as old as its epoch, and the time between two scrapes, which is a minute by default. An epoch
# may end late, by two more of them where these are short.
OLD = (
    f"time() - {metric('epoch_end_timestamp_seconds', 'cluster')} > "
    f"{INTERVAL} + clamp_max(2 * {INTERVAL}, 600) + 120"
)
ENABLED = 'max by (cluster) (ceph_mgr_module_status{name="mds_partitioner"})'


def of_old_numbers(epochs: str, by: str, alert: str) -> str:
    """``unless`` the expression before it is of numbers that nobody renews. What has fired goes on.

    :param epochs: a metric that is there for each of these
    """
    fires = f'on ({by}) ALERTS{{alertname="{alert}", alertstate="firing"}}'
    return f"unless on ({by}) ({metric(epochs, by, _HELD)} and on (cluster) ({OLD}) unless {fires})"


OLD_UNEVEN = of_old_numbers("imbalanced_epochs", _FS, IMBALANCE)
OLD_FULL = of_old_numbers("rank_full_epochs", _RANK, NEAR)
OLD_OVERLOAD = of_old_numbers("overloaded_epochs", _FS, OVERLOAD)


def raised(check: str) -> str:
    """Is one of our health checks raised? Ceph's own prometheus module tells, as of all."""
    detail = f'ceph_health_detail{{name="MDS_PARTITIONER_{check}"}}'
    return f"max by (cluster) (last_over_time({detail}[2m])) == 1"


@dataclass(frozen=True)
class Alert:
    """One rule. ``wait`` is how long the expression must hold.

    :ivar severity: warning, or info where nothing has to be done
    """

    name: str
    expr: str
    wait: str
    summary: str
    description: str
    severity: str = "warning"

    def rule(self) -> dict[str, Any]:
        """As Prometheus reads it."""
        return {
            "alert": self.name,
            "annotations": {
                "description": self.description,
                "documentation": f"{RUNBOOKS}/{self.name}.md",
                "summary": self.summary,
            },
            "expr": self.expr,
            "for": self.wait,
            "labels": {"severity": self.severity, "type": "ceph_default"},
        }


ALERTS = (
    Alert(
        name=IMBALANCE,
        expr=f"({FACTOR} > on ({_FS}) {THRESHOLD} or {lately('rank_hot', _FS)} == 1) and on ({_FS}) "
        f"{UNEVEN} > 0 {of_one_long_epoch('imbalanced_epochs', _FS, IMBALANCE)} {OLD_UNEVEN}",
        wait="5m",
        summary=f"MDS ranks of {{{{ $labels.fs }}}} are unevenly loaded on {CLUSTER}",
        description=f"{FS} has had an imbalance factor above its threshold, or a hot rank of many, for 5 "
        "minutes, in two epochs where these are long, and no scheduler has found each rank with its share: "
        "some ranks are near what they can serve while others are not. 'ceph mds_partitioner imbalance "
        "{{ $labels.fs }}' shows the ranks; 'partition plan {{ $labels.fs }}' proposes what to move.",
    ),
    Alert(
        name=NEAR,
        expr=f"({UTILISATION} > {NEARLY_ALL} or {SATURATED}) "
        f"{of_a_long_epoch_before('rank_full_epochs', _RANK)} "
        f"{of_one_long_epoch('rank_full_epochs', _RANK, NEAR, 10)} {OLD_FULL}",
        wait="10m",
        summary=f"MDS {RANK} of {{{{ $labels.fs }}}} is near its capacity on {CLUSTER}",
        description=f"{FS}: for 10 minutes, in two epochs where these are long, {RANK} has served more than "
        "90 % of what a rank can serve, or has been saturated. Its clients wait.",
    ),
    Alert(
        name="CephFilesystemRankForecastAboveCapacity",
        expr=f"({GROWN} / on (cluster, fs) group_left () {CAPACITY} > 1) and "
        f"on ({_RANK}) ({UTILISATION} > 0.5)",
        wait="30m",  # a line through one step of the load rises for less
        summary=f"MDS {RANK} of {{{{ $labels.fs }}}} will exceed its capacity on {CLUSTER}",
        description=f"{FS}: if the load of {RANK} goes on growing as in the last 30 minutes, it exceeds what "
        "a rank can serve within the hour.",
    ),
    Alert(
        name=OVERLOAD,
        expr=f"({MEAN_LOAD} / {CAPACITY} > {MUCH} or {LEAST_SATURATED} > 0.9) "
        f"{of_a_long_epoch_before('overloaded_epochs', _FS)} "
        f"{of_one_long_epoch('overloaded_epochs', _FS, OVERLOAD, 15)} {OLD_OVERLOAD}",
        wait="15m",
        summary=f"All MDS ranks of {{{{ $labels.fs }}}} together are overloaded on {CLUSTER}",
        description=f"{FS}: for 15 minutes, in two epochs where these are long, the mean load of its ranks, "
        "as far as they tell it, has been above 85 % of what a rank can serve, or all of these have been "
        "saturated. Moving metadata cannot cure that: it needs more active MDSs, or less load.",
    ),
    Alert(
        name="CephFilesystemPartitionPlanStalled",
        expr=f"({lately('plan_state', _PLAN, _UNDER_WAY)} == 1 and "
        f"on ({_PLAN}) {metric('plan_progress_ratio', _PLAN, 'changes({}[2m])')} == 0) or "
        f"{WAITS} == 1",
        wait="10m",
        summary=f"Partition {PLAN} of {{{{ $labels.fs }}}} does not advance on {CLUSTER}",
        description=f"{FS}: {PLAN} is under way, but for 10 minutes it has waited for the file system to "
        "recover, or no step of it has ended. 'ceph mds_partitioner partition status {{ $labels.fs }} "
        "{{ $labels.plan }}' says why.",
    ),
    Alert(
        name="CephFilesystemPartitionPlanRolledBack",
        expr=f"{lately('plan_state', _PLAN, _ROLLED_BACK)} == 1 and on ({_PLAN}) "
        f"time() - {lately('plan_end_timestamp_seconds', _PLAN)} < 3600",
        wait="1m",
        summary=f"Partition {PLAN} of {{{{ $labels.fs }}}} was rolled back on {CLUSTER}",
        description=f"{FS}: an operator had {PLAN} rolled back within the last hour: the imbalance that it "
        "was made for is likely to be back.",
        severity="info",
    ),
    Alert(
        name="CephFilesystemBalancerPolicyFallback",
        expr=f"{metric('policy_fallback', _RANK, 'max_over_time({}[5m])')} > 0",
        wait="0m",
        summary=f"MDS {RANK} of {{{{ $labels.fs }}}} left the balancer policy on {CLUSTER}",
        description=f"{FS}: {RANK} could not run the policy that mds_partitioner installed and used the "
        "built-in balancer in its place: the two move subtrees back and forth.",
    ),
    Alert(
        name="CephFilesystemPartitionerDown",
        expr=f"{metric('active', 'cluster')} == 0 or "
        f'(max by (cluster) (up{{job="mds_partitioner"}}) == 0 unless on (cluster) {ENABLED} == 0) or '
        f"({ENABLED} > 0 unless on (cluster) {metric('active', 'cluster')}) or "
        f"({metric('active', 'cluster')} == 1 unless on (cluster) "
        f"{metric('epoch_end_timestamp_seconds', 'cluster')}) or {OLD}",
        wait="5m",
        summary=f"The mds_partitioner module does not work on {CLUSTER}",
        description="No manager has answered for mds_partitioner with fresh numbers for 5 minutes: imbalance "
        "goes unnoticed, and plans do not advance.",
    ),
    Alert(
        name=ENGINE_DOWN,
        expr=f"{lately('engine_up', 'cluster')} == 0 "
        f"{of_one_long_epoch('engine_failed_epochs', 'cluster', ENGINE_DOWN)}",
        wait="5m",
        summary=f"The engine of mds_partitioner does not work on {CLUSTER}",
        description="The numeric process of mds_partitioner has not answered for 5 minutes, nor in two "
        "epochs where these are long: nothing is judged, and no plan can be made. 'ceph health detail' has "
        "its last words.",
    ),
    Alert(
        name=UNJUDGED,
        expr=f"{JUDGED_BY_NONE} > 0 "
        f"unless on (cluster) {ENGINE_DEAD} "
        f"{of_one_long_epoch('unjudged_epochs', _FS, UNJUDGED)}",
        wait="5m",
        summary=f"mds_partitioner does not judge {{{{ $labels.fs }}}} on {CLUSTER}",
        description=f"{FS} has not been judged for 5 minutes, nor in two epochs where these are long: an "
        "imbalance of it goes unnoticed. 'ceph mds_partitioner imbalance {{ $labels.fs }}' says why.",
    ),
    Alert(
        name="CephFilesystemPartitionJournalUnreadable",
        expr=raised("JOURNAL"),
        wait="5m",
        summary=f"A record of mds_partitioner cannot be read on {CLUSTER}",
        description="A plan, or the record of a policy or a scheduler, cannot be read. What it set stays as "
        "it is, and nobody undoes it. 'ceph health detail' names it, and says why.",
    ),
    Alert(
        name="CephFilesystemSchedulerStuck",
        expr=raised("SCHEDULER_STUCK"),
        wait="5m",
        summary=f"The scheduler of mds_partitioner cannot even the load of MDS ranks on {CLUSTER}",
        description="A file system has been uneven for long, and there is nothing that the scheduler could "
        "move, or the scheduler fails. 'ceph health detail' says of which, why, and what it leaves alone.",
    ),
    Alert(
        name="CephFilesystemSchedulerMisjudges",
        expr=raised("SCHEDULER_MISJUDGES"),
        wait="5m",
        summary=f"What the scheduler of mds_partitioner moved has not helped on {CLUSTER}",
        description="The scheduler's decisions of the last hour were to relieve full MDS ranks and, taken "
        "together, did not: it moves directories for nothing. 'ceph health detail' says where.",
    ),
)

HEADER = "# Made by `python3 -m monitoring` from monitoring/alerts.py: edit that.\n"


def rules() -> str:
    """The text of prometheus_alerts.yml."""
    group = {"groups": [{"name": GROUP, "rules": [alert.rule() for alert in ALERTS]}]}
    return HEADER + str(yaml.safe_dump(group, sort_keys=False, width=1000))
