# SPDX-License-Identifier: LGPL-2.1-or-later
"""What must hold whatever happened: pure functions of what was recorded. A violation is a sentence.

A directory is its inode: it is the same one wherever it is renamed to, and another one in its place is not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NONE = -1  # no pin
RACE_S = 5.0
"""An operator who changes a directory's pin within so many seconds of a plan's step on it may lose: nothing
in CephFS sets an attribute only if it still has a value."""
ENDED = ("ready", "done", "stopped", "rolled-back")


@dataclass(frozen=True)
class Seen:
    """A directory at one moment; ``pin`` is a rank or NONE."""

    path: str
    ino: int
    pin: int


@dataclass(frozen=True)
class OperatorSet:
    """An operator set (or, by forgetting a plan, took over) the pin of a directory at a time (Unix, s)."""

    ino: int
    pin: int
    at: float


@dataclass
class History:
    """What happened to pins. ``planned``: every value that a saved plan's steps have for an inode."""

    initial: dict[int, int] = field(default_factory=dict)
    operator: list[OperatorSet] = field(default_factory=list)
    planned: dict[int, set[int]] = field(default_factory=dict)
    passing: dict[int, set[int]] = field(default_factory=dict)
    """The pins that take an inode home while a plan is rolled back."""
    stepped: dict[int, set[float]] = field(default_factory=dict)
    """When steps on an inode were recorded, Unix, s."""

    def own(self, ino: int) -> int:
        """The pin that is not a plan's: the operator's last, or the first."""
        return next((s.pin for s in reversed(self.operator) if s.ino == ino), self.initial.get(ino, NONE))

    def operators(self, ino: int) -> set[int]:
        """Every pin that is not a plan's."""
        return {self.initial.get(ino, NONE)} | {s.pin for s in self.operator if s.ino == ino}

    def ordered(self, ino: int) -> set[int]:
        """Every pin that a plan may give it."""
        return self.planned.get(ino, set()) | self.passing.get(ino, set())

    def raced(self, ino: int) -> bool:
        """Did an operator and a step change it at about the same time?"""
        times = [s.at for s in self.operator if s.ino == ino]
        return any(abs(at - t) < RACE_S for at in times for t in self.stepped.get(ino, ()))


def not_journaled(seen: Iterable[Seen], history: History) -> list[str]:
    """At any moment: each pin is its first one, an operator's, or one that a saved plan has for it."""
    return [
        f"{s.path} (inode {s.ino}) has pin {s.pin}, which nobody ordered"
        for s in seen
        if s.pin not in history.operators(s.ino) | history.ordered(s.ino)
    ]


def not_restored(seen: Iterable[Seen], history: History) -> tuple[list[str], list[str]]:
    """After every plan was rolled back: each pin is the operator's last, or the first.

    :return: violations, and those that are none because nobody can tell: the operator's pin was the planned
        one too, or was set within RACE_S of the step
    """
    wrong: list[str] = []
    excused: list[str] = []
    for s in seen:
        own = history.own(s.ino)
        if s.pin == own:
            continue
        text = f"{s.path} (inode {s.ino}) has pin {s.pin} after the rollback, not {own}"
        alike = own in history.planned.get(s.ino, set()) and s.pin in history.operators(s.ino)
        (excused if alike or history.raced(s.ino) else wrong).append(text)
    return wrong, excused


def speechless(plans: Sequence[Mapping[str, Any]]) -> list[str]:
    """A plan that has not ended says what it waits for."""
    return [
        f"plan {plan['plan']} is {plan['state']} and does not say why"
        for plan in plans
        if plan["state"] not in ENDED and not plan["why"]
    ]


PLAN_CHECKS = ("MDS_PARTITIONER_PAUSED", "MDS_PARTITIONER_JOURNAL")


def left_behind(keys: Iterable[str], checks: Iterable[str]) -> list[str]:
    """After every plan was removed: no key of a plan in the mon's store, no plan in the health checks."""
    wrong = [f"the mon still has {key}" for key in keys]
    return wrong + [f"{check} stands" for check in checks if check in PLAN_CHECKS]
