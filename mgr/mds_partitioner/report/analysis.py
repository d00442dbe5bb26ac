# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``analyze status`` and ``imbalance`` show."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..judge.analysis import Analysis
from ..judge.judgement import Judged, Judgement, RankJudgement
from ..plan.planner import estimate
from .text import and_more, count, cut, ranks_cell, table, topmost


def analysis_value(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain data."""
    value: dict[str, Any] = {
        "fs": analysis.fs,
        "state": analysis.state,
        "progress": round(analysis.progress(), 3),
        "epochs": analysis.epochs,
        "duration": analysis.duration,
        "problem": analysis.problem,
    }
    if analysis.judgement is not None:
        value["result"] = judgement_value(analysis.judgement)
    return value


def judgement_value(judgement: Judgement) -> dict[str, Any]:
    """A judgement as plain data, subvolumes by workload."""
    value = asdict(judgement)
    ordered = sorted(judgement.directories, key=lambda d: -d.workload)
    value["directories"] = [
        {
            "name": d.seen.directory.name,
            "path": d.seen.directory.path,
            "wss": round(d.seen.wss),
            "wss_counted": d.seen.counted,
            "reqs": round(d.seen.requests, 2),
            "rentries": d.seen.rentries,
            "workload": round(d.workload, 2),
            "class": d.klass,
            "ranks": list(d.seen.ranks),
            "pin": d.seen.pin,
            "sessions": d.seen.sessions,
            "by_heat": d.seen.shared,
        }
        for d in ordered
    ]
    value["estimate"] = estimate(judgement.directories)
    return value


def analysis_text(analysis: Analysis, top: int) -> str:
    """For people; ``top`` subvolumes (0: all)."""
    head = (
        f"analysis of '{analysis.fs}': {analysis.state}, {analysis.progress():.0%} of "
        f"{analysis.duration} s, {analysis.epochs} epochs"
    )
    if analysis.problem:
        head += f"\nlast epoch failed: {analysis.problem}"
    if analysis.judgement is None:
        return head
    return f"{head}\n\n{judgement_text(analysis.judgement, top)}"


def judgement_text(judgement: Judgement, top: int) -> str:
    """Subvolumes by workload, ranks, imbalance, and the recommended number of MDSs."""
    return "\n\n".join(
        [
            directory_table(judgement.fs, judgement.directories, top),
            rank_table(judgement.ranks),
            imbalance_line(judgement),
            _advice(judgement),
        ]
    )


def directory_table(fs: str, directories: Sequence[Judged], top: int) -> str:
    """The ``top`` subvolumes by workload (0: all)."""
    if not directories:
        return f"no subvolumes: use 'ceph mds_partitioner analyze start {fs} --directories PATH'"
    ordered = sorted(directories, key=lambda d: -d.workload)
    rows = [
        (
            cut(d.seen.directory.name),
            count(d.seen.wss),
            count(d.seen.requests),
            count(d.seen.rentries),
            count(d.workload),
            d.klass,
            ranks_cell(d.seen.ranks),
            "-" if d.seen.pin < 0 else d.seen.pin,
            d.seen.sessions,
        )
        for d in topmost(ordered, top)
    ]
    columns = ("Name", "wss", "reqs", "rentries", "workload", "Class", "Ranks", "Pin", "Sessions")
    kinds = ["with requests" if d.seen.requests else "without requests" for d in ordered]
    return table(columns, rows, ("Name", "Class", "Ranks")) + and_more(kinds[len(rows) :])


def rank_table(ranks: tuple[RankJudgement, ...]) -> str:
    """One row a rank; loads in req/s."""
    rows = [
        (
            r.rank,
            count(r.load),
            count(r.forecast),
            f"{r.latency * 1000:.1f} ms",
            "-" if r.queue is None else r.queue,
            count(r.inodes),
            count(r.caps),
            r.sessions,
            r.subtrees,
            "yes" if r.saturated else "no",
        )
        for r in ranks
    ]
    columns = (
        *("Rank", "reqs/s", "Forecast", "Latency", "Queue", "Inodes", "Caps", "Sessions", "Subtrees"),
        "Saturated",
    )
    return table(columns, rows, left=())


def imbalance_line(judgement: Judgement) -> str:
    """IF and what it is made of."""
    verdict = "uneven enough to act" if judgement.triggered else "no need to act"
    return (
        f"imbalance factor {judgement.imbalance_factor:.3f} (CoV {judgement.cov:.2f}, "
        f"urgency {judgement.urgency:.2f}): {verdict}\n"
        f"capacity of a rank: {judgement.capacity:.0f} req/s ({judgement.capacity_source})"
    )


def _advice(judgement: Judgement) -> str:
    lines = [
        f"recommended number of active MDSs: {judgement.recommended} ({judgement.recommended_reason})",
        f"estimates: {estimate(judgement.directories)}",
    ]
    if judgement.unread:
        lines.append(f"{judgement.unread} directories were not read in time: analyze for longer")
    if judgement.missing:
        lines.append(f"{judgement.missing} times a rank did not list its sessions in time")
    return "\n".join(lines)
