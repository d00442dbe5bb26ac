# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ``partition`` commands."""

from collections.abc import Callable
from dataclasses import replace
from typing import Optional

from ..act.choice import last_made
from ..act.halts import check_duration
from ..act.run import DONE, KEPT, READY, ROLLING_BACK, STOPPED, UNDONE, Run
from ..desk import HOLD, MAKE, STOP
from ..engine.names import MASK
from ..errors import BadInput, Busy, JournalError, NotFound
from ..model import FsState
from ..observe.subtrees import subtree_map
from ..plan.anew import options, plan_anew
from ..plan.caveats import of_failed
from ..plan.circumstances import FORWARDS, TO_AUTH, check_mode
from ..plan.plan import Plan
from ..plan.ranks import parse_ranks
from ..plan.shell import word
from ..report.partition import (
    plan_text,
    plan_value,
    plans_text,
    plans_value,
    remarks,
    run_line,
    run_text,
    run_value,
)
from ..report.text import TOP, count, printable
from .declare import Answer, Services, meant, of_meant, of_plan, reads, writes

HELD = "this manager has it all the same, and tells the mon when that answers; one that comes before goes on"
ROUNDED = 1.0  # s, to which a manager that takes over knows when an analysis ended
PATIENCE = 2.0  # s: below the desk's, so that a status is told whatever MDSs do


