# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several plans that have ended as one: the scheduler makes many small ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import groupby, takewhile

from ..plan.plan import DISTRIBUTED_STEP, OF_ALL, PIN_STEP, About, Plan, Row, Step
from .run import DONE, IN_FORCE, Record, Run, distributed_last, origins

SMALL = 16  # steps: a plan of so many is merged with whatever is newer
TOGETHER = 8  # plans of about one size make one: a step is written anew once in so many, then in 64, ...


def mergeable(runs: Sequence[Run], may: Collection[str]) -> list[Run]:
    """The newest of the scheduler's ended plans that may become one now, oldest first; [] for none yet. No
    other plan is between them: which value of a target is the newest would be lost.

    An older one is left out when it is larger than all newer ones together: else everything would be written
    again with each merge.

    :param runs: all of a file system, oldest first
    :param may: IDs of those that may be merged
    """
    for ours, together in groupby(reversed(runs), lambda run: run.id in may and _ended(run)):
        found = _small(together) if ours else []
        if len(found) >= TOGETHER:
            return found[::-1]
    return []


def ended(runs: Sequence[Run], may: Collection[str]) -> list[Run]:
    """The newest of the scheduler's plans that have ended, oldest first, up to any other."""
    found = list(takewhile(lambda run: run.id in may and _ended(run), reversed(runs)))
    return found[::-1]


def _ended(run: Run) -> bool:
    return run.plan.scheduled and run.head.state == DONE


def _small(runs: Iterable[Run]) -> list[Run]:
    """Up to one that is larger than all before it."""
    found: list[Run] = []
    size = 0
    for run in runs:
        steps = len(run.plan.steps)
        if steps > max(size, SMALL):
            break
        found.append(run)
        size += steps
    return found


def merged(runs: Sequence[Run], name: str, deleted: Collection[int] = ()) -> tuple[Plan, dict[int, Record]]:
    """One plan that stands for these, oldest first: of each target the newest value, and the oldest that it
    replaced. What has nothing to undo is left out.

    :param runs: that have ended
    :param deleted: inode numbers of directories that are gone for good: left out, too, but for what was
        distributed last in one that is there
    """
    # As long as this is known, it is known that MDSs place nothing there any more, by the next manager, too.
    told = {ino for piece, ino in distributed_last(runs).items() if piece not in deleted}
    last: dict[About, tuple[Step, Record, Row | None]] = {}
    made: list[Step] = []
    for run in runs:
        for i, record in sorted(run.records.items()):
            step = run.plan.steps[i]
            gone = step.ino in deleted and not (step.kind == DISTRIBUTED_STEP and step.ino in told)
            if record.state not in IN_FORCE or gone:
                continue
            if step.kind == PIN_STEP:
                made.append(step)
            before = last.get(step.about)
            row = run.plan.rows[step.row] if step.row != OF_ALL else None
            last[step.about] = (*_since(before, step, record), row)
    kept = [entry for entry in last.values() if entry[0].value != entry[1].old]
    first, origin = {step.ino: step.home for step in reversed(made)}, origins(made)

    def homed(step: Step) -> Step:
        """What is above it is put back in the same plan, after it: it goes where that goes."""
        own = step.kind == PIN_STEP and first[step.ino] == step.home
        return replace(step, home=origin[step.ino]) if own else step

    return _plan(runs, name, [(homed(step), record, row) for step, record, row in kept])


def _since(before: tuple[Step, Record, Row | None] | None, step: Step, record: Record) -> tuple[Step, Record]:
    """A step that replaced what an earlier one had set, as if it had come at once; where somebody else set a
    value in between, that is what is to be put back."""
    if before is None or before[0].value != record.old:
        return step, record
    first, replaced, _ = before
    return replace(step, expected=first.expected, home=first.home), replace(record, old=replaced.old)


def _plan(
    runs: Sequence[Run], name: str, kept: Sequence[tuple[Step, Record, Row | None]]
) -> tuple[Plan, dict[int, Record]]:
    rows = [row for _, _, row in kept if row is not None]
    at = iter(range(len(rows)))
    steps = tuple(replace(step, row=OF_ALL if row is None else next(at)) for step, _, row in kept)
    plan = replace(
        runs[-1].plan,
        name=name,
        rows=tuple(rows),
        steps=steps,
        replaces=tuple(run.id for run in runs),
    )
    return plan, {i: record for i, (_, record, _) in enumerate(kept)}
