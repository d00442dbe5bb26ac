# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Grafana dashboards, made with Grafana's own Foundation SDK.

Templated by data source, cluster and file system, as ceph-mixin's. Every query aggregates over instances, so
that a fail-over of the managers does not double a line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from grafana_foundation_sdk.builders import (
    bargauge,
    dashboard,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.builders.common import (
    ReduceDataOptions,
    VizLegendOptions,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    VariableHide,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

TAGS = ["ceph-mixin", "cephfs", "mds_partitioner"]
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
WHERE = 'cluster=~"$cluster", fs=~"$fs"'
RANK = "cluster, fs, rank, ceph_daemon"
WIDTH = 24  # columns of Grafana's grid
GREEN, YELLOW, RED = "green", "yellow", "red"


@dataclass(frozen=True)
class Query:
    """PromQL and how its series are called."""

    expr: str
    legend: str = ""
    table: bool = False


def of(name: str, by: str = "cluster, fs", matching: str = "") -> str:
    """A metric of ours for the chosen file system, one series for each value of ``by``."""
    return f"max by ({by}) (ceph_mds_partitioner_{name}{{{WHERE}{matching}}})"


def rate_of(name: str) -> str:
    """How fast a rank's counter grows, a second."""
    return f"max by ({RANK}) (rate(ceph_mds_partitioner_{name}{{{WHERE}}}[$__rate_interval]))"


def mean_of(name: str) -> str:
    """The mean duration of what the module does, s."""
    base = f"ceph_mds_partitioner_{name}_duration_seconds"
    matching = '{cluster=~"$cluster"}[$__rate_interval]'
    return f"sum by (cluster) (rate({base}_sum{matching})) / sum by (cluster) (rate({base}_count{matching}))"


def _targets(panel: Any, queries: Sequence[Query]) -> Any:
    for i, query in enumerate(queries):
        target = prometheus.Dataquery().expr(query.expr).ref_id(chr(ord("A") + i)).datasource(SOURCE)
        if query.table:
            target = target.format(PromQueryFormat.TABLE).instant()
        else:
            target = target.range().legend_format(query.legend)
        panel = panel.with_target(target)
    return panel.datasource(SOURCE)


def _steps(*steps: tuple[float | None, str]) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=colour) for value, colour in steps])
    )


PLAIN = _steps((None, GREEN))


def lines(title: str, about: str, unit: str, *queries: Query, width: int = 12, low: float | None = 0) -> Any:
    """A chart over time. low: where its axis begins; None: where the values do"""
    legend = (
        VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs([])
    )
    panel = timeseries.Panel().title(title).description(about).unit(unit).legend(legend)
    if low is not None:
        panel = panel.min(low)
    return _targets(panel.span(width).height(8).thresholds(PLAIN), queries)


def figure(title: str, about: str, unit: str, expr: str, steps: dashboard.ThresholdsConfig = PLAIN) -> Any:
    """One number."""
    reduce = ReduceDataOptions().calcs(["lastNotNull"])
    panel = stat.Panel().title(title).description(about).unit(unit).reduce_options(reduce).thresholds(steps)
    return _targets(panel.span(4).height(4), [Query(expr, title)])


def cells(title: str, about: str, query: Query, *transformations: DataTransformerConfig, width: int) -> Any:
    """A table whose numbers are coloured by their size."""
    panel = table.Panel().title(title).description(about).span(width).height(8).unit("short").decimals(0)
    panel = panel.show_header(True)
    steps = _steps((None, "transparent"), (1, "light-yellow"), (100, "light-orange"), (500, "light-red"))
    panel = panel.thresholds(steps)
    for transformation in transformations:
        panel = panel.with_transformation(transformation)
    return _targets(panel, [query])


def _organize(hidden: Iterable[str], names: dict[str, str]) -> DataTransformerConfig:
    return DataTransformerConfig(
        id_val="organize",
        options={"excludeByName": dict.fromkeys(hidden, True), "indexByName": {}, "renameByName": names},
    )


MATRIX = DataTransformerConfig(
    id_val="groupingToMatrix",
    options={
        "columnField": "target_rank",
        "rowField": "source_rank",
        "valueField": "Value",
        "emptyValue": "null",
    },
)


