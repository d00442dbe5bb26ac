# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays a history from its plans to their rollback and removal, and says what was wrong."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from mds_partitioner.act.core import half_done
from mds_partitioner.act.journal import Journal
from mds_partitioner.act.mover import Mover
from mds_partitioner.act.registry import Plans
from mds_partitioner.act.run import (
    ACTIVE,
    APPLIED,
    DONE,
    INTENT,
    KEPT,
    PAUSED,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    SKIPPED,
    STOPPED,
    UNDOING,
    UNDONE,
    Run,
    in_force,
)
from mds_partitioner.errors import JournalError, PartitionerError
from mds_partitioner.options import MODULE_OPTIONS, Settings
from mds_partitioner.partitioner import Partitioner
from mds_partitioner.plan.plan import CONFIG_STEP
from mds_partitioner.planning import Planning

from .ceph import Ceph, Crash
from .fake_cluster import FakeCluster, Target
from .operator import Operator
from .scenarios import SCENARIOS, Analyzer, Engine, Scenario, build, with_swapped
from .script import EXECUTION, REMOVAL, ROLLBACK, History, Script

LOG = logging.getLogger("replay")
LOG.addHandler(logging.NullHandler())
LOG.propagate = False
LOG.setLevel(logging.CRITICAL)
DEFAULTS = Settings(**{option["name"]: option["default"] for option in MODULE_OPTIONS})
STORMY, CALM = 80, 500  # ticks with and without faults
HEAL_EVERY = 15  # ticks
UNDEAD = 3  # ticks that a replaced manager lives on
MOST_LEFT = 50  # plans that were not removed to the end, in a history


@dataclass(frozen=True)
class Outcome:
    """What came of a history."""

    history: History
    violations: tuple[str, ...]
    ios: int
    pairs: tuple[tuple[tuple[str, str], int], ...]
    where: tuple[tuple[str, int], ...] = ()  # the first I/O of each kind


