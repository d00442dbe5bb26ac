# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of several plans is meant, what they are called, and which of them stand in another's way. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..ceph.filesystem import NO_MASK
from ..errors import BadInput, Busy
from ..model import NO_PIN, FsState
from ..plan.anew import plan_anew
from ..plan.plan import DISTRIBUTED_STEP, MASK_STEP, PIN_STEP, About, Plan, Step
from .core import same
from .run import (
    ACTIVE,
    DONE,
    IN_FORCE,
    INTENT,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    UNDOING,
    UNDONE,
    Record,
    Run,
    in_force,
    of_scheduler,
    owned_values,
    paused_by_command,
    paused_by_guard,
    progress,
    steps_in_force,
    taken_from,
)

NOTHING = {PIN_STEP: str(NO_PIN), MASK_STEP: NO_MASK, DISTRIBUTED_STEP: "0"}  # of what places a directory
LATER = 0.001  # s between two plans, at least
NOWHERE = -2  # less a pool: the id of a file system that is none any more
SCHEDULER = "scheduler-"  # its plans are scheduler-1, scheduler-2, ...
OWN = "plan-"  # so are those of operators that got no name
STAY = 20  # operators' plans of a file system that stay, of those of which nothing is set


def operators(runs: Iterable[Run]) -> list[Run]:
    """Those that the scheduler did not make."""
    return [run for run in runs if not run.plan.scheduled]


def latest(runs: Sequence[Run]) -> Run | None:
    """Of the plans that the scheduler did not make: the one under way, else the last made or run."""
    own = operators(runs)
    return next((run for run in own if run.head.state in ACTIVE), max(own, key=_touched, default=None))


def watched(runs: Sequence[Run]) -> Run | None:
    """Of which monitoring tells: an operator's, as ``latest``; while none is under way, the one of the
    scheduler's that is undone, or waits for the file system. Its others come and go within a minute."""
    own = latest(runs)
    if own is not None and own.head.state in ACTIVE:
        return own
    active = [run for run in runs if run.head.state in ACTIVE]
    undone = next((run for run in active if run.heading() == ROLLING_BACK), None)
    return undone or next((run for run in active if paused_by_guard(run.head)), own)


def newest(runs: Sequence[Run]) -> Run | None:
    """The one under way, else the last made or run; one of the scheduler's only if there is no other such.

    :param runs: of a file system, oldest first
    """
    own = latest(runs)
    if own is None or own.head.state not in ACTIVE:
        under_way = next((run for run in runs if run.head.state in ACTIVE), None)
        return under_way or own or next(reversed(runs), None)
    return own


def last_made(runs: Sequence[Run]) -> Run | None:
    """The newest plan of an operator, whatever has become of it."""
    own = operators(runs)
    return own[-1] if own else None


def live(runs: Iterable[Run]) -> list[Run]:
    """Those that have set something, or may yet. ``runs``: of a file system; they stay in order"""
    return [run for run in runs if run.head.state in ACTIVE or in_force([run], run.plan.fscid)]


def is_nothing(run: Run) -> bool:
    """Was nothing of a plan begun, or all that it set put back?"""
    if run.head.state == READY:
        return not run.records
    return run.head.state == ROLLED_BACK and all(r.state not in IN_FORCE for r in run.records.values())


def past(runs: Sequence[Run], most: int) -> list[Run]:
    """Operators' plans that nobody needs any more, the oldest first: nothing of them is set, and many newer
    ones are like that. Not one for which ``refuse_overtaken`` refuses what stays.

    :param runs: of a file system
    :param most: how many
    """
    old = sorted(filter(is_nothing, operators(runs)), key=_touched)[:-STAY][:most]
    open_ = [run for run in runs if run.heading() in (READY, RUNNING) and run not in old]
    return [run for run in old if not any(_changed_since(other.plan.created, run) for other in open_)]


def number(name: str, kind: str = SCHEDULER) -> int:
    """Of a plan of the scheduler, which are numbered as they are made, or of others; 0: it is none."""
    counted = name.removeprefix(kind)
    return int(counted) if counted != name and counted.isdecimal() else 0


def next_name(taken: Iterable[str]) -> str:
    """Of the scheduler's next plan: its number is the highest."""
    return f"{SCHEDULER}{max(map(number, taken), default=0) + 1}"


def free_name(taken: Collection[str]) -> str:
    """Of an operator's next plan. Not that of one that was forgotten: another plan would be started by it."""
    return f"{OWN}{max((number(name, OWN) for name in taken), default=0) + 1}"


