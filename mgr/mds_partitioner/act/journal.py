# SPDX-License-Identifier: LGPL-2.1-or-later
"""The journal: every plan, every step's old value before it is replaced, in the mon's key/value store.

plan/NAME/head        the state, small and rewritten
plan/NAME/body/NNNN   the plan itself, immutable, in parts (the mon takes 64 KiB a key)
plan/NAME/step/NNNNNN one record a step, written before the change and when the change has ended
"""

import json
import re
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from ..errors import BadInput, Busy, JournalError, NotFound
from ..plan.plan import FS_STEP, MASK_STEP, PIN_STEP, Plan

PART = 48 * 1024  # characters; ASCII, so bytes
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

# States of a plan.
READY, RUNNING, PAUSED, STOPPED, DONE = "ready", "running", "paused", "stopped", "done"
ROLLING_BACK, ROLLED_BACK = "rolling-back", "rolled-back"
ACTIVE = (RUNNING, PAUSED, ROLLING_BACK)

# States of a step. INTENT and UNDOING are written before the change, the others after it.
INTENT, APPLIED, SKIPPED, UNDOING, UNDONE, KEPT = "intent", "done", "skipped", "undoing", "undone", "kept"


class Store(Protocol):
    """Durable keys and values (``host.KeyValue``)."""

    def put(self, key: str, value: str) -> None: ...
    def delete(self, key: str) -> None: ...
    def items(self, prefix: str) -> dict[str, str]: ...


@dataclass(frozen=True)
class Head:
    """The mutable part of a plan. Times in seconds since the Unix epoch."""

    state: str = READY
    why: str = ""  # why it is paused or ended
    by_operator: bool = False  # paused by a command, not by a guard
    until: float | None = None  # end of a pause
    resume_to: str = RUNNING  # what a pause interrupted
    started: float | None = None
    finished: float | None = None


@dataclass(frozen=True)
class Record:
    """What was done about one step. ``old`` is the value the step replaced."""

    state: str
    old: str
    time: float
    why: str = ""


@dataclass
class Run:
    """A plan and how far it got; the journal writes every change of it before it is made here."""

    plan: Plan
    head: Head
    records: dict[int, Record] = field(default_factory=dict)


def check_name(name: str) -> str:
    """A plan's name. :raises BadInput: when it cannot be one."""
    if not NAME.fullmatch(name):
        raise BadInput(f"'{name}' cannot be a plan's name: use up to 64 letters, digits, '_', '-' and '.'")
    return name


class Journal:
    """Reads and writes runs. Every write raises JournalError unless the mon confirmed it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()  # commands and the mover both change heads

    def load(self) -> list[Run]:
        """Every plan, oldest first. :raises JournalError: a record cannot be read."""
        parts: dict[str, dict[str, str]] = {}
        for key, value in sorted(self._store.items("plan/").items()):
            _, name, rest = key.split("/", 2)
            parts.setdefault(name, {})[rest] = value
        runs = [_run(name, found) for name, found in parts.items() if "head" in found]
        return sorted(runs, key=lambda run: run.plan.created)

    def create(self, plan: Plan, existing: Iterable[Run]) -> Run:
        """Save a new plan. The head is written last: a plan without one does not exist."""
        check_name(plan.name)
        if any(run.plan.name == plan.name for run in existing):
            raise Busy(f"a plan named '{plan.name}' exists already; choose another name or remove it")
        text = plan.to_json()
        for i, at in enumerate(range(0, len(text), PART)):
            self._store.put(f"plan/{plan.name}/body/{i:04d}", text[at : at + PART])
        run = Run(plan, Head())
        self._store.put(f"plan/{plan.name}/head", json.dumps(asdict(run.head)))
        return run

    def head(self, run: Run, *, only_from: str | None = None, **changes: Any) -> None:
        """Change the head, durably; with ``only_from``, unless a command has changed the state meanwhile."""
        with self._lock:
            new = replace(run.head, **changes)
            if new == run.head or only_from not in (None, run.head.state):
                return
            self._store.put(f"plan/{run.plan.name}/head", json.dumps(asdict(new)))
            run.head = new

    def record(self, run: Run, step: int, record: Record) -> None:
        """Write a step's record, durably."""
        self._store.put(f"plan/{run.plan.name}/step/{step:06d}", json.dumps(asdict(record)))
        run.records[step] = record

    def remove(self, run: Run) -> None:
        """Forget a plan. Its head goes first, so that half a removal leaves no half a plan."""
        self._store.delete(f"plan/{run.plan.name}/head")
        for key in self._store.items(f"plan/{run.plan.name}/"):
            self._store.delete(key)


def _run(name: str, parts: dict[str, str]) -> Run:
    try:
        body = "".join(value for key, value in sorted(parts.items()) if key.startswith("body/"))
        records = {
            int(key.removeprefix("step/")): Record(**json.loads(value))
            for key, value in parts.items()
            if key.startswith("step/")
        }
        return Run(Plan.from_json(body), Head(**json.loads(parts["head"])), records)
    except (ValueError, TypeError, KeyError) as e:
        raise JournalError(f"the journal of plan '{name}' cannot be read: {e}") from e


def find(runs: Iterable[Run], name: str) -> Run:
    """The named plan. :raises NotFound: with the names there are."""
    known = list(runs)
    for run in known:
        if run.plan.name == name:
            return run
    names = ", ".join(run.plan.name for run in known) or "none"
    raise NotFound(f"plan '{name}' does not exist (there are: {names})")


def in_force(runs: Iterable[Run], fscid: int) -> list[tuple[Run, int, Record]]:
    """Steps of this file system that were made and not undone, oldest first."""
    return [
        (run, i, record)
        for run in runs
        if run.plan.fscid == fscid
        for i, record in sorted(run.records.items())
        if record.state in (INTENT, APPLIED)
    ]


def owned_pins(runs: Iterable[Run], fscid: int) -> dict[int, int]:
    """The pin that this module last set, by inode number."""
    owned: dict[int, int] = {}
    for run, i, _ in in_force(runs, fscid):
        step = run.plan.steps[i]
        if step.kind == PIN_STEP:
            owned[step.ino] = int(step.value)
    return owned


def owned_masks(runs: Iterable[Run], fscid: int) -> dict[int, str]:
    """The ``ceph.dir.bal.mask`` that this module last set, by inode number."""
    steps = [run.plan.steps[i] for run, i, _ in in_force(runs, fscid)]
    return {step.ino: step.value for step in steps if step.kind == MASK_STEP}


def owned_settings(runs: Iterable[Run], fscid: int) -> dict[str, str]:
    """The settings of the file system that this module last made, by name."""
    return {
        run.plan.steps[i].target: run.plan.steps[i].value
        for run, i, _ in in_force(runs, fscid)
        if run.plan.steps[i].kind == FS_STEP
    }


def moved_at(runs: Iterable[Run], fscid: int) -> dict[int, float]:
    """When a directory was last moved by a plan, by the inode number of the row's directory."""
    moved: dict[int, float] = {}
    for run in runs:
        if run.plan.fscid != fscid:
            continue
        for i, record in run.records.items():
            row = run.plan.steps[i].row
            if row >= 0 and record.state in (INTENT, APPLIED):
                ino = run.plan.rows[row].ino
                moved[ino] = max(moved.get(ino, 0.0), record.time)
    return moved
