# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the ranks decided lately, as long as a policy of ours balances a file system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..judge.history import History
from ..judge.verdict import Verdict
from ..observe.beats import Beat

REMEMBERED = 10  # decisions


@dataclass(frozen=True)
class Decision:
    """What one rank decided in one beat; ``targets``: (ranks,), popularity to send."""

    rank: int
    time: float  # Unix, s
    targets: tuple[float, ...]
    line: str  # what the policy logged


@dataclass
class Watch:
    """What is remembered of one file system while a policy balances it; a new manager begins anew."""

    history: History = field(default_factory=History)
    verdict: Verdict | None = None
    judged_at: float = 0.0  # Unix, s
    beat: Beat | None = None
    decisions: Mapping[int, tuple[Decision, ...]] = field(default_factory=dict)  # replaced: commands read it
    moved: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # exported, imported inodes at first sight
    fallbacks: list[str] = field(default_factory=list)
    problem: str = ""
    due: float = 0.0  # monotonic, s
    again: float = 0.0  # when what failed is tried again, likewise
    pushed: float | None = None  # when hints were pushed last, monotonic, s; None: not known yet