def refuse_reserved(name: str) -> None:
    """:raises BadInput: the scheduler's plans are called so"""
    if name.startswith(SCHEDULER):
        raise BadInput(f"'{name}' cannot be a plan's name: what begins with '{SCHEDULER}' is the scheduler's")


def not_beside(run: Run, runs: Iterable[Run]) -> list[Run]:
    """Those that must not be under way when it is begun: all but what else the scheduler decided, if it did
    so, too, and none is undone."""

    def beside(other: Run) -> bool:
        both = run.plan.scheduled and other.plan.scheduled
        return other is not run and both and other.heading() != ROLLING_BACK

    return [other for other in runs if not beside(other)]


def ranks_gone(run: Run, fs: FsState) -> list[int]:
    """Those that it needs, and its file system does not have."""
    return sorted(run.plan.ranks_used() - set(fs.ranks_in))


def refuse_active(runs: Iterable[Run], fs: str) -> None:
    """``fs``: its name. :raises Busy: one of them is under way"""
    for run in runs:
        if run.head.state in ACTIVE:
            raise Busy(under_way(run, fs))


def under_way(run: Run, fs: str) -> str:
    """That it stands in another's way, and what can be done about that. ``fs``: its file system's name"""
    ordered, cure = run.ordered(), "wait for it or stop it"
    if paused_by_command(ordered):
        cure = f"'ceph mds_partitioner partition resume {fs}' has it go on, or stop it"
    elif of_scheduler(run):  # to stop it would end what the scheduler does
        ends = "it is over in a moment" if ordered.state == RUNNING else "it goes on by itself"
        cure = f"{ends}, and 'ceph mds_partitioner partition pause {fs}' keeps the scheduler from the next"
    return f"plan '{run.plan.name}' of '{fs}' is {ordered.state} ({progress(run):.0%}): {cure}"


def refuse_unexecuted(run: Run, live: Sequence[Run], fs: str) -> None:
    """It would pass for one that was rolled back, and could not be executed any more.

    :param live: those that there are to roll back, oldest first
    :param fs: its file system's name
    :raises BadInput: there is nothing of it to roll back
    """
    if run.head.state != READY or run.records:
        return
    name = run.plan.name
    instead = f"; '{live[-1].plan.name}' is in force" if live else ""
    raise BadInput(
        f"plan '{name}' was not executed: there is nothing to roll back "
        f"('ceph mds_partitioner partition rm {name} {fs}' forgets it){instead}"
    )


def refuse_outdated(run: Run, runs: Sequence[Run], fs: FsState) -> None:
    """What came in between would be undone after it, and not find what it has left.

    :param fs: its file system
    :raises Busy: a later one is in force; the scheduler's are counted before each other
    """
    scheduled, name = run.plan.scheduled, run.plan.name
    for other, _, _ in reversed(in_force(runs, run.plan.fscid)):  # the newest is rolled back first
        if made_after(other, run) and not (scheduled and other.plan.scheduled):
            anew = f"make a new one ('{plan_anew(run.plan, fs)}')"
            instead = f"forget it ('partition rm {name} {fs.name}')" if scheduled else anew
            newer = f"'{other.plan.name}', which is in force"
            raise Busy(f"plan '{name}' was made before {newer}: {instead}, or roll that one back first")


def refuse_overtaken(run: Run, runs: Sequence[Run], fs: FsState) -> None:
    """What it moves would not be as it was planned, and be skipped as if an operator had changed it; and what
    it predicts is of a file system whose other directories are where they were. So it is whole or not at all.

    :param fs: its file system
    :raises Busy: another one was executed since it was made, or one that had been was undone; one that was
        begun and undone since left all as it was, but for what an operator took from it. The scheduler's are
        counted before each other, but for the same
    """
    anew = f"make a new one ('{plan_anew(run.plan, fs)}')"
    for other in reversed(runs):
        both = run.plan.scheduled and other.plan.scheduled
        of_fs = other is not run and other.plan.fscid == run.plan.fscid
        if of_fs and not both and _changed_since(run.plan.created, other):
            raise Busy(
                f"plan '{run.plan.name}' was made before '{other.plan.name}' was executed or undone: {anew}"
            )
        if of_fs and both and made_after(other, run) and not _to_be_set(run).isdisjoint(taken_from(other)):
            forget = f"forget it ('partition rm {run.plan.name} {fs.name}')"
            taken = f"an operator changed what '{other.plan.name}' had set, and it would set"
            raise Busy(f"plan '{run.plan.name}' was made before {taken}: {forget}")
    if _replaces_others(run, owned_values(steps_in_force(runs, run.plan.fscid))):
        raise Busy(f"plan '{run.plan.name}' was made before what it replaces was undone or forgotten: {anew}")


