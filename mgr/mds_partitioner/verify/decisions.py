# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the ranks decided lately, as long as a policy of ours balances a file system."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model import RankSample
from ..observe.beats import Beat

WINDOW = 8  # epochs that the forecast is fitted to
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

    samples: deque[tuple[RankSample, ...]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    beat: Beat | None = None
    decisions: dict[int, deque[Decision]] = field(default_factory=dict)
    judged: Mapping[str, Any] = field(default_factory=dict)
    moved: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # exported, imported inodes at first sight
    fallbacks: list[str] = field(default_factory=list)
    problem: str = ""
    due: float = 0.0  # monotonic, s