class Player:
    """One history, one modelled cluster, one manager after the other."""

    def __init__(
        self, history: History, cluster: FakeCluster | None = None, operator: Operator | None = None
    ) -> None:
        """On the scenario's cluster, or on one that begins like it."""
        self.scenario: Scenario = SCENARIOS[history.scenario]
        self.cluster: FakeCluster = cluster or build(self.scenario)
        self.script = Script(history)
        self.cluster.planned = self.script.planned
        self.operator = operator or Operator(self.cluster, history.seed)
        # Of the scheduler's moves some must come too late.
        patience = 2 if self.scenario.scheduled else 30
        self.settings = replace(
            DEFAULTS, max_moves=history.max_moves, rest_period=0, arrival_timeout=patience
        )
        self._lag = history.lag
        self._ids = random.Random(history.seed)
        self._commanding = False
        self._unsure: set[int] = set()  # file systems whose stop is not in the journal
        self._undead: list[Mover] = []
        self._manager()

    def play(self) -> Outcome:
        """From plan to removal."""
        self.script.begin(EXECUTION)
        for fscid in list(self.cluster.filesystems):
            self._plan(fscid)
        self._storm()
        self._settle()
        self._check_done()
        self._check_options()
        self._check_memory()
        self.script.begin(ROLLBACK)
        self._roll_back(STORMY)
        self._calm()
        self._roll_back(CALM)
        self._check_restored()
        self._check_memory()
        self.script.begin(REMOVAL)
        self._forget()
        self._calm()
        for _ in range(UNDEAD + 1):  # a replaced manager may put a seal back that the next one has not read
            self._tick()
        self._forget()
        self._check_forgotten()
        violations = tuple(dict.fromkeys(self.cluster.violations))
        script = self.script
        pairs, where = tuple(script.pairs.items()), tuple(script.where.items())
        return Outcome(script.history, violations, script.ios, pairs, where)

    def _storm(self) -> None:
        for tick in range(STORMY):
            self._tick()
            if tick % HEAL_EVERY == HEAL_EVERY - 1:
                self.operator.heal()
            if not self.partitioner.plans.active():
                return

    def _calm(self) -> None:
        self.script.calm()
        self.operator.heal()
        self.ceph.land_all()
        self.cluster.stopped.clear()

    # managers

    def _new_id(self) -> str:
        """The order of plans in the store must be the same in every replay."""
        return f"{self._ids.getrandbits(128):032x}"

    def _manager(self) -> None:
        """A manager becomes active; one that dies in its first moments is followed by another."""
        while True:
            self.ceph = Ceph(self.cluster, self.script)
            self.ceph.between = self._between
            analyzer = Analyzer(lambda: self.cluster)
            self.journal = journal = Journal(self.ceph.store, self.ceph.incarnation(), self._new_id)
            plans, now = Plans(self.ceph, journal, self.cluster.now, LOG), self.cluster.now
            self.planning = Planning(self.ceph, Engine(), analyzer, plans, lambda: self.settings, now)
            self.partitioner = Partitioner(
                *(self.ceph, journal, plans, now),
                on_progress=lambda event, message, part, failed: None,
                scheduled=lambda fs: "",
            )
            self.mover = Mover(
                *(self.ceph, journal, plans, lambda: self.settings, LOG, now),
                on_progress=lambda event, message, part, failed: None,
                unwanted=lambda fscid: "",
                failed=lambda: None,
                abreast=1,  # threads do not take turns in the same way in every replay
            )
            try:
                self._begin()
                return
            except Crash:
                self.cluster.incarnation += 1

    def _begin(self) -> None:
        while True:
            try:
                self.partitioner.plans.load()
                self._know()
                return
            except JournalError:  # as module.serve does: it is tried again
                self.cluster.pass_time(self._lag)

    def _know(self) -> None:
        """The invariants know the plans by their ids."""
        self.script.plans |= {run.id: run.plan for run in self.partitioner.plans.known()}

    def _replaced(self, crash: Callable[[], None]) -> None:
        """Do something that the manager may die of; then another one takes over."""
        try:
            crash()
        except Crash:
            old = self.mover
            self.cluster.stopped -= self._unsure
            self._unsure.clear()
            self.cluster.incarnation += 1
            self._commanding = False
            self._manager()
            pending, self.script.pending = self.script.pending, None
            if pending is not None:
                pending()
                self._undead = [old] * UNDEAD  # it does not know yet that it was replaced

    def _tick(self) -> None:
        self._replaced(self.mover.tick)
        if self._undead:
            self._undead.pop().tick()
        self.cluster.pass_time(self._lag)

    # commands

    def _between(self, label: str) -> None:
        """What others do just now; a command that would wait for a head's write comes a moment later."""
        if self._commanding or any(run.memory.writing.locked() for run in self.partitioner.plans.active()):
            return
        while self.script.waiting:
            action = self.script.waiting.pop(0)
            if action in ("stop", "pause", "rollback"):
                self._command(action)
            else:
                self.operator.do(action)

    def _command(self, action: str) -> None:
        run = next(iter(self.partitioner.plans.active()), None)
        fs = self.ceph.fs_by_id(run.plan.fscid) if run else None
        if run is None or fs is None:
            return
        self._commanding = True
        try:
            if action == "rollback":
                self.cluster.stopped.discard(fs.fscid)
                self.partitioner.rollback(fs, run.plan.name)
            else:
                self.cluster.stopped.add(fs.fscid)
                self.partitioner.stop(fs) if action == "stop" else self.partitioner.pause(fs, None)
        except JournalError:
            self._unsure.add(fs.fscid)  # it holds in this manager, and the operator was told that
        except PartitionerError:
            pass
        except Crash:
            self._unsure.add(fs.fscid)
            raise
        finally:
            self._commanding = False

    def _try(self, command: Callable[[], object]) -> bool:
        """A command, again and again until it is taken; False: it is refused for good."""
        for _ in range(20):
            answered: list[bool] = []

            def once(answered: list[bool] = answered) -> None:
                command()
                answered.append(True)

            try:
                self._replaced(once)
            except JournalError:
                continue
            except PartitionerError:
                return False
            if answered:
                return True
        return False

    def _plan(self, fscid: int) -> None:
        def plan() -> None:
            fs = self.ceph.fs_by_id(fscid)
            if fs is not None and not self.partitioner.plans.of(fs):
                s = self.scenario
                made = self.planning.plan(
                    fs,
                    name=None,
                    heavy=s.heavy,
                    ranks=None,
                    force=s.operators_pins,
                    to_auth=s.to_auth,
                    save=not s.scheduled,
                )
                if s.scheduled:
                    self.partitioner.plans.admit(
                        self.partitioner.plans.propose(fs, replace(with_swapped(made, s), scheduled=True))
                    )

        self._try(plan)
        self._know()
        self._try(lambda: self._start(fscid))

    def _start(self, fscid: int) -> None:
        fs = self.ceph.fs_by_id(fscid)
        for run in self.partitioner.plans.of(fs) if fs is not None else []:
            if run.head.state == READY:
                self.partitioner.start(fs, run.plan.name)

    # the end

    def _settle(self) -> None:
        """Nothing goes wrong any more: every plan must end, or be one that the operator holds."""
        self._calm()
        for _ in range(CALM):
            for run in self.partitioner.plans.active():
                fs = self.ceph.fs_by_id(run.plan.fscid)
                if fs is not None and (run.head.by_operator or run.memory.halted):
                    self._try(lambda fs=fs: self.partitioner.resume(fs))
            if not (self.partitioner.plans.active() or self.journal.behind()):
                return  # what the mon has refused it has now
            self._tick()
        for run in self.partitioner.plans.active():
            self.cluster.violations.append(f"plan {run.plan.name} does not end: {run.head}")

    def _check_done(self) -> None:
        for run in self.partitioner.plans.known():
            if run.head.state not in (DONE, STOPPED, ROLLED_BACK, READY):
                self.cluster.violations.append(f"plan {run.plan.name} has ended as {run.head.state}")
            if run.head.state == DONE and half_done(run.plan, run.records):
                self.cluster.violations.append(f"plan {run.plan.name} has left a row half done")
            if run.head.state == PAUSED and not run.head.why:
                self.cluster.violations.append(f"plan {run.plan.name} does not say what it waits for")

    def _check_memory(self) -> None:
        """What the next manager reads is what this one knew."""
        before = {run.id: _known(run) for run in self.partitioner.plans.known()}
        self.cluster.incarnation += 1
        self._manager()
        after = {run.id: _known(run) for run in self.partitioner.plans.known()}
        for id_, known in before.items():
            read, head = after.get(id_, {}), known[-1]
            if any(read.get(i) not in _allowed(was, head) for i, was in known.items()):
                self.cluster.violations.append(f"a fail-over has lost {known}, and read {after.get(id_)}")

    def _roll_back(self, ticks: int) -> None:
        waiting = self._in_force()
        for tick in range(ticks):
            if not waiting:
                return
            # In every other history one after the other: what one puts back the others may still want.
            for run in waiting[-1:] if self.script.history.seed % 2 else reversed(waiting):
                fs = self.ceph.fs_by_id(run.plan.fscid)
                held = run.head.by_operator or run.memory.halted
                if fs is not None and (run.head.state not in ACTIVE or held):
                    self.cluster.stopped.discard(fs.fscid)
                    self._try(lambda fs=fs, run=run: self.partitioner.rollback(fs, run.plan.name))
            self._tick()
            self._check_options()
            if tick % HEAL_EVERY == HEAL_EVERY - 1:
                self.operator.heal()
            waiting = self._in_force()
        if ticks == CALM:
            for run in waiting:
                self.cluster.violations.append(f"plan {run.plan.name} is not rolled back: {run.head}")

    def _in_force(self) -> list[Run]:
        """What can be rolled back: of a removed file system nothing can, and its records stay."""
        return [
            run
            for run in self.partitioner.plans.known()
            if run.head.state in ACTIVE
            or (in_force([run], run.plan.fscid) and self.ceph.fs_by_id(run.plan.fscid) is not None)
        ]

    def _check_restored(self) -> None:
        for _ in range(self._lag + 2):
            self._tick()
        for target, held in self.cluster.held.items():
            value = self.cluster.value(target)
            if value is None or held.raced:
                continue
            last = held.initial if held.last is None else held.last
            allowed = {held.initial, *held.wanted} if held.doubtful else {last}
            if value not in allowed:
                self.cluster.violations.append(
                    f"{target} is {value} after the rollback, not {sorted(allowed)}"
                )

    def _check_options(self) -> None:
        """What one plan puts back another one may still want: whoever is last does."""
        for run in self.partitioner.plans.known():
            for i, record in run.records.items():
                step = run.plan.steps[i]
                target: Target = ("config", 0, step.target)
                if step.kind == CONFIG_STEP and record.state == APPLIED:
                    value, held = self.cluster.value(target), self.cluster.held[target]
                    if value != step.value and value not in held.wanted and not held.raced:
                        told = f"{step.target} is {value!r}, and plan {run.plan.name} wants it still"
                        self.cluster.violations.append(told)

    def _forget(self) -> None:
        for run in list(self.partitioner.plans.known()):
            if run.head.state not in ACTIVE:
                self._try(lambda name=run.plan.name: self.partitioner.plans.remove(name))

    def _check_forgotten(self) -> None:
        self.cluster.incarnation += 1
        self._manager()
        for _ in range(MOST_LEFT):  # a manager removes a few keys in a tick
            self._try(self.mover.tick)
        left = sorted(self.cluster.store)
        if left:
            self.cluster.violations.append(f"{len(left)} keys are left: {left[:3]}")


