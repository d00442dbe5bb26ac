# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories whose children come and go: where these would be if MDSs placed each when it is made."""

from collections.abc import Collection
from dataclasses import dataclass

from ..filesystem import FileSystem
from ..model import NO_PIN, Churning
from ..observe.children import brood
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


def fragments(
    mount: FileSystem, path: str, c: Circumstances, churning: Collection[Churning]
) -> Fragments | None:
    """Of a directory, or of the one below it whose children come and go. None: an operator has placed it or
    what is in it, most of what is in it lasts, or nothing would be gained.

    :raises NotFound: it is gone
    """
    inos = {of.ino for of in churning}
    at_once = {of.ino: of.at_once for of in churning if of.at_once >= of.lasting}

    def lasts(born: float, parent_born: float, parent: int) -> bool:
        return parent not in inos  # what they are in may be as young as it likes

    found = brood(mount, path, lasts, limit=0)
    parent = found.parent
    if parent.ino not in at_once or parent.distributed or held(found, c) is not None:
        return None
    ranks = hashed(parent.ino, c)
    if ranks is None or family(found, c, lasts, at_once).fragments is None:
        return None
    return Fragments(parent.path, parent.ino, ranks, at_once[parent.ino], parent.pin)
