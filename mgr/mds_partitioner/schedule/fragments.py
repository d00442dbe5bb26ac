# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories that no pin divides, as their children come and go or as their load is their files': where what
is in them would be if MDSs placed it by their fragments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod

from ..ceph.filesystem import FileSystem
from ..model import NO_PIN, Churning
from ..observe.children import Brood, Placed, brood, is_apart, placed
from ..observe.turnover import MAINLY, MOST_LISTED, MOST_PARTS, listable
from ..plan.circumstances import Circumstances
from ..plan.families import family, hashed, held, shared_out
from .insides import LOWEST

FILES = 8  # a fragment, for the hash to share out their load
SEVERAL = 2.0  # at a time, on the mean
MOSTLY = 0.9  # of all that is below a directory is right in it, or of what is asked of it is for that
PASSED = 0.5  # of what is asked of a piece, at least, that is not for what is above what could be distributed
FEW = f"it has fewer than {FILES} files a fragment"
BESIDE = "too much is beside its files"
REPLACED = "what is in it is replaced by another time and again"
ELSEWHERE = "MDSs would put parts of it on ranks that are not to be used"
LOW = f"it is lower than level {LOWEST}, down to which directories are told apart"
ALREADY = "it is distributed already"


@dataclass(frozen=True)
class Fragments:
    """Of a directory that nobody has distributed yet.

    :ivar ranks: of its fragments, with ``ceph.dir.pin.distributed``: equal parts of its names
    :ivar children: that come and go that it has at a time, mean; or what stays in it
    :ivar pin: its own, which would be in the way
    :ivar files: what is placed so stays: files, or directories that are too many
    :ivar many: it is these directories
    :ivar above: directories that it is in, down from the one that was asked about, that have files as well
    """

    path: str
    ino: int
    ranks: tuple[int, ...]
    children: float
    pin: int = NO_PIN
    files: bool = False
    many: bool = False
    above: tuple[str, ...] = ()

    def asked_for(self, right: Mapping[str, float]) -> bool:
        """Is it known to have most of the load of what it is in? right: of what is asked of directories, the
        part that is for what is right in them, by path"""
        return prod(1.0 - right.get(path, 1.0) for path in self.above) >= PASSED

    def parts(self, home: int) -> tuple[int, ...]:
        """The rank of each equal part of its load. ``home``: the rank that it is on now"""
        return shared_out(self.ranks, self.children, (home,))


def fragments(
    mount: FileSystem, path: str, c: Circumstances, churning: Collection[Churning], *, split: bool = False
) -> Fragments | None:
    """Of a directory, or of the one below it whose children come and go. None: an operator has placed it or
    what is in it, most of what is in it lasts, or nothing would be gained.

    :param split: what lasts in it is seen as its parts: then there may be more of that
    :raises NotFound: it is gone
    """
    # One that is replaced by another now and then is what it is in: that may be what has several.
    inos = {of.ino for of in churning if of.at_once >= SEVERAL}
    at_once = {of.ino: of.at_once for of in churning if split or of.at_once >= of.lasting}

    def lasts(born: float, parent_born: float, parent: int, child: int = 0, /) -> bool:
        return parent not in inos  # what they are in may be as young as it likes

    found = brood(mount, path, lasts, listable, limit=0, pins=c.owned)
    parent = found.parent
    if parent.ino not in at_once or parent.distributed or held(found, c) is not None:
        return None
    ranks = hashed(parent.ino, c)
    if ranks is None or family(found, c, lasts, at_once).fragments is None:
        return None
    return Fragments(parent.path, parent.ino, ranks, at_once[parent.ino], parent.pin)


def flat(
    mount: FileSystem,
    path: str,
    c: Circumstances,
    parts: int,
    churning: Collection[Churning],
    right: Mapping[str, float],
) -> Fragments | str:
    """Of a directory, or of the only one below it, whose load is its files', or that of more directories than
    get ranks of their own. Else why there is none, in words: too few for all ranks, too much beside them, an
    operator has placed it or what it is in, or it is replaced by another one time and again, and its setting
    would go with it, or it is lower than LOWEST.

    :param parts: directories that may be beside the files, as they are moved by themselves
    :param right: of what is asked of directories, the part that is for what is right in them, by path,
        where it is known
    :raises NotFound: it is gone
    """
    chain: list[Placed] = []
    above: list[str] = []
    passing = {of.ino for of in churning}
    while path.count("/") <= LOWEST:  # each level takes seven questions, in each round
        chain.append(placed(mount, path))
        entries, subdirs, ranks = mount.entries(path), mount.subdirs(path), hashed(chain[-1].ino, c)
        if ranks is None:
            return ELSEWHERE
        many = entries > MOST_PARTS and subdirs >= MAINLY * entries
        names = entries if many else entries - subdirs
        enough, asked = names >= FILES * len(ranks), right.get(path, 0.0) >= MOSTLY
        if enough and (many or asked or _its_own(mount, path, names, subdirs, parts)):
            at, over = chain[-1], tuple(above)
            own = Fragments(at.path, at.ino, ranks, float(names), at.pin, True, many, over)
            return held(Brood(tuple(chain), 0.0, ()), c) or (ALREADY if at.distributed else own)
        if entries > subdirs:
            above.append(path)
        # One of two may be the volumes module's, which is not told.
        few = 1 <= subdirs <= 2 and entries <= MOST_LISTED
        if few and chain[-1].ino in passing:
            return REPLACED
        below = mount.subdirectories(path) if few else []
        lower = f"{path}/{below[0][0]}" if len(below) == 1 else ""
        if not lower or is_apart(mount, lower, below[0][1], c.owned):  # that has its load for itself
            return BESIDE if enough else FEW
        path = lower
    return LOW


def _its_own(mount: FileSystem, path: str, files: int, subdirs: int, parts: int) -> bool:
    """Is a directory's load that of its files? Where others are in it, by how much is in those, unless these
    are its parts. The only one below is looked into itself."""
    if not subdirs or (subdirs > 1 and parts >= MOSTLY * subdirs):
        return True
    return files >= MOSTLY * mount.rentries(path)
