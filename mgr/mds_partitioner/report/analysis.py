# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``analyze status`` shows."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .. import clock
from ..clock import Now
from ..judge.analysis import Analysis
from ..judge.insides import Insides
from ..judge.judgement import Caveats, DirectoryJudgement, Judgement, RankJudgement
from ..plan.anew import suggested
from ..plan.caveats import of_elastic
from ..plan.planner import estimate
from .imbalance import verdict_text, verdict_value
from .text import and_more, count, cut, ranks_cell, table, topmost


def analysis_value(analysis: Analysis, now: float) -> dict[str, Any]:
    """The analysis as plain data. ``now``: monotonic, s."""
    value: dict[str, Any] = {
        "fs": analysis.fs,
        "state": analysis.state,
        "progress": round(analysis.progress(now), 3),
        "epochs": analysis.epochs,
        "duration": analysis.duration,
        "problem": analysis.problem,
        "note": analysis.note,
        "ended": analysis.ended,
        "result": None if analysis.judgement is None else judgement_value(analysis.judgement),
    }
    return value


def judgement_value(judgement: Judgement) -> dict[str, Any]:
    """A judgement as plain data, subvolumes by workload."""
    ordered = sorted(judgement.directories, key=lambda d: -d.workload)
    value: dict[str, Any] = {
        **verdict_value(judgement.verdict),
        "fs": judgement.fs,
        "ranks": [{**asdict(rank), "latency": rank.waited} for rank in judgement.ranks],
        "recommended": judgement.recommended,
        "recommended_reason": judgement.recommended_reason,
        "cache_limit": judgement.cache_limit,
        "caveats": asdict(judgement.caveats),
    }
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
            "held_back": round(d.seen.held_back, 2),
            "inside": None if d.seen.inside is None else _inside(d.seen.inside),
        }
        for d in ordered
    ]
    value["estimate"] = estimate(judgement.directories)
    return value


def _inside(of: Insides) -> dict[str, Any]:
    """What a busy directory could be divided into, the busiest first."""
    return {
        "stay": round(of.stay, 2),
        "directories": [{"path": part.path, "reqs": round(part.requests, 2)} for part in of.parts],
        "others": round(of.rest, 2),
    }


def analysis_text(analysis: Analysis, now: Now, top: int) -> str:
    """For people; ``top`` subvolumes (0: all)."""
    head = (
        f"analysis of '{analysis.fs}': {analysis.state}, {analysis.progress(now.steady):.0%} of "
        f"{analysis.duration} s, {analysis.epochs} epochs"
    )
    if analysis.ended is not None:
        head += f"\nended {clock.told(analysis.ended)} ({clock.lasting(now.wall - analysis.ended)} ago)"
    if analysis.note:
        head += f"\n{analysis.note}"
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
            verdict_text(judgement.verdict),
            _advice(judgement),
        ]
    )


def nothing_found(fs: str) -> str:
    """What is said of a file system without subvolumes, and without directories below its root."""
    command = f"ceph mds_partitioner analyze start {fs} --directories PATH"
    return f"no subvolumes, nor directories right below the root, or too many: use '{command}'"


def directory_table(fs: str, directories: Sequence[DirectoryJudgement], top: int) -> str:
    """The ``top`` subvolumes by workload (0: all)."""
    if not directories:
        return nothing_found(fs)
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
            "-" if r.waited is None else f"{r.waited * 1000:.1f} ms",
            count(r.inodes),
            count(r.caps),
            r.sessions,
            r.subtrees,
            "yes" if r.saturated else "no",
        )
        for r in ranks
    ]
    columns = (
        *("Rank", "reqs/s", "Forecast", "Latency", "Inodes", "Caps", "Sessions", "Subtrees"),
        "Saturated",
    )
    return table(columns, rows, left=())


def _advice(judgement: Judgement) -> str:
    number = "unknown" if judgement.recommended is None else judgement.recommended
    lines = [
        f"recommended number of active MDSs: {number} ({judgement.recommended_reason})",
        f"estimates: {estimate(judgement.directories)}",
        *_caveats(judgement.caveats),
        *of_elastic(judgement.directories),
    ]
    return "\n".join([*lines, f"'{suggested(judgement.fs)}' makes a plan of it"])


def _caveats(caveats: Caveats) -> list[str]:
    lines = []
    if caveats.unread:
        lines.append(
            f"{caveats.unread} directories with {caveats.unread_load:.0%} of the requests were not read in "
            "time: analyze for longer"
        )
    if caveats.much_elsewhere:
        lines.append(
            f"{caveats.elsewhere:.0%} of the requests are beside or above these directories: 'analyze start' "
            "looks at others with --directories PATH"
        )
    lines += caveats.of_the_unlisted + caveats.of_the_ranks + caveats.of_the_unmapped
    if caveats.missing:
        lines.append(f"{caveats.missing} times a rank did not list its sessions in time")
    if caveats.gone:
        lines.append(f"gone meanwhile, and not judged: {', '.join(cut(path) for path in caveats.gone)}")
    return lines
