# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories that no pin divides, as their children come and go or as they have files only: where what is in
them would be if MDSs placed it by their fragments."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..filesystem import FileSystem
from ..model import NO_PIN, Churning
from ..observe.children import Brood, brood, placed
from ..observe.turnover import DEEPEST, MOST_LISTED
from ..plan.circumstances import Circumstances
from ..plan.families import family, hashed, held, shared_out

FILES = 8  # a fragment, for the hash to share out their load


@dataclass(frozen=True)
class Fragments:
    """Of a directory that nobody has distributed yet.

    :ivar ranks: of its fragments, with ``ceph.dir.pin.distributed``: equal parts of its names
    :ivar children: that come and go that it has at a time, mean; or its files
    :ivar pin: its own, which would be in the way
    :ivar files: there are only files in it
    """

    path: str
    ino: int
    ranks: tuple[int, ...]
    children: float
    pin: int = NO_PIN
    files: bool = False

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


def flat(mount: FileSystem, path: str, c: Circumstances) -> Fragments | None:
    """Of a directory, or of the only one below it, that has files only. None: there are other directories,
    too few files for all ranks, or an operator has placed it or what it is in.

    :raises NotFound: it is gone
    """
    chain = [placed(mount, path)]
    while (entries := mount.entries(path)) and mount.subdirs(path):
        below = mount.subdirectories(path) if entries <= MOST_LISTED and len(chain) <= DEEPEST else []
        if len(below) != 1:
            return None
        path = f"{path}/{below[0][0]}"
        chain.append(placed(mount, path))
    at, ranks = chain[-1], hashed(chain[-1].ino, c)
    taken = at.distributed or held(Brood(tuple(chain), 0.0, ()), c) is not None
    if ranks is None or entries < FILES * len(ranks) or taken:
        return None
    return Fragments(at.path, at.ino, ranks, float(entries), at.pin, files=True)
