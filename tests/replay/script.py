# SPDX-License-Identifier: LGPL-2.1-or-later
"""What goes wrong in a history, and at which I/O: so a history can be replayed, and cut short."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mds_partitioner.plan.plan import Plan, Step

from .fake_cluster import Target

# Faults of an I/O.
BEFORE, AFTER, FAIL, LOST, LATE = "crash before", "crash after", "fails", "answer lost", "lands late"
TAKEOVER = "second manager"  # the one that was waiting for the answer lives on for a while
FAULTS = (BEFORE, AFTER, FAIL, LOST, LATE, TAKEOVER)

# What others do just before an I/O.
ACTIONS = (
    *("operator pins", "operator sets", "rename", "remove", "replace", "another in its place"),
    *("rank goes", "rank dies", "caches go cold", "fs renamed", "fs removed"),
    *("clock jumps", "unwell", "stop", "pause", "rollback"),
)

# The parts of a history; the numbers of a part's I/Os begin here.
EXECUTION, ROLLBACK, REMOVAL = 0, 10_000, 20_000


@dataclass(frozen=True)
class History:
    """One course of events. ``faults`` and ``actions`` by the number of an I/O; see the parts above."""

    seed: int
    scenario: str
    lag: int  # ticks until a pin is followed
    max_moves: int
    faults: tuple[tuple[int, str], ...]
    actions: tuple[tuple[int, str], ...]

    def without(self) -> Iterator[History]:
        """The same with one event less, for each event."""
        for i in range(len(self.faults)):
            yield self._with(self.faults[:i] + self.faults[i + 1 :], self.actions)
        for i in range(len(self.actions)):
            yield self._with(self.faults, self.actions[:i] + self.actions[i + 1 :])

    def and_then(self, at: int, event: str) -> History:
        """The same up to an I/O, and there an event in place of those that were there and after it."""
        faults = tuple(f for f in self.faults if f[0] < at)
        actions = tuple(a for a in self.actions if a[0] < at)
        if event in FAULTS:
            return self._with((*faults, (at, event)), actions)
        return self._with(faults, (*actions, (at, event)))

    def _with(self, faults: tuple[tuple[int, str], ...], actions: tuple[tuple[int, str], ...]) -> History:
        return History(self.seed, self.scenario, self.lag, self.max_moves, faults, actions)


def draw(seed: int, scenarios: tuple[str, ...]) -> History:
    """The history of a seed."""
    dice = random.Random(seed)
    scenario = dice.choice(scenarios)
    span = dice.choice((40, 120, 250))

    def at() -> int:
        part = dice.choice((EXECUTION, EXECUTION, EXECUTION, ROLLBACK, ROLLBACK, REMOVAL))
        return part + dice.randrange(12 if part == REMOVAL else span)

    faults = {at(): dice.choice(FAULTS) for _ in range(dice.choice((0, 1, 2, 3, 5)))}
    actions = {at(): dice.choice(ACTIONS) for _ in range(dice.choice((0, 1, 2, 3)))}
    return History(
        seed,
        scenario,
        dice.randrange(4),
        dice.choice((1, 2, 4)),
        tuple(sorted(faults.items())),
        tuple(sorted(actions.items())),
    )


@dataclass
class Script:
    """Plays a history: counts I/Os and says what happens at each."""

    history: History
    count: int = 0  # of the part's I/Os
    ios: int = 0  # of all
    pending: Callable[[], Any] | None = None  # what a replaced manager had sent and the mon takes later
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)  # (transition, fault)
    plans: dict[str, Plan] = field(default_factory=dict)  # by id, for the invariants
    waiting: list[str] = field(default_factory=list)  # actions that are due
    where: dict[str, int] = field(
        default_factory=dict
    )  # the first I/O of a kind at which something may happen

    def __post_init__(self) -> None:
        self._faults: dict[int, str] = {}
        self._actions: dict[int, str] = {}
        self._calm = True

    def begin(self, part: int) -> None:
        """A part of the history begins: from now on things go wrong as it says."""
        self.count, self._calm = part, False
        self._faults, self._actions = dict(self.history.faults), dict(self.history.actions)

    def next(self, label: str) -> tuple[int, str]:
        """The number of this I/O, and its fault, "" for none; what others do now goes to ``waiting``."""
        at, self.count, self.ios = self.count, self.count + 1, self.ios + 1
        fault, action = self._faults.pop(at, ""), self._actions.pop(at, "")
        if not self._calm:
            self.where.setdefault(label, at)
        for event in filter(None, (fault, action)):
            self.pairs[label, event] += 1
        if action:
            self.waiting.append(action)
        return at, fault

    def calm(self) -> None:
        """From now on nothing goes wrong."""
        self._calm = True
        self._faults.clear()
        self._actions.clear()
        self.waiting.clear()

    def planned(self, target: Target) -> set[str]:
        """The values that plans have for a target, and on the way back."""
        steps = ((step, plan.fscid) for plan in self.plans.values() for step in plan.steps)
        about = (step for step, fscid in steps if _target(step, fscid) == target)
        return {value for step in about for value in (step.value, str(step.home))}

    def records(self, store: Mapping[str, str], target: Target) -> Iterator[tuple[Step, dict[str, Any]]]:
        """The durable records of steps about a target, of whatever manager."""
        for key, value in store.items():
            _, id_, kind, *rest = key.split("/")
            if kind == "step" and id_ in self.plans:
                step = self.plans[id_].steps[int(rest[0])]
                if _target(step, self.plans[id_].fscid) == target:
                    yield step, json.loads(value)


def _target(step: Step, fscid: int) -> Target:
    """A step's kind is the kind of its target."""
    if step.ino:
        return step.kind, fscid, step.ino
    return step.kind, fscid if step.kind == "fs" else 0, step.target