def matrix() -> Any:
    """Who should give how much to whom."""
    query = Query(of("move_requests_per_second", "source_rank, target_rank"), table=True)
    panel = cells(
        "Exporters (rows) and importers (columns)",
        "Requests a second that Lunule's Algorithm 1 would move between two ranks now",
        query,
        MATRIX,
        width=12,
    )
    return panel.override_by_regexp(
        "^[0-9]+$",
        [
            DynamicConfigValue(
                id_val="custom.cellOptions", value={"type": "color-background", "mode": "basic"}
            )
        ],
    )


def _variables(board: dashboard.Dashboard) -> dashboard.Dashboard:
    def query(name: str, text: str) -> dashboard.QueryVariable:
        variable = dashboard.QueryVariable(name).label(name).query(text).datasource(SOURCE)
        variable = variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_ASC)
        return variable.hide(VariableHide.DONT_HIDE)

    source = dashboard.DatasourceVariable("datasource").label("Data Source").type("prometheus")
    return (
        board.with_variable(source)
        .with_variable(query("cluster", "label_values(ceph_mds_partitioner_active, cluster)"))
        .with_variable(
            query("fs", 'label_values(ceph_mds_partitioner_active_ranks{cluster=~"$cluster"}, fs)')
        )
    )


def _board(uid: str, title: str, about: str, rows: Sequence[tuple[str, Sequence[Any]]]) -> Any:
    board = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(about)
        .tags(TAGS)
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .readonly()
    )
    board = _variables(board)
    ids = count(1)
    for name, panels in rows:
        board = board.with_row(dashboard.Row(name).id(next(ids)))
        for panel in panels:
            board = board.with_panel(panel.id(next(ids)))
    return board.build()


FACTOR_STEPS = _steps((None, GREEN), (0.075, YELLOW), (0.3, RED))
NOW = (
    figure(
        "Imbalance factor",
        "0 is even or idle, 1 is worst (Lunule, SC '21); no data while the capacity of a rank is not known"
        "; yellow above 0.075, which is imbalance_threshold's default",
        "none",
        of("imbalance_factor_ratio"),
        FACTOR_STEPS,
    ),
    figure(
        "Urgency", "How much an imbalance hurts: 0.5 at half a rank's capacity", "none", of("urgency_ratio")
    ),
    figure(
        "Load",
        "Client requests that all ranks served",
        "reqps",
        f"sum({of('rank_load_requests_per_second', RANK)})",
    ),
    figure(
        "Capacity of a rank",
        "As configured or learned; no data while it is not known",
        "reqps",
        of("rank_capacity_requests_per_second"),
    ),
    figure("Active ranks", "Ranks that hold a part of the tree", "none", of("active_ranks")),
    figure("Recommended ranks", "From the newest analysis", "none", of("recommended_ranks")),
)
BALANCE = (
    lines(
        "Imbalance factor, threshold and alert",
        "The alert line is 1 while the imbalance alert is pending or firing: the points that triggered it",
        "none",
        Query(of("imbalance_factor_ratio"), "imbalance factor"),
        Query(of("imbalance_threshold_ratio"), "threshold"),
        Query(
            'max by (alertstate) (ALERTS{alertname="CephFilesystemMetadataImbalance", ' + WHERE + "}) "
            "or label_replace(0 * " + of("imbalance_factor_ratio") + ', "alertstate", "no alert", "", "")',
            "{{alertstate}}",
        ),
    ),
    lines(
        "Uneven epochs in a row",
        "MDS_PARTITIONER_IMBALANCE is raised at the module's option imbalance_epochs",
        "none",
        Query(of("imbalanced_epochs"), "epochs"),
    ),
    lines(
        "Load a rank",
        "Client requests that a rank served, and the most that one can",
        "reqps",
        Query(of("rank_load_requests_per_second", RANK), "rank {{rank}} {{ceph_daemon}}"),
        Query(of("rank_capacity_requests_per_second"), "capacity"),
    ),
    lines(
        "Forecast a rank",
        "Client requests expected in the next epoch",
        "reqps",
        Query(of("rank_forecast_requests_per_second", RANK), "rank {{rank}} {{ceph_daemon}}"),
        Query(of("rank_capacity_requests_per_second"), "capacity"),
    ),
    lines(
        "Latency a rank",
        "Mean reply latency",
        "s",
        Query(of("rank_latency_seconds", RANK), "rank {{rank}} {{ceph_daemon}}"),
    ),
    lines(
        "Utilisation a rank",
        "Load over capacity",
        "percentunit",
        Query(
            f"{of('rank_load_requests_per_second', RANK)} / on (cluster, fs) group_left () "
            f"{of('rank_capacity_requests_per_second')}",
            "rank {{rank}} {{ceph_daemon}}",
        ),
    ),
)


