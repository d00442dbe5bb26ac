# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``partition plan`` and ``partition status`` show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .. import clock
from ..act.run import KEPT, PAUSED, READY, ROLLING_BACK, SKIPPED, STOPPED, Run, paused_by_command, progress
from ..observe.subtrees import SubtreeMap
from ..plan.plan import OF_ALL, Plan, Row
from ..plan.ranks import format_ranks, ranks_mask
from ..plan.shell import word
from .analysis import nothing_found
from .balance import UNREADABLE
from .rows import row_states, step_status
from .text import and_more, count, cut, first, printable, ranks_cell, table, topmost

COLUMNS = (
    *("Name", "wss", "reqs", "rentries", "workload", "Current Ranks", "New Ranks"),
    *("Migration Progress", "Migration Status"),
)
UNKNOWN = ("rentries", "workload")  # of what the scheduler moves: it looks at requests alone
LEFT = ("Name", "Current Ranks", "New Ranks", "Migration Status", "Reason", "Class")


def plan_value(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, with the commands it stands for."""
    value = asdict(plan)
    value["rows"] = [row | _unknown(plan) for row in value["rows"]]
    value["commands"] = [step.command(plan.fs) for step in plan.steps]
    value["heavy_mask"] = ranks_mask(plan.heavy_ranks) if plan.heavy_ranks else None
    return value


def _unknown(plan: Plan) -> dict[str, None]:
    """What its rows have no value for."""
    return dict.fromkeys(UNKNOWN if plan.scheduled else ())


def _counts(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """The cells of some rows together."""
    cells = {name: count(sum(getattr(r, name) for r in rows)) for name in ("wss", "reqs", *UNKNOWN)}
    return list((cells | dict.fromkeys(_unknown(plan), "-")).values())


def _heaviest_first(rows: Sequence[Row]) -> list[Row]:
    """As tables have them."""
    return sorted(rows, key=lambda row: -row.workload)


def plan_text(plan: Plan, top: int) -> str:
    """For people: subvolumes and commands, ``top`` of each (0: all), and the prediction."""
    order = _heaviest_first(plan.rows)
    rows = [
        (
            cut(r.name),
            *_counts(plan, [r]),
            r.klass,
            ranks_cell(r.current),
            ranks_cell(r.new),
            r.reason,
        )
        for r in topmost(order, top)
    ]
    columns = (
        *("Name", "wss", "reqs", "rentries", "workload", "Class", "Current Ranks", "New Ranks", "Reason"),
    )
    shown = table(columns, rows, LEFT) + and_more([r.reason for r in order[len(rows) :]])
    commands = [f"  {step.command(plan.fs)}" for step in plan.steps]
    listed = "\n".join(["commands:", *first(commands, top)]) if commands else "nothing to change"
    return "\n\n".join(
        [
            f"plan '{plan.name}' for '{plan.fs}'",
            *([shown] if rows else _rowless(plan)),
            listed,
            prediction_text(plan),
            *remarks(plan, top),
        ]
    )


def _rowless(plan: Plan) -> list[str]:
    """What is said in place of a table: what the scheduler sets first is of no subvolume."""
    return [] if plan.scheduled else [nothing_found(plan.fs)]


def remarks(plan: Plan, top: int) -> list[str]:
    """One paragraph of what the plan does not know, and why it leaves what alone, if there is any."""
    said = [f"note: {printable(text)}" for text in plan.caveats]
    left = [row for row in _heaviest_first(plan.rows) if row.why]
    said += first([f"{cut(row.name)}: {row.reason}: {printable(row.why)}" for row in left], top)
    return ["\n".join(said)] if said else []


def prediction_text(plan: Plan) -> str:
    """Before and after."""
    p, measure = plan.prediction, "requests" if plan.scheduled else "workload"
    lines = [
        f"predicted imbalance factor: {p.imbalance_before:.3f} -> {p.imbalance_after:.3f}",
        f"fullest rank by {measure}: {p.fullest_rank_before} with {p.fullest_before:.0f} -> "
        f"{p.fullest_rank_after} with {p.fullest_after:.0f} (no plan can get below {p.lower_bound:.0f})",
        f"inodes to move: {count(p.inodes_to_move)}",
    ]
    if plan.heavy_ranks:
        ranks = format_ranks(plan.heavy_ranks)
        lines.append(
            f"heavy subvolumes: ranks {ranks} ({ranks_mask(plan.heavy_ranks)}), mode {plan.heavy_mode}"
        )
    lines.append(f"estimates: {plan.estimate}")
    if plan.analyzed is not None:
        age = clock.lasting(plan.created - plan.analyzed)
        lines.append(f"analysis: ended {clock.told(plan.analyzed)}, {age} before")
    return "\n".join(lines)


def run_value(run: Run, where: SubtreeMap | None) -> dict[str, Any]:
    """A plan's execution as plain data. ``where``: the MDSs' answer of this moment; None: not asked."""
    states = row_states(run)
    return {
        "plan": run.plan.name,
        "fs": run.plan.fs,
        **asdict(run.ordered()),
        **left_out(run),
        "silent_ranks": None if where is None else list(where.silent),
        "progress": progress(run),
        "subvolumes": [
            {
                "name": row.name,
                "path": row.path,
                "wss": round(row.wss),
                "reqs": round(row.reqs, 2),
                "rentries": row.rentries,
                "workload": round(row.workload, 2),
                **_unknown(run.plan),
                "current_ranks": None if where is None else list(_ranks(row, where)),
                "new_ranks": list(row.new),
                "progress": states[i].progress,
                "status": states[i].status,
                "reason": row.reason,
                "why": row.why,
            }
            for i, row in enumerate(run.plan.rows)
        ],
        "steps": [
            {
                "command": step.command(run.plan.fs),
                **(asdict(run.records[i]) if i in run.records else NOT_BEGUN),
                "trouble": run.memory.troubles.get(i, ""),
            }
            for i, step in enumerate(run.plan.steps)
        ],
        "prediction": asdict(run.plan.prediction),
        "caveats": list(run.plan.caveats),
    }


def _ranks(row: Row, where: SubtreeMap) -> tuple[int, ...]:
    """Also of what was renamed since it was planned."""
    return where.ranks(where.path(row.ino, row.path))


NOT_BEGUN = {"state": READY, "old": None, "time": None, "why": ""}


def left_out(run: Run) -> dict[str, int]:
    """How many steps were not made, and how many a rollback left as they are."""
    states = [record.state for record in tuple(run.records.values())]  # the mover may add one meanwhile
    return {"skipped": states.count(SKIPPED), "kept": states.count(KEPT)}


def run_state(run: Run) -> str:
    """The plan's state, and what is missing from it: "done, 3 of 12 steps skipped"."""
    missing = [
        f"{number} of {len(run.plan.steps)} steps {state}"
        for state, number in left_out(run).items()
        if number
    ]
    return ", ".join([run.ordered().state, *missing])


def run_line(run: Run) -> str:
    """A plan's state and progress on one line."""
    head = run.ordered()
    why = f": {printable(head.why)}" if head.why else ""
    if head.state == PAUSED and head.until is not None:
        why += f", until {clock.told(head.until)}"
    line = f"plan '{run.plan.name}' on '{run.plan.fs}': {run_state(run)}, {progress(run):.0%}{why}"
    return f"{line}{_goes_on(run)}"


def _goes_on(run: Run) -> str:
    """What an operator can do about what waits for him; "": it does not."""
    fs, name = word(run.plan.fs), run.plan.name
    if paused_by_command(run.ordered()):
        return f"; 'ceph mds_partitioner partition resume {fs}' has it go on"
    if run.ordered().state != STOPPED:
        return ""
    undo = f"'ceph mds_partitioner partition rollback {fs} {name}' undoes it"
    back = run.heading() == ROLLING_BACK
    return f"; {undo}" if back else f"; 'ceph mds_partitioner partition start {fs} {name}' goes on, {undo}"


def run_text(run: Run, where: SubtreeMap, top: int) -> str:
    """LINE's table of the first ``top`` subvolumes (0: all), with a total, and what went wrong."""
    order = sorted(range(len(run.plan.rows)), key=lambda i: -run.plan.rows[i].workload)
    states = row_states(run)
    rows: list[tuple[Any, ...]] = []
    for i in topmost(order, top):
        row = run.plan.rows[i]
        rows.append(
            (
                cut(row.name),
                *_counts(run.plan, [row]),
                ranks_cell(_ranks(row, where)),
                ranks_cell(row.new),
                f"{states[i].progress:.0%}",
                states[i].status,
            )
        )
    left = [states[i].status for i in order[len(rows) :]]
    rows.append(("Total", *_counts(run.plan, run.plan.rows), "", "", f"{progress(run):.0%}", ""))
    shown = [table(COLUMNS, rows, LEFT) + and_more(left)] if order else _rowless(run.plan)
    settings, problems = _settings(run), _problems(run, where)
    return "\n\n".join(
        [
            run_line(run),
            *shown,
            *(["\n".join(["settings:", *first(settings, top)])] if settings else []),
            *(["\n".join(first(problems, top))] if problems else []),
            *remarks(run.plan, top),
        ]
    )


def _settings(run: Run) -> list[str]:
    """What it sets for the whole file system or cluster, which is in no row, and how far that is."""
    steps = ((i, step) for i, step in enumerate(run.plan.steps) if step.row == OF_ALL)
    return [f"  {step.command(run.plan.fs)}: {step_status(run, i)}" for i, step in steps]


def _problems(run: Run, where: SubtreeMap) -> list[str]:
    """Who did not answer, what is tried again, and what was left out, and why."""
    told = []
    if where.silent:
        ranks = format_ranks(where.silent)
        told.append(f"rank {ranks} did not answer: what it serves is shown on other ranks, or on none")
    again = {i: f"tried again: {why}" for i, why in dict(run.memory.troubles).items()}
    ended = {i: f"{record.state}: {record.why}" for i, record in dict(run.records).items() if record.why}
    for i, why in sorted((ended | again).items()):
        told.append(f"{run.plan.steps[i].command(run.plan.fs)}: {printable(why)}")
    return told


def plans_value(
    runs: Sequence[Run], removed: Sequence[Run], unreadable: Sequence[str]
) -> list[dict[str, Any]]:
    """Plans as plain data, oldest first; then those of file systems that were removed, and those that cannot
    be read, of which the name alone is known."""
    known = [
        {
            "name": run.plan.name,
            "fs": run.plan.fs,
            "state": run.ordered().state,
            "steps": len(run.plan.steps),
            **left_out(run),
            "progress": progress(run),
            "heavy": run.plan.heavy_mode,
            "file_system_removed": run in removed,
        }
        for run in (*runs, *removed)
    ]
    unknown = dict.fromkeys(("fs", "steps", "skipped", "kept", "progress", "heavy", "file_system_removed"))
    return [*known, *({"name": name, "state": UNREADABLE, **unknown} for name in unreadable)]


def removed_state(run: Run) -> str:
    """The state of a plan whose file system was removed, or another one has its id (see choice.home_of)."""
    gone = "file system removed" if run.plan.fscid >= 0 else "file system has other pools (fs swap?)"
    return f"{run_state(run)}; {gone}"


def plans_text(runs: Sequence[Run], removed: Sequence[Run], unreadable: Sequence[str]) -> str:
    """A row a plan."""
    rows: list[tuple[Any, ...]] = [
        (run.plan.name, state, len(run.plan.steps), f"{progress(run):.0%}", run.plan.heavy_mode)
        for run, state in (*((r, run_state(r)) for r in runs), *((r, removed_state(r)) for r in removed))
    ]
    rows += [(name, UNREADABLE, "-", "-", "-") for name in unreadable]
    if not rows:
        return "there is no plan: 'ceph mds_partitioner partition plan' makes one, after an analysis"
    return table(("Name", "State", "Steps", "Progress", "Heavy"), rows, ("Name", "State"))
