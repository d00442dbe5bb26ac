# SPDX-License-Identifier: LGPL-2.1-or-later
"""What this module set on a file system and nobody changed since, as its journal has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ..model import NO_PIN
from ..observe.children import Brood, Child
from ..plan.plan import About


@dataclass(frozen=True)
class Owned:
    """By inode number.

    :ivar moved_at: when a pin of it was last set, or the MDSs had followed, Unix, s
    :ivar homes: the rank that it had before the first; where something is looked into for its parts
    :ivar paths: the pins by path, as that was when they were set, and as MDSs tell it; likewise
    :ivar values: of all kinds, also what may still be there as a step has not ended
    """

    pins: Mapping[int, int] = field(default_factory=dict)
    moved_at: Mapping[int, float] = field(default_factory=dict)
    masks: Mapping[int, str] = field(default_factory=dict)
    distributed: Mapping[int, str] = field(default_factory=dict)
    homes: Mapping[int, int] = field(default_factory=dict)
    paths: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[About, Collection[str]] = field(default_factory=dict)

    def lowest(self, path: str) -> int:
        """Levels from the root down to the lowest pin of ours below a directory; 0: there is none."""
        inside = f"{path}/"
        pinned = (at for at, pin in self.paths.items() if pin != NO_PIN and at.startswith(inside))
        return max((at.count("/") for at in pinned), default=0)

    def since(self, listed: float, found: Brood) -> Brood:
        """A brood with the pins that we have set since it was listed, Unix, s."""

        def now(kid: Child) -> Child:
            ours = self.moved_at.get(kid.ino, 0.0) >= listed and kid.ino in self.pins
            return replace(kid, pin=self.pins[kid.ino]) if ours else kid

        return replace(found, children=tuple(map(now, found.children)))