def who_moves() -> Sequence[Any]:
    """The matrix, and where the ranks run."""
    hosts = Query(
        f"{of('rank_load_requests_per_second', RANK)} * on (cluster, ceph_daemon) group_left (hostname) "
        'max by (cluster, ceph_daemon, hostname) (ceph_mds_metadata{cluster=~"$cluster"})',
        table=True,
    )
    about = "Joined with ceph_mds_metadata of Ceph's own prometheus module"
    shown = _organize(["Time", "cluster", "fs"], {"ceph_daemon": "daemon", "Value": "req/s"})
    return matrix(), cells("Ranks and their hosts", about, hosts, shown, width=12)


def roles() -> Any:
    """Exporter or importer, over time."""
    panel = statetimeline.Panel().title("Ranks that should give (1) or take (-1)").span(WIDTH).height(6)
    panel = panel.merge_values(True)
    role = 'max by (rank) (ceph_mds_partitioner_rank_role{{{where}, role="{role}"}})'
    give, take = (role.format(where=WHERE, role=name) for name in ("exporter", "importer"))
    about = "Roles that Lunule's Algorithm 1 gives the ranks"
    steps = _steps((None, "blue"), (0, "transparent"), (1, "orange"))
    return _targets(
        panel.description(about).thresholds(steps), [Query(f"{give} - on (rank) {take}", "rank {{rank}}")]
    )


def subvolumes() -> Sequence[Any]:
    """The heaviest."""
    reduce = ReduceDataOptions().calcs(["lastNotNull"])
    bars = bargauge.Panel().title("Workload of the heaviest subvolumes").span(12).height(10)
    bars = bars.description("LINE's points, from the newest analysis; all subvolumes together have 500")
    bars = bars.reduce_options(reduce).thresholds(_steps((None, GREEN), (100, YELLOW))).unit("none")
    points = of("subvolume_workload_points", "cluster, fs, subvolume")
    return (
        _targets(bars, [Query(f"sort_desc({points})", "{{subvolume}}")]),
        lines(
            "Requests of the heaviest subvolumes",
            "In the newest analysis",
            "reqps",
            Query(of("subvolume_requests_per_second", "cluster, fs, subvolume"), "{{subvolume}}"),
            width=6,
        ),
        lines(
            "Working set of the heaviest subvolumes",
            "Inodes, in the newest analysis",
            "short",
            Query(of("subvolume_working_set_inodes", "cluster, fs, subvolume"), "{{subvolume}}"),
            width=6,
        ),
    )


def balance() -> Any:
    """How even is it, and who is to blame?"""
    return _board(
        "ceph-mds-partitioner-balance",
        "CephFS metadata balance",
        "How evenly the metadata load of a file system lies on its active MDS ranks",
        (
            ("Now", NOW),
            ("Balance", BALANCE),
            ("Who should move what", (*who_moves(), roles())),
            ("Subvolumes", subvolumes()),
        ),
    )


