# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``status`` shows: a row a file system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..act.run import ACTIVE, Run, in_force
from ..model import FsState
from ..policy.switch import ON, TURNING_ON, Switch, effective, taken_over
from ..schedule.record import OFF
from .balance import UNREADABLE
from .partition import removed_state, run_state
from .text import table

KEYS = ("fs", "ranks", "analysis", "in_force", "plan", "balance", "scheduler")
COLUMNS = ("Name", "Ranks", "Analysis", "Plan in force", "Newest plan", "Balance", "Scheduler")
NO_FS = "(unknown)"  # no file system is called so
LEFT = ("Name", "Analysis", "Plan in force", "Newest plan", "Balance", "Scheduler")


@dataclass(frozen=True)
class Overview:
    """What goes on on one file system. ``runs``: its plans, oldest first; ``scheduler``: its mode, and
    whether it is paused;
    ``unreadable``: there is a record of a policy that cannot be read."""

    fs: FsState
    analysis: str
    runs: Sequence[Run]
    switch: Switch | None
    scheduler: str
    unreadable: bool = False


def _told(run: Run) -> str:
    return f"{run.plan.name}: {run_state(run)}"


def _balance(fs: FsState, switch: Switch | None) -> str:
    """The policy, and how far it is in force: an operator may have ended that, or left it no rank."""
    if switch is None:
        return "off"
    ended = switch.state == TURNING_ON and taken_over(fs, switch)
    without = switch.state == ON and not effective(fs, switch)
    return f"{switch.policy}: {'not in force' if ended or without else switch.state}"


def acting(seen: Overview) -> list[Run]:
    """Plans that are executed, or have changed something that was not undone; oldest first."""
    changed = {run.id for run, _, _ in in_force(seen.runs, seen.fs.fscid)}
    return [run for run in seen.runs if run.head.state in ACTIVE or run.id in changed]


def overview_value(seen: Overview) -> dict[str, Any]:
    """As plain data."""
    return {
        "fs": seen.fs.name,
        "ranks": len(seen.fs.ranks_in),
        "analysis": seen.analysis,
        "in_force": [_told(run) for run in acting(seen)],
        "plan": _told(seen.runs[-1]) if seen.runs else "none",
        "balance": UNREADABLE if seen.unreadable else _balance(seen.fs, seen.switch),
        "scheduler": seen.scheduler,
    }


def removed_values(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Of file systems that were removed, as plain data: their plans stay until 'partition rm'."""
    newest = {run.plan.fscid: run for run in runs}
    return [
        {
            "fs": run.plan.fs,
            "ranks": 0,
            "analysis": "none",
            "in_force": [],
            "plan": f"{run.plan.name}: {removed_state(run)}",
            "balance": "off",
            "scheduler": OFF,
        }
        for run in newest.values()
    ]


def unreadable_values(plans: Sequence[str]) -> list[dict[str, Any]]:
    """Of plans that cannot be read, by name, as plain data; they may be in force, nobody knows where."""
    unknown = {"fs": NO_FS, "ranks": 0, "analysis": "none", "balance": "none", "scheduler": "none"}
    return [unknown | {"in_force": [told], "plan": told} for told in (f"{n}: {UNREADABLE}" for n in plans)]


def _few(plans: Sequence[str]) -> str:
    """The newest, and how many more there are: the scheduler makes many."""
    if not plans:
        return "none"
    return plans[-1] + (f" and {len(plans) - 1:,} older" if len(plans) > 1 else "")


def overview_text(values: Sequence[dict[str, Any]]) -> str:
    """For people. ``values``: of ``overview_value``, ``removed_values`` and ``unreadable_values``."""
    rows = [tuple((v | {"in_force": _few(v["in_force"])})[key] for key in KEYS) for v in values]
    return table(COLUMNS, rows, LEFT) if rows else "there is no file system"
