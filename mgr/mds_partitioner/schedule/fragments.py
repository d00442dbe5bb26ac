# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories whose children come and go: where these would be if MDSs placed each when it is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..model import NO_PIN
from ..observe.children import Brood, Lasts
from ..plan.circumstances import Circumstances
from ..plan.families import family, hashed, held, shared_out


@dataclass(frozen=True)
class Fragments:
    """Of a directory whose children come and go, and that nobody has distributed yet.

    :ivar ranks: of its fragments, with ``ceph.dir.pin.distributed``: equal parts of its names
    :ivar children: that come and go that it has at a time, mean
    :ivar pin: its own, which would be in the way
    """

    path: str
    ino: int
    ranks: tuple[int, ...]
    children: float
    pin: int = NO_PIN

    def parts(self, home: int) -> tuple[int, ...]:
        """The rank of each equal part of its load. ``home``: the rank that it is on now"""
        return shared_out(self.ranks, self.children, (home,))


def fragments(found: Brood, c: Circumstances, lasts: Lasts, at_once: Mapping[int, float]) -> Fragments | None:
    """None: an operator has placed it or what is in it, or nothing would be gained.

    :param found: whose children need not have been looked at
    :param at_once: as ``family``
    """
    parent = found.parent
    if parent.ino not in at_once or parent.distributed or held(found, c) is not None:
        return None
    ranks = hashed(parent.ino, c)
    if ranks is None or family(found, c, lasts, at_once).fragments is None:
        return None
    return Fragments(parent.path, parent.ino, ranks, at_once[parent.ino], parent.pin)
