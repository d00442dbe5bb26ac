# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's decisions as plans: what is executed, journaled and undone as any plan is."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from ..act.choice import number
from ..act.run import (
    ACTIVE,
    IN_FORCE,
    ROLLED_BACK,
    Run,
    distributed_last,
    homes,
    moved_at,
    owned_distributed,
    owned_masks,
    owned_pins,
    owned_values,
    pinned_paths,
    steps_in_force,
)
from ..engine.reasons import REBALANCE
from ..model import NO_PIN, FsState, Subtree
from ..plan.circumstances import FORWARDS, TO_AUTH
from ..plan.plan import CONFIG_STEP, DISTRIBUTED_STEP, OF_ALL, PIN_STEP, Plan, Prediction, Row, Step
from .core.view import Decision, Move, Scatter, View
from .fragments import Fragments
from .owned import Owned
from .record import ACT, Turn

MEANWHILE = 60.0  # s that a look lasts: what is set within is newer
ESTIMATE = "reqs: each rank's measured rate, shared out by popularity"


def preparation(fs: FsState, old: str, now: float) -> Plan:
    """What is set while the scheduler acts: requests go to the authority.

    :param old: TO_AUTH as it would be without us, "" for not at all
    """
    step = Step(0, CONFIG_STEP, OF_ALL, TO_AUTH, 0, FORWARDS, old)
    return _plan(fs, now, (), (step,), _prediction({}, {}, 0.0))


def plan_of(
    fs: FsState,
    decision: Decision,
    view: View,
    names: Mapping[str, str],
    pins: Mapping[int, int],
    fragments: Mapping[int, Fragments],
    now: float,
) -> Plan:
    """One pin a move, in the order of the moves; then what is placed as it is made.

    :param view: what was decided on
    :param names: what a directory is called, by path
    :param pins: seen, by inode number: another one found at execution was set by an operator since
    :param fragments: what could be distributed, by inode number
    :param now: Unix, s
    """
    moves = decision.moves
    about = {*(move.ino for move in moves), *(scatter.ino for scatter in decision.scatter)}
    requests = {piece.ino: piece.requests for piece in view.pieces if piece.ino in about}
    rows = [_row(move, requests[move.ino], names) for move in moves]
    steps = [
        Step(0, PIN_STEP, i, m.path, m.ino, str(m.pin), str(pins[m.ino]), m.source)
        for i, m in enumerate(moves)
    ]
    before = {r.rank: r.requests for r in view.ranks}
    after = dict(before)
    for move in moves:
        after[move.source] -= requests[move.ino]
        after[move.target] += requests[move.ino]
    for scatter in decision.scatter:
        at, load = fragments[scatter.ino], requests[scatter.ino]
        steps.append(Step(0, DISTRIBUTED_STEP, len(rows), at.path, at.ino, "1", "0", scatter.source))
        if at.pin != NO_PIN:
            # One of ours, from when it was moved as a whole. It holds all of it, so it comes off last: with
            # neither of both the directory would go where what it is in is.
            steps.append(
                Step(1, PIN_STEP, len(rows), at.path, at.ino, str(NO_PIN), str(at.pin), scatter.source)
            )
        rows.append(_scattered(scatter, load, names))
        after[scatter.source] -= load
        for rank in scatter.ranks:
            after[rank] += load / len(scatter.ranks)
    prediction = _prediction(before, after, sum(m.inodes for m in moves))
    return _plan(fs, now, tuple(rows), tuple(steps), prediction)


def scheduled_since(runs: Iterable[Run], since: float) -> list[Run]:
    """The scheduler's plans that were made since a start (Unix, s), oldest first."""
    return [run for run in runs if run.plan.scheduled and run.plan.created >= since]


def gathered_again(runs: Iterable[Run], fscid: int, gone: Collection[int]) -> frozenset[int]:
    """Inode numbers of pieces in which what was distributed last is deleted, or that a pin of ours holds
    since: MDSs place nothing there any more. ``gone``: of deleted directories"""
    own = [run for run in runs if run.plan.fscid == fscid]
    last, pins = distributed_last(own), owned_pins(steps_in_force(own, fscid))
    # Of what is being distributed the pin comes off last.
    going = {step.ino for run in own if run.head.state in ACTIVE for step in run.plan.steps}
    held = {ino for ino, pin in pins.items() if pin != NO_PIN and ino not in going}
    return frozenset(piece for piece, ino in last.items() if ino in gone or (piece == ino and ino in held))


def has_prepared(runs: Iterable[Run], pool: int | None, since: float) -> bool:
    """Has the scheduler set what acting needs, after that time (Unix, s), for the file system of that
    metadata pool? Else it was so before."""
    return any(
        step.target == TO_AUTH
        for run in scheduled_since(runs, since)
        if run.plan.metadata_pool == pool
        for step in run.plan.steps
    )