def _changed_since(made: float, run: Run) -> bool:
    """Whatever the clock was set to: only the time of what was set may be before that of older plans.

    :param made: Unix, s
    """
    records = tuple(run.records.values())
    if max(run.plan.created, run.head.started or 0.0) > made:
        # What is taken from a later plan is no older one's: it would set it, and nobody would undo that.
        return bool(taken_from(run)) or any(record.state in IN_FORCE for record in records)
    return any(record.state in (*IN_FORCE, UNDONE) and record.time > made for record in records)


def _to_be_set(run: Run) -> set[About]:
    """What it begins, or has begun and not set, for all that is known, or puts back as it came too late."""
    steps, records, open_ = run.plan.steps, run.records, (INTENT, UNDOING)
    return {step.about for i, step in enumerate(steps) if i not in records or records[i].state in open_}


def _replaces_others(run: Run, ours: Mapping[About, Collection[str]]) -> bool:
    """Would it replace what is not ``ours`` any more? Without --force a plan is made to replace nothing else.
    Whose plan was removed nobody knows."""
    to_be_begun = (step for i, step in enumerate(run.plan.steps) if i not in run.records)
    replaced = (step for step in to_be_begun if step.expected != NOTHING.get(step.kind, step.expected))
    return not run.plan.force and any(step.expected not in ours.get(step.about, ()) for step in replaced)


def home_of(plan: Plan, there: Collection[FsState]) -> int:
    """Of which file system a plan is: that which has its metadata pool, whatever its id is by now.

    :return: its id; one below 0 where the plan's own has other pools, and none has these
    """
    pool = plan.metadata_pool
    own = next((fs for fs in there if fs.fscid == plan.fscid), None)
    if pool is None or (own is not None and own.has(pool)):
        return plan.fscid
    same = (fs.fscid for fs in there if fs.metadata_pool == pool)
    return next(same, plan.fscid if own is None else NOWHERE - pool)


def later(runs: Iterable[Run], fscid: int, wall: float) -> float:
    """Now, but that it is later than any of a file system's was made, begun or ended, whatever the host's
    clock was set to since. Unix, s"""
    return max(wall, max((_touched(run) for run in runs if run.plan.fscid == fscid), default=0.0) + LATER)


def later_than_all(runs: Collection[Run], fscid: int, wall: float) -> float:
    """Likewise, and later than anything that was done about their steps."""
    own = [run for run in runs if run.plan.fscid == fscid]
    done = max((record.time for run in own for record in tuple(run.records.values())), default=0.0)
    return max(later(own, fscid, wall), done)


def made_after(one: Run, other: Run) -> bool:
    """Was it made later?"""
    return one is not other and one.plan.created > other.plan.created


def rolled_back_first(newer: Run, older: Run) -> str:
    """That the older one is not rolled back under the newer one, in words."""
    return f"plan '{newer.plan.name}' was made after '{older.plan.name}': roll that one back first"


def replaced_since(run: Run, step: Step, runs: Iterable[Run]) -> bool:
    """Has a later plan of ours found what a step of this one has set, to put another value in its place?"""
    return any(
        other.plan.steps[i].about == step.about and same(step, record.old, step.value)
        for other in runs
        if other.plan.fscid == run.plan.fscid and made_after(other, run)
        for i, record in tuple(other.records.items())
    )


def taken_since(run: Run, step: Step, runs: Iterable[Run]) -> bool:
    """Has an operator taken from a later plan of ours what a step of this one has set?"""
    later_ones = (o for o in runs if o.plan.fscid == run.plan.fscid and made_after(o, run))
    return any(step.about in taken_from(other) for other in later_ones)


def begun_by_another(run: Run, step: Step, value: str, runs: Iterable[Run]) -> bool:
    """Is another plan of the scheduler about to set what a step of one is about, or still to put it back?
    What it has set, and waits for, may be replaced. An operator's plans are not under way beside others.

    :param value: what is there
    """
    if not run.plan.scheduled:
        return False
    others = (o for o in runs if o is not run and o.plan.scheduled and o.plan.fscid == run.plan.fscid)
    return any(
        other.plan.steps[i].about == step.about
        and (record.state == UNDOING or _about_to_set(other, i, record, value))
        for other in others
        if other.head.state != DONE  # of these there may be thousands of records
        for i, record in tuple(other.records.items())
    )


def _about_to_set(run: Run, i: int, record: Record, value: str) -> bool:
    return run.head.state in ACTIVE and record.state == INTENT and value != run.plan.steps[i].value


def _touched(run: Run) -> float:
    """When it was made, begun or ended last, Unix, s."""
    return max(run.plan.created, run.head.started or 0, run.head.finished or 0)