class PartitionCommands(Services):
    """Make, execute and undo plans."""

    @writes("partition plan", MAKE)
    def partition_plan(
        self,
        fs: Optional[str] = None,
        plan: Optional[str] = None,
        heavy: str = MASK,
        ranks: Optional[str] = None,
        to_auth: bool = False,
        force: bool = False,
        format: str = "table",
        top: int = TOP,
    ) -> Answer:
        """Make a plan from the newest analysis and save it; nothing is changed.

        PLAN is its name; without one it gets a number above all that there are. --heavy is mask or fanout:
        how heavy subvolumes get several ranks. --ranks are those that it may use, as 0,1,3, 0-3 or 0xb.
        --to-auth adds a step that has MDSs forward every request to the authority. --force plans over an
        operator's pins, a rest, and directories that were not read in time. Of a file system's plans that
        were not begun, or were rolled back, the last 20 are kept.
        """
        usable = None if ranks is None else parse_ranks(ranks)
        found = self.host.fs(fs)
        made = self.planning.plan(found, name=plan, heavy=heavy, ranks=usable, to_auth=to_auth, force=force)
        shown, begin = _planned(made, top), f"partition start {word(found.name)} {made.name}"
        executes = f"\n\n'ceph mds_partitioner {begin}' executes it" if made.steps else ""
        return replace(shown, text=shown.text + executes)

    @writes("partition start", of=of_meant)
    def partition_start(
        self,
        fs: Optional[str] = None,
        plan: Optional[str] = None,
        heavy: Optional[str] = None,
        to_auth: bool = False,
        dry_run: bool = False,
        force: bool = False,
        format: str = "table",
        top: int = TOP,
    ) -> Answer:
        """Execute a plan: the named one, else the newest.

        A new one is made where there is none, or the newest has ended and the load was analyzed again since,
        or an option asks for it. It is refused when another plan was executed or undone since it was made;
        without a name also when the load was analyzed again.

        --dry-run only prints it, with its commands, and why it would be refused, if so. --heavy, --to-auth
        and --force are for a new one, as in 'partition plan', and refused where the plan is another one. A
        plan that was stopped goes on.
        """
        mode = MASK if heavy is None else heavy
        check_mode(mode)
        found, plan = meant(self, fs, plan)
        halts = self.partitioner.plans.halts.given(found.fscid)  # a stop counts while a plan is made, too
        asked = heavy is not None or to_auth or force
        named = plan is not None
        if not named:
            self.planning.refuse_while_made(found)
        run = self.partitioner.plans.newest(found, plan) if named else self._last_made(found, asked)
        if run is not None:
            chosen = run.plan
            sets = to_auth and self.partitioner.plans.to_auth(found) != FORWARDS
            anew = plan_anew(chosen, found, heavy, to_auth=to_auth, force=force)
            why = "" if named else self._older(found, run, anew)
            why = why or _other(chosen, heavy, sets=sets, force=force, anew=anew)
        else:
            why = self._failed(found)
            if not dry_run:
                self._refuse_unmade(found, why)
            chosen = self.planning.plan(
                found, name=None, heavy=mode, ranks=None, to_auth=to_auth, force=force, save=not dry_run
            )
        if dry_run:
            typed = options(heavy, to_auth=to_auth, force=force)
            again = f"ceph mds_partitioner partition start {word(found.name)}{typed}"
            refused = why or self.partitioner.refusal(found, run)
            shown = _dry(_planned(replace(chosen, fs=found.name), top), run, again, refused)
            return _refused(shown, refused)
        if why:
            raise BadInput(why)
        begun = _ordered(found, self.partitioner.start(found, chosen.name, halts))
        return begun if run is not None else replace(begun, text=f"{_made(chosen, top)}\n{begun.text}")

    def _refuse_unmade(self, fs: FsState, why: str) -> None:
        """No plan is made and kept that would not be begun.

        :param why: it is not begun unseen; "": it would be
        :raises BadInput, Busy: this, or what ``start`` would say of it
        """
        if why:
            raise BadInput(why)
        refused = self.partitioner.refusal(fs, None)
        if refused:
            raise Busy(refused)

    def _failed(self, fs: FsState) -> str:
        """That no plan is begun unseen which is of an older analysis than the newest; "": none would be."""
        last = self.analyzer.last(fs)
        failed = () if last is None else of_failed(self.analyzer.get(fs), last.ended)
        if not failed:
            return ""
        return (
            f"{failed[0]}; make it with 'ceph mds_partitioner partition plan {word(fs.name)}', read it, "
            "and start it then"
        )

    def _last_made(self, fs: FsState, asked: bool) -> Optional[Run]:
        """The plan that is meant where none is named; None: one that is to be made. One that has ended is
        not followed by another of the same analysis that nobody has seen, unless that is ``asked`` for."""
        run = last_made(self.partitioner.plans.of(fs))
        if run is None or run.head.state in (READY, STOPPED):
            return run
        return None if asked or self._analyzed_since(fs, run) else run

    def _analyzed_since(self, fs: FsState, run: Run) -> bool:
        """Is there a newer analysis than the one that the plan was made from, as far as that is known?"""
        last, made_from = self.analyzer.last(fs), run.plan.analyzed
        return last is None or made_from is None or abs(last.ended - made_from) > ROUNDED

    def _older(self, fs: FsState, run: Run, anew: str) -> str:
        """Why a plan that nobody named is not started: the load was analyzed again since; "": it was not

        :param anew: the command that makes another one
        """
        unknown = run.plan.analyzed is None or self.analyzer.last(fs) is None
        stopped = run.head.state == STOPPED and run.heading() != ROLLING_BACK  # no start goes on with it
        if not (stopped or run.head.state == READY) or unknown or not self._analyzed_since(fs, run):
            return ""
        name, was = run.plan.name, "stopped" if stopped else "not executed"
        return (
            f"plan '{name}' was {was}, and is older than the newest analysis: make another one "
            f"('{anew}'), or name it ('ceph mds_partitioner partition start {fs.name} {name}')"
        )

    @reads("partition status")
    def partition_status(
        self, fs: Optional[str] = None, plan: Optional[str] = None, format: str = "table", top: int = TOP
    ) -> Answer:
        """Show a plan's execution: a row for each subvolume, and each step that was skipped, with the reason.

        Without PLAN: the one under way, else the last. MDSs are asked for the ranks of this moment for 2 s;
        those that do not answer are named.
        """
        found, plan = meant(self, fs, plan)
        run = _called(found, self.partitioner.plans.newest(found, plan))
        rows = run.plan.rows
        inos = {row.ino for row in rows}
        where = subtree_map(self.host, found, [row.path for row in rows], PATIENCE, inos)
        return Answer(run_value(run, where), run_text(run, where, top))

    @reads("partition ls")
    def partition_ls(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """List the plans of a file system, and those of file systems that were removed"""
        removed = self.partitioner.plans.of_removed()
        none_left = fs is None and not self.host.file_systems()
        found = None if none_left else self.host.fs(fs)
        runs = [] if found is None else [_called(found, run) for run in self.partitioner.plans.of(found)]
        unreadable = [bad.name for bad in self.partitioner.plans.unreadable]
        return Answer(plans_value(runs, removed, unreadable), plans_text(runs, removed, unreadable))

    @writes("partition pause", HOLD)
    def partition_pause(
        self, fs: Optional[str] = None, duration: Optional[int] = None, format: str = "table"
    ) -> Answer:
        """Begin no further step, for DURATION seconds (up to ten years) or until resumed.

        The scheduler pauses, too.
        """
        check_duration(duration)  # before the scheduler is paused
        found = self.host.fs(fs)
        return self._hold(
            found,
            self.scheduling.pause(found, duration),
            lambda: self.partitioner.pause(found, duration),
            "is paused",
        )

    @writes("partition resume")
    def partition_resume(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """Go on with a paused plan, and with the scheduler"""
        found = self.host.fs(fs)
        acts = self.scheduling.resume(found)
        return self._both(found, acts, lambda: self.partitioner.resume(found), "goes on")

    @writes("partition stop", STOP)
    def partition_stop(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """End the execution or the rollback of a plan where it is, at once: no MDS is asked.

        A scheduler that acts only advises from then on. 'partition start' with the plan's name goes on with
        an execution, 'partition rollback' with a rollback.
        """
        found = self.host.fs(fs)
        acted = self.scheduling.halt(found)
        return self._hold(found, acted, lambda: self.partitioner.stop(found), "only advises now")

    def _hold(self, fs: FsState, scheduled: bool, order: Callable[[], Run], said: str) -> Answer:
        """An order that holds before the mon is told: the scheduler has it, and ``order`` begins with that.

        :raises JournalError: the mon was not told of all of it
        """
        try:
            try:
                return self._both(fs, scheduled, order, said)
            finally:
                if scheduled:
                    self.scheduling.keep(fs)
        except JournalError as e:
            raise JournalError(f"{e}: {HELD}", e.code) from e

    def _both(self, fs: FsState, scheduled: bool, order: Callable[[], Run], said: str) -> Answer:
        """An order to the scheduler, which acted if ``scheduled``, and then to the plans."""
        if not scheduled:
            answer = _ordered(fs, order())
            return replace(answer, value=answer.value | {"scheduler": None})
        told = f"the scheduler of '{fs.name}' {said}"
        try:
            answer = _ordered(fs, order())
        except NotFound:  # no plan is under way at this moment
            see = f"see 'ceph mds_partitioner scheduler status {fs.name}'"
            none = {"fs": fs.name, "plan": None, "state": None}
            return Answer(none | {"scheduler": said}, f"{told}; {see}")
        return Answer(answer.value | {"scheduler": said}, f"{answer.text}\n{told}")

    @writes("partition rollback", of=of_meant)
    def partition_rollback(
        self, fs: Optional[str] = None, plan: Optional[str] = None, format: str = "table"
    ) -> Answer:
        """Put back every pin, mask and setting that a plan replaced.

        Without PLAN: the newest in force.
        """
        found, plan = meant(self, fs, plan)
        return _ordered(found, self.partitioner.rollback(found, plan))

    @writes("partition rm", of=of_plan)
    def partition_rm(self, plan: str, fs: Optional[str] = None, format: str = "table") -> Answer:
        """Forget a plan that is not being executed; the pins it set become yours"""
        if fs is None:
            self._refuse_unnamed(plan)
        self.scheduling.note_undone()
        left = self.partitioner.plans.remove(plan, None if fs is None else self.host.fs(fs))
        stays = f"; what {count(left)} of its steps set stays, and is yours now" if left else ""
        return Answer({"removed": plan, "left": left}, f"plan '{plan}' is forgotten{stays}")

    def _refuse_unnamed(self, plan: str) -> None:
        """:raises BadInput: its file system is one of several, and is to be named; one that is gone cannot"""
        runs = (run for run in self.partitioner.plans.known() if run.plan.name == plan)
        fs = next((self.host.fs_by_id(run.plan.fscid) for run in runs), None)
        if fs is not None and len(self.host.file_systems()) > 1:
            command = f"ceph mds_partitioner partition rm {plan} {fs.name}"
            raise BadInput(f"plan '{plan}' is of file system '{fs.name}': name that, too ('{command}')")


def _made(plan: Plan, top: int) -> str:
    """What is said of a plan that nobody has seen before it is executed."""
    p, steps = plan.prediction, count(len(plan.steps))
    head = (
        f"plan '{plan.name}' was made (--heavy {plan.heavy_mode}): {steps} steps, predicted imbalance factor "
        f"{p.imbalance_before:.3f} -> {p.imbalance_after:.3f}"
    )
    return "\n".join((head, *remarks(plan, top)))


def _planned(plan: Plan, top: int) -> Answer:
    return Answer(plan_value(plan), plan_text(plan, top))


def _dry(shown: Answer, run: Optional[Run], again: str, refused: str) -> Answer:
    """What is shown of a plan that is not started.

    :param run: None: it was not saved, and has a name for this once
    :param again: the command that makes it anew
    :param refused: why it would be refused; "": it would not
    """
    begun = 0 if run is None else _begun(run)
    said = f"not saved: '{again}' makes it anew" if run is None else _said(run, begun)
    text = f"{shown.text}\n\n{said}" if said and not refused else shown.text
    return replace(shown, value=shown.value | {"saved": run is not None, "begun": begun}, text=text)


def _begun(run: Run) -> int:
    """How many of the commands that are shown were begun, and not undone."""
    return sum(record.state not in (UNDONE, KEPT) for record in run.records.values())


def _said(run: Run, begun: int) -> str:
    """What of it need not be begun any more; "": nothing."""
    if run.head.state == DONE:
        return f"plan '{run.plan.name}' is done: 'partition start' changes nothing"
    return f"{begun} of {len(run.plan.steps)} commands were begun before" if begun else ""


def _refused(shown: Answer, why: str) -> Answer:
    """What is shown of a plan, and ``why`` it would not be started; "": it would."""
    said = f"{shown.text}\n\n'partition start' would refuse it: {printable(why)}" if why else shown.text
    return replace(shown, value=shown.value | {"refused": why}, text=said)


def _other(plan: Plan, heavy: Optional[str], *, sets: bool, force: bool, anew: str) -> str:
    """Why the plan is not the one that is asked for; "": it is.

    :param sets: the option is asked for, and not set yet
    :param anew: the command that makes the one that is asked for
    """
    wrong = ""
    if heavy not in (None, plan.heavy_mode):
        wrong = f"is of --heavy {plan.heavy_mode}, not {heavy}"
    elif sets and not any(step.target == TO_AUTH for step in plan.steps):
        wrong = f"does not set {TO_AUTH}"
    elif force and not plan.force:
        wrong = "was made without --force"
    return wrong and f"plan '{plan.name}' {wrong}: start it without these, or make another one with '{anew}'"


def _called(fs: FsState, run: Run) -> Run:
    """The run by its file system's name of today, which commands must name."""
    return replace(run, plan=replace(run.plan, fs=fs.name))


def _ordered(fs: FsState, run: Run) -> Answer:
    """After an order. No MDS is asked for the ranks of this moment: an order never waits for one."""
    run = _called(fs, run)
    see = f"see 'ceph mds_partitioner partition status {fs.name} {run.plan.name}'"
    return Answer(run_value(run, None), f"{run_line(run)}; {see}")