def _known(run: Run) -> dict[int, tuple[str, str]]:
    """What must outlive a manager: the plan's state, and each step's, with the value it replaced.

    Of a plan that is rolled back, steps count no more: a replaced manager may have journaled the begin of one
    that it was not let make.
    """
    back = run.head.state == ROLLED_BACK
    steps = {i: (record.state, record.old) for i, record in run.records.items() if not back}
    return {-1: (run.head.state, run.head.resume_to), **steps}


def _allowed(known: tuple[str, str], head: tuple[str, str]) -> set[tuple[str, str]]:
    """What may be read of it: the mon may have taken the end of a step, and its answer been lost.

    Of a plan that is rolled back, a replaced manager may have journaled the begin of a step that it was not
    let make, or that its directory is gone or an operator's: nobody looks anew when its file system
    is removed.
    """
    state, old = known
    ends = {INTENT: (APPLIED, SKIPPED), UNDOING: (UNDONE, KEPT)}.get(state, ())
    late = (UNDOING, KEPT) if ROLLING_BACK in head and state in (INTENT, APPLIED) else ()
    return {known, *((other, old) for other in (*ends, *late))}


def play(history: History) -> Outcome:
    """A history's outcome; an error that nobody handled is a violation, too."""
    try:
        return Player(history).play()
    except (Exception, Crash) as e:
        return Outcome(history, (f"{type(e).__name__}: {e}",), 0, ())