def distributing(runs: Iterable[Run], fscid: int) -> frozenset[int]:
    """Inode numbers of pieces in which something is distributed by a plan of the scheduler, or may be yet."""
    all_runs = tuple(runs)
    now = owned_distributed(steps_in_force(all_runs, fscid))  # an operator's plan may have ended it since
    found = set[int]()
    ours = (run for run in all_runs if run.plan.scheduled and run.plan.fscid == fscid)
    for run in (run for run in ours if run.head.state != ROLLED_BACK):
        for i, step in enumerate(run.plan.steps):
            record = run.records.get(i)
            is_so = record is not None and record.state in IN_FORCE and now.get(step.ino) == "1"
            is_or_may = is_so or (record is None and run.head.state in ACTIVE)
            if step.kind == DISTRIBUTED_STEP and is_or_may:
                found.add(run.plan.rows[step.row].ino)
    return frozenset(found)


def undone(turns: Sequence[Turn], runs: Iterable[Run]) -> tuple[Turn, ...]:
    """With those marked whose plans were rolled back, alone or in what they were merged into.

    :param runs: of their file system
    """
    ours = {run.plan.name: (run, {row.ino for row in run.plan.rows}) for run in runs if run.plan.scheduled}
    if all(run.head.state != ROLLED_BACK for run, _ in ours.values()):
        return tuple(turns)
    merged = [(run, inos) for run, inos in ours.values() if run.plan.replaces]

    def standing(turn: Turn) -> list[Run]:
        own = [ours[turn.plan]] if turn.plan in ours else []
        later = ((run, inos) for run, inos in merged if number(run.plan.name) > number(turn.plan))
        # The name of one that is forgotten is given again.
        return [run for run, inos in own or later if any(ino in inos for ino, _ in turn.about)]

    def back(turn: Turn) -> bool:
        found = standing(turn) if turn.mode == ACT and turn.plan else []
        return bool(found) and all(run.head.state == ROLLED_BACK for run in found)

    return tuple(replace(turn, undone=turn.undone or back(turn)) for turn in turns)


def owned(
    runs: Iterable[Run],
    fscid: int,
    now: float,
    split: Collection[int] = (),
    subtrees: Iterable[Subtree] = (),
) -> Owned:
    """What we have set.

    :param now: Unix, s; what was set later was so by a clock that was ahead: it is as it is read
    :param split: inode numbers of what is looked into for its parts
    :param subtrees: that MDSs told of: what was renamed, or what it is in, is at their paths
    """
    all_runs = tuple(runs)
    made = steps_in_force(all_runs, fscid)
    pins = owned_pins(made)
    moved = moved_at(all_runs, fscid)
    return Owned(
        pins=pins,
        paths=pinned_paths(made) | {s.path: pins[s.ino] for s in subtrees if s.ino in pins} if split else {},
        moved_at={ino: at for ino, at in moved.items() if at <= now + MEANWHILE},
        masks=owned_masks(made),
        distributed=owned_distributed(made),
        homes=homes(made) if split else {},
        values=owned_values(made),
    )


def _plan(
    fs: FsState, now: float, rows: tuple[Row, ...], steps: tuple[Step, ...], prediction: Prediction
) -> Plan:
    return Plan(
        name="",
        fs=fs.name,
        fscid=fs.fscid,
        metadata_pool=fs.metadata_pool,
        created=now,
        heavy_mode="",
        heavy_ranks=(),
        force=False,
        estimate=ESTIMATE,
        rows=rows,
        steps=steps,
        prediction=prediction,
        scheduled=True,
    )


def _row(move: Move, requests: float, names: Mapping[str, str]) -> Row:
    return Row(
        name=names.get(move.path, move.path),
        path=move.path,
        ino=move.ino,
        wss=move.inodes,
        reqs=requests,
        rentries=round(move.inodes),
        workload=0.0,
        klass="",
        current=(move.source,),
        new=(move.target,),
        reason=REBALANCE,
        why=move.why,
    )


def _scattered(scatter: Scatter, requests: float, names: Mapping[str, str]) -> Row:
    return Row(
        name=names.get(scatter.path, scatter.path),
        path=scatter.path,
        ino=scatter.ino,
        wss=0.0,
        reqs=requests,
        rentries=0,
        workload=0.0,
        klass="",
        current=(scatter.source,),
        new=tuple(sorted(set(scatter.ranks))),
        reason=REBALANCE,
        why=scatter.why,
    )


def _prediction(before: Mapping[int, float], after: Mapping[int, float], inodes: float) -> Prediction:
    first = max(before, key=lambda r: before[r], default=0)
    last = max(after, key=lambda r: after[r], default=0)
    return Prediction(
        imbalance_before=_most(list(before.values())),
        imbalance_after=_most(list(after.values())),
        fullest_rank_before=first,
        fullest_before=before.get(first, 0.0),
        fullest_rank_after=last,
        fullest_after=after.get(last, 0.0),
        lower_bound=fmean(before.values()) if before else 0.0,
        load_before={str(rank): load for rank, load in before.items()},
        load_after={str(rank): load for rank, load in after.items()},
        inodes_to_move=inodes,
    )


def _most(loads: Sequence[float]) -> float:
    """The imbalance factor at full urgency (Lunule, equations 1 and 3): CoV / sqrt(ranks)."""
    mean = fmean(loads) if loads else 0.0
    return stdev(loads) / mean / math.sqrt(len(loads)) if len(loads) > 1 and mean > 0.0 else 0.0