PLAN = "cluster, fs, plan"
EXECUTION = (
    lines(
        "Progress",
        "Part of the plan's steps that have ended",
        "percentunit",
        Query(of("plan_progress_ratio", PLAN), "{{plan}}"),
    ),
    lines(
        "State",
        "1 for the state that the plan is in",
        "none",
        Query(of("plan_state", "state") + " == 1", "{{state}}"),
        Query(of("plan_waiting", PLAN), "waits for the file system"),
    ),
)
COST = (
    lines(
        "Inodes given away",
        "Migration cost: inodes whose authority a rank exported, a second",
        "short",
        Query(rate_of("rank_exported_inodes_total"), "rank {{rank}} {{ceph_daemon}}"),
    ),
    lines(
        "Inodes taken over",
        "Migration cost: inodes whose authority a rank imported, a second",
        "short",
        Query(rate_of("rank_imported_inodes_total"), "rank {{rank}} {{ceph_daemon}}"),
    ),
    lines(
        "Inodes moved and expected to move",
        "Exported by all ranks within as long a time as is shown, and the plan's estimate",
        "short",
        Query(
            # Of all managers together: each has told but a part of the time.
            f"sum by (cluster, fs) (increase(({of('rank_exported_inodes_total', RANK)})"
            "[$__range:$__interval]))",
            "exported",
        ),
        Query(of("plan_inodes", PLAN), "{{plan}}, estimate"),
    ),
    lines(
        "Load during the migration",
        "Client requests that all ranks served",
        "reqps",
        Query(f"sum by (cluster, fs) ({of('rank_load_requests_per_second', RANK)})", "all ranks"),
    ),
)


def _counted(name: str) -> str:
    """A counter of a file system, by how much it rose between two points."""
    return f"max by (cluster, fs) (increase(ceph_mds_partitioner_{name}{{{WHERE}}}[$__rate_interval]))"


SCHEDULER = (
    lines(
        "Gain of the scheduler's decisions",
        "Requests a second that the fullest rank was to be relieved of in the last hour, and was",
        "reqps",
        Query(of("scheduler_predicted_gain_requests_per_second"), "predicted"),
        Query(of("scheduler_real_gain_requests_per_second"), "real"),
        low=None,  # it is below 0 where moves made it worse
    ),
    lines(
        "Moves of the scheduler",
        "Its decisions; directories that it gives to another rank, has under way, or would give in advise",
        "short",
        Query(_counted("scheduler_decisions_total"), "decisions"),
        Query(_counted("scheduler_moves_total"), "arrived"),
        Query(of("scheduler_moves_under_way"), "under way"),
        Query(of("scheduler_moves_advised"), "advised"),
    ),
    lines(
        "Mode of the scheduler",
        "1 for the mode that it is in; and for how long it has found nothing to do though it is uneven",
        "none",
        Query(of("scheduler_mode", "mode") + " == 1", "{{mode}}"),
        Query(of("scheduler_stuck_seconds"), "stuck, s"),
    ),
    lines(
        "Hot spots",
        "Directories with more than half of a rank's share of all requests, by kind",
        "short",
        Query(of("hot_spots", "kind"), "{{kind}}"),
    ),
)
CLUSTER = '{cluster=~"$cluster"}'
MODULE = (
    lines(
        "Duration of an epoch and of a judgement",
        "Mean time that observing and judging take, and the engine's part of it",
        "s",
        Query(mean_of("epoch"), "epoch"),
        Query(mean_of("engine"), "engine"),
    ),
    lines(
        "Errors",
        "What failed and was tried again, a second",
        "short",
        Query(
            f"sum by (stage) (rate(ceph_mds_partitioner_errors_total{CLUSTER}[$__rate_interval]))",
            "{{stage}}",
        ),
    ),
    lines(
        "Signs of life",
        "1 while a manager is active and its engine answers",
        "none",
        Query(f"max by (cluster) (ceph_mds_partitioner_active{CLUSTER})", "active"),
        Query(f"max by (cluster) (ceph_mds_partitioner_engine_up{CLUSTER})", "engine"),
    ),
    lines(
        "Age of the numbers",
        "Time since the last epoch ended",
        "s",
        Query(
            f"time() - max by (cluster) (ceph_mds_partitioner_epoch_end_timestamp_seconds{CLUSTER})", "age"
        ),
    ),
)


def migration() -> Any:
    """What is being done about it, and at what cost?"""
    return _board(
        "ceph-mds-partitioner-migration",
        "CephFS metadata migration",
        "The newest partition plan, the scheduler, what moving subtrees costs, and the module itself",
        (("Plan", EXECUTION), ("Scheduler", SCHEDULER), ("Migration cost", COST), ("Module", MODULE)),
    )


def dashboards() -> dict[str, str]:
    """JSON by file name."""
    made = {"cephfs-metadata-balance.json": balance(), "cephfs-metadata-migration.json": migration()}
    return {name: JSONEncoder(sort_keys=True, indent=2).encode(board) + "\n" for name, board in made.items()}
