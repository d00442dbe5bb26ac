# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``partition plan`` and ``partition status`` show."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..act.journal import (
    APPLIED,
    KEPT,
    PAUSED,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    SKIPPED,
    UNDOING,
    UNDONE,
    Run,
)
from ..plan.plan import Plan
from ..plan.ranks import format_ranks, ranks_mask
from .text import count, printable, table

COLUMNS = (
    *("Name", "wss", "reqs", "rentries", "workload", "Current Ranks", "New Ranks"),
    *("Migration Progress", "Migration Status"),
)
LEFT = ("Name", "Current Ranks", "New Ranks", "Migration Status", "Reason", "Class")


def plan_value(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, with the commands it stands for."""
    value = asdict(plan)
    value["commands"] = [step.command(plan.fs) for step in plan.steps]
    value["heavy_mask"] = ranks_mask(plan.heavy_ranks) if plan.heavy_ranks else None
    return value


def plan_text(plan: Plan) -> str:
    """For people: every subvolume, the commands, the prediction."""
    rows = [
        (
            r.name,
            count(r.wss),
            count(r.reqs),
            count(r.rentries),
            count(r.workload),
            r.klass,
            format_ranks(r.current),
            format_ranks(r.new),
            r.reason,
        )
        for r in sorted(plan.rows, key=lambda r: -r.workload)
    ]
    columns = (
        *("Name", "wss", "reqs", "rentries", "workload", "Class", "Current Ranks", "New Ranks", "Reason"),
    )
    commands = [f"  {step.command(plan.fs)}" for step in plan.steps]
    listed = "\n".join(["commands:", *commands]) if commands else "nothing to change"
    return "\n\n".join(
        [f"plan '{plan.name}' for '{plan.fs}'", table(columns, rows, LEFT), listed, prediction_text(plan)]
    )


def prediction_text(plan: Plan) -> str:
    """Before and after."""
    p = plan.prediction
    lines = [
        f"predicted imbalance factor: {p.imbalance_before:.3f} -> {p.imbalance_after:.3f}",
        f"fullest rank by workload: {p.fullest_rank_before} with {p.fullest_before:.0f} -> "
        f"{p.fullest_rank_after} with {p.fullest_after:.0f} (no plan can get below {p.lower_bound:.0f})",
        f"inodes to move: {count(p.inodes_to_move)}",
    ]
    if plan.heavy_ranks:
        ranks = format_ranks(plan.heavy_ranks)
        lines.append(
            f"heavy subvolumes: ranks {ranks} ({ranks_mask(plan.heavy_ranks)}), mode {plan.heavy_mode}"
        )
    lines.append(f"estimates: {plan.estimate}")
    return "\n".join(lines)


def run_value(run: Run, current: Mapping[int, Sequence[int]]) -> dict[str, Any]:
    """A plan's execution as plain data; ``current``: ranks by row, re-read."""
    return {
        "plan": run.plan.name,
        "fs": run.plan.fs,
        **asdict(run.head),
        "progress": progress(run),
        "subvolumes": [
            {
                "name": row.name,
                "path": row.path,
                "wss": round(row.wss),
                "reqs": round(row.reqs, 2),
                "rentries": row.rentries,
                "workload": round(row.workload, 2),
                "current_ranks": list(current.get(i, row.current)),
                "new_ranks": list(row.new),
                "progress": row_progress(run, i),
                "status": row_status(run, i),
                "reason": row.reason,
            }
            for i, row in enumerate(run.plan.rows)
        ],
        "steps": [
            {
                "command": step.command(run.plan.fs),
                **(asdict(run.records[i]) if i in run.records else {"state": "ready"}),
            }
            for i, step in enumerate(run.plan.steps)
        ],
        "prediction": asdict(run.plan.prediction),
    }


def run_text(run: Run, current: Mapping[int, Sequence[int]]) -> str:
    """LINE's table, with a total, and what went wrong."""
    order = sorted(range(len(run.plan.rows)), key=lambda i: -run.plan.rows[i].workload)
    rows: list[tuple[Any, ...]] = []
    for i in order:
        row = run.plan.rows[i]
        rows.append(
            (
                row.name,
                count(row.wss),
                count(row.reqs),
                count(row.rentries),
                count(row.workload),
                format_ranks(current.get(i, row.current)),
                format_ranks(row.new),
                f"{row_progress(run, i):.0%}",
                row_status(run, i),
            )
        )
    total = [sum(getattr(r, name) for r in run.plan.rows) for name in ("wss", "reqs", "rentries", "workload")]
    rows.append(("Total", *map(count, total), "", "", f"{progress(run):.0%}", ""))
    head = f"plan '{run.plan.name}' on '{run.plan.fs}': {run.head.state}"
    if run.head.why:
        head += f": {run.head.why}"
    problems = [
        f"{run.plan.steps[i].command(run.plan.fs)}: {r.state}: {printable(r.why)}"
        for i, r in sorted(run.records.items())
        if r.why
    ]
    return "\n\n".join([head, table(COLUMNS, rows, LEFT), *(["\n".join(problems)] if problems else [])])


FORWARD, BACKWARD = (APPLIED, SKIPPED), (UNDONE, KEPT)


def _goals(run: Run) -> tuple[str, ...]:
    """The states of a step that has nothing left to do, in the direction that the plan goes."""
    paused_back = run.head.state == PAUSED and run.head.resume_to == ROLLING_BACK
    back = paused_back or run.head.state in (ROLLING_BACK, ROLLED_BACK)
    return (*BACKWARD, SKIPPED) if back else FORWARD


def progress(run: Run) -> float:
    """Part of the steps that have ended, 0 to 1; while rolling back, of those that were made."""
    goals = _goals(run)
    total = len(run.records) if goals != FORWARD else len(run.plan.steps)
    return sum(r.state in goals for r in run.records.values()) / total if total else 1.0


def _records(run: Run, row: int) -> list[str]:
    return [
        run.records[i].state if i in run.records else "ready"
        for i, step in enumerate(run.plan.steps)
        if step.row == row
    ]


def row_progress(run: Run, row: int) -> float:
    """Part of a row's steps that have ended; 1 when it has none."""
    states = _records(run, row)
    return sum(s in _goals(run) for s in states) / len(states) if states else 1.0


def row_status(run: Run, row: int) -> str:
    """Ready, In-progress, Done, ... as in LINE's table; for a row that is left alone, why."""
    states = set(_records(run, row))
    if not states:
        return run.plan.rows[row].reason if run.plan.rows[row].reason != "heavy" else "Balanced by mask"
    if states == {"ready"}:
        return "Ready" if run.head.state != READY else "Planned"
    if states <= {APPLIED}:
        return "Done"
    if states <= {UNDONE, SKIPPED} and UNDONE in states:
        return "Rolled back"
    if states <= {UNDONE, KEPT, SKIPPED} and KEPT in states:
        return "Kept" if UNDONE not in states else "Kept in part"
    if run.head.state == ROLLING_BACK or UNDOING in states or UNDONE in states:
        return "Rolling back"
    if states <= {APPLIED, SKIPPED}:
        return "Skipped" if states == {SKIPPED} else "Done in part"
    return "In-progress"
