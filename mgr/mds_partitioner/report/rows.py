# SPDX-License-Identifier: LGPL-2.1-or-later
"""How far each row of a plan got, in LINE's words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..act.run import (
    APPLIED,
    KEPT,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    SKIPPED,
    UNDOING,
    UNDONE,
    Run,
    ended_states,
)
from ..engine.reasons import HEAVY
from ..plan.plan import FS_STEP, Row


@dataclass(frozen=True)
class RowState:
    """``progress``: part of the row's steps that have ended, 1 when it has none."""

    progress: float
    status: str


def row_states(run: Run) -> list[RowState]:
    """One for each row of the plan. A heavy row without steps of its own has those that set the mask."""
    steps: dict[int, list[int]] = defaultdict(list)
    for i, step in enumerate(run.plan.steps):
        steps[step.row].append(i)
    mask = [i for i in steps[-1] if run.plan.steps[i].kind == FS_STEP]
    return [_row_state(run, row, steps.get(i), mask) for i, row in enumerate(run.plan.rows)]


def _row_state(run: Run, row: Row, own: Sequence[int] | None, mask: Sequence[int]) -> RowState:
    by_mask = own is None and row.reason == HEAVY
    states = [run.records[i].state if i in run.records else READY for i in (mask if by_mask else own or ())]
    if not states:
        return RowState(1.0, "No step" if by_mask else row.reason)
    if run.heading() in (ROLLING_BACK, ROLLED_BACK):  # what was never begun is not to be undone
        states = [state for state in states if state != READY] or states
    ended = ended_states(run)
    status = _status(run, set(states))
    return RowState(
        progress=sum(state in ended for state in states) / len(states),
        status="Balanced by mask" if by_mask and status == "Done" else status,
    )


def step_status(run: Run, step: int) -> str:
    """A step's state in the same words."""
    record = run.records.get(step)
    return _status(run, {READY if record is None else record.state})


def _status(run: Run, states: set[str]) -> str:
    """Ready, In-progress, Done, ... for the states of a row's steps."""
    if states == {READY}:
        return "Ready" if run.head.state != READY else "Planned"
    back = run.heading() == ROLLING_BACK
    if states <= {APPLIED}:
        return "Rolling back" if back else "Done"
    if states <= {UNDONE, SKIPPED} and UNDONE in states:
        return "Rolled back"
    if states <= {UNDONE, KEPT, SKIPPED} and KEPT in states:
        return "Kept" if UNDONE not in states else "Kept in part"
    if back or UNDOING in states or UNDONE in states:
        return "Rolling back"
    if states <= {APPLIED, SKIPPED, KEPT}:  # an operator has taken what is kept
        return "Skipped" if states == {SKIPPED} else "Done in part"
    return "In-progress"
