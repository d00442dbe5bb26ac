# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fills `report.md.in`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Final

from sim.markdown import table
from sim.papers.line import clusters as production
from sim.papers.line import evaluation, measures
from sim.papers.line.evaluation import Phase
from sim.papers.line.measures import Measure, mean_of
from sim.policies.base import DEFAULTS

PICTURE: Final = "ranks.png"
LINE, BUILTIN, OURS = "LINE", "balancer", "partition"
# By name: a run of each seed, each a list of phases.
Runs = Mapping[str, Sequence[Sequence[Phase]]]
# By number of ranks and policy.
Clusters = Mapping[tuple[int, str], Phase]

_SHOWN: Final[dict[str, Measure]] = {
    "requests/s": measures.throughput,
    "latency, ms": measures.latency,
    "busiest rank": measures.fullest,
    "most cached": measures.most_cached,
    "least cached": measures.least_cached,
    "full caches": measures.ranks_at_limit,
    "fetched/s": measures.fetched,
    "moves": measures.moves,
    "of them late": measures.late_moves,
    "back within 2 min": measures.moved_back,
    "inodes moved": measures.inodes_moved,
}


def text(runs: Runs, clusters: Clusters) -> str:
    """The whole report, Markdown."""
    template = Template(Path(__file__).with_name("report.md.in").read_text())
    in_short = {
        "default": (LINE, 0),
        "static": (LINE, 1),
        "masked": (LINE, 2),
        "always": (BUILTIN, 2),
        "ours": (OURS, 2),
    }
    return template.substitute(
        {
            key: _told(mean_of([run[k] for run in runs[name]], measures.throughput))
            for key, (name, k) in in_short.items()
        },
        assumed=_assumed(),
        seeds=len(runs[LINE]),
        table=_table(runs),
        picture=PICTURE,
        clusters=_clusters(clusters),
        cluster_assumed=_cluster_assumed(),
        claims=_claims([[run[k] for run in runs[LINE]] for k in range(3)]),
    )


def _assumed() -> str:
    return (
        f"{evaluation.CAPACITY:,.0f} req/s a rank; {1000 * evaluation.THINK:g} ms between an answer and "
        f"the next request; {DEFAULTS.bytes_per_inode:,} bytes a cached inode, so that a rank holds "
        f"{evaluation.CACHE / 1e6:.1f} million; phases of {evaluation.PHASE:.0f} s; "
        "everything on rank 0 at first."
    )


def _table(runs: Runs) -> str:
    rows = []
    for name, found in runs.items():
        for phases in zip(*found, strict=True):
            row = [_told(mean_of(list(phases), measure)) for measure in _SHOWN.values()]
            rows.append([f"{name}: {phases[0].name}", *row])
    return table(["", *_SHOWN], rows, left=1)


def _cluster_assumed() -> str:
    return (
        f"rentries are lognormal with a median of {production.MEDIAN:,}; requests are spread alike, and have "
        f"nothing to do with sizes; {production.USED:.0%} of a subvolume's rentries are its working set; "
        f"each subvolume has {production.THREADS} threads that think as long as "
        f"makes all of them ask for {production.BUSY:.0%} of what all ranks can serve; subvolumes are on the "
        f"ranks one after the other; `max_moves` is {production.MOVES}; one seed."
    )


def _clusters(found: Clusters) -> str:
    titles = (
        "",
        "busiest rank over mean, first minute",
        "last two",
        "requests/s",
        "fullest cache over mean",
        "moves",
        "in the last third",
        "inodes moved",
    )
    rows = []
    for (ranks, policy), phase in found.items():
        last = phase.loads.shape[0]
        row = (
            production.busiest(phase, 0, 60),
            production.busiest(phase, last - 120, last),
            measures.throughput(phase),
            production.fullest_cache(phase),
            measures.moves(phase),
            production.moved_late(phase),
            measures.inodes_moved(phase),
        )
        rows.append([f"{ranks} ranks: {production.POLICIES[policy]}", *map(_told, row)])
    return table(titles, rows, left=1)


def _told(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}".rstrip("0").rstrip(".")


def _claims(phases: Sequence[list[Phase]]) -> str:
    """Each sentence with the numbers that bear on it."""
    default, static, masked = phases

    def of(measure: Measure, phase: list[Phase]) -> str:
        return _told(mean_of(phase, measure))

    rows = [
        (
            "Performances of MDSs are fluctuated due to exporting/importing inodes",
            f"deviation of a rank's requests {of(measures.fluctuation, default)} of their mean by default, "
            f"{of(measures.fluctuation, static)} pinned, {of(measures.fluctuation, masked)} masked; "
            f"{of(measures.late_moves, default)} moves in the second half by default",
        ),
        (
            "inodes are unevenly distributed, rank1 keeps inodes more than 4mil",
            f"by default the fullest cache has {of(measures.most_cached, default)}, the emptiest "
            f"{of(measures.least_cached, default)}",
        ),
        (
            "Performance is still not recovered as rank 1 has a lot of inodes (static)",
            f"{of(measures.throughput, static)} requests/s pinned against "
            f"{of(measures.throughput, default)} by default; "
            f"{of(measures.ranks_at_limit, static)} full caches",
        ),
        (
            "subvolumes of heavy workloads are migrated to rank 4~7 (masked)",
            "requests/s of ranks 4 to 7: "
            + ", ".join(of(measures.of_rank(rank), masked) for rank in evaluation.MASKED),
        ),
        (
            "inodes are balanced and dir fetch count decreases and performance increases (masked)",
            f"most cached {of(measures.most_cached, masked)}; fetched {of(measures.fetched, static)} to "
            f"{of(measures.fetched, masked)} inodes/s; {of(measures.throughput, static)} to "
            f"{of(measures.throughput, masked)} requests/s",
        ),
    ]
    return table(("the slides", "here"), rows)
