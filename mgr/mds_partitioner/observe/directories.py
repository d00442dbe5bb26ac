# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories there are, and their recursive statistics, read a few at a time."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from .. import clock
from ..ceph.filesystem import FileSystem
from ..ceph.host import FS_TIMEOUT
from ..ceph.mounts import LOST
from ..ceph.volumes import NO_GROUP, VOLUMES, internal
from ..clock import Now
from ..errors import BadInput, CephError, NotFound, PartitionerError
from ..model import ROOT, Directory, DirectoryFacts
from .listing import Listing, look
from .subtrees import ancestors
from .turnover import listable

SNAPSHOTS = ".snap"
LONGEST = FS_TIMEOUT / 2  # s: a saturated MDS takes 0.1 s a question; who is given up loses what was read
A_WHILE = 2.0  # s: a decision waits for the first listing


def _groups(fs: FileSystem) -> list[Directory]:
    """The groups of subvolumes."""
    try:
        return [Directory(f"{VOLUMES}/{name}", name, ino) for name, ino in fs.subdirectories(VOLUMES)]
    except NotFound:
        return []


def _subvolumes(fs: FileSystem, group: Directory) -> list[Directory]:
    """Those of a group; none if it has just gone."""
    label = "" if group.name == NO_GROUP else f"{group.name}/"
    try:
        found = fs.subdirectories(group.path)
    except NotFound:
        return []
    return [Directory(f"{group.path}/{name}", label + name, ino) for name, ino in found]


def _beside_subvolumes(fs: FileSystem) -> list[Directory]:
    """Every directory right below the root but the one that subvolumes are in."""
    paths = [(f"/{name}", ino) for name, ino in fs.subdirectories("/")]
    return [Directory(path, path, ino) for path, ino in paths if path != VOLUMES]


class Subvolumes:
    """Every subvolume of every group, or what a plain tree has in their place. Of thousands of groups a full
    MDS lets each wait: they are looked at for a while, and the others the next time.

    :ivar whole: each group has been looked at
    """

    def __init__(self, patience: float, now: Callable[[], Now]) -> None:
        """``patience``: s that groups are looked at."""
        self._patience, self._now = patience, now
        self._volumes = Listing()
        self._in: dict[str, Listing] = {}  # by the group's path
        self.whole = True

    def __call__(self, fs: FileSystem, now: float) -> list[Directory]:
        """As they are now. ``now``: steady clock, s"""
        ends = now + self._patience
        self._volumes = look(fs, VOLUMES, partial(_groups, fs), self._volumes, now)
        of = {group: self._in.get(group.path, Listing()) for group in self._volumes.found}
        for number, group in enumerate(sorted(of, key=lambda group: (of[group].looked, group.path))):
            if number and self._now().steady >= ends:
                break
            read = partial(_subvolumes, fs, group)
            of[group] = look(fs, group.path, read, of[group], now, follows=True)
        self._in = {group.path: listing for group, listing in of.items()}
        self.whole = all(listing.looked > -math.inf for listing in of.values())
        return [directory for listing in of.values() for directory in listing.found]

    @property
    def too_many(self) -> dict[str, int]:
        """Entries of what has more than are ever listed, by path."""
        listings = {VOLUMES: self._volumes, **self._in}
        return {path: listing.too_many for path, listing in listings.items() if listing.too_many}


class Foremost:
    """Every subvolume; where there was none at first, every directory right below the root, unless that has
    too many entries to be listed each time. While subvolumes may be where too much is to be listed, they are
    looked for again."""

    def __init__(self, now: Callable[[], Now] = clock.read) -> None:
        self._now, self._subvolumes = now, Subvolumes(LONGEST / 2, now)
        self._beside: bool | None = None  # None: neither was found yet

    def __call__(self, fs: FileSystem) -> list[Directory]:
        """As they are now."""
        found = [] if self._beside else self._subvolumes(fs, self._now().steady)
        if found or self._beside is False or not (self._subvolumes.whole and listable(fs, "/")):
            self._beside = False if found else self._beside
            return found
        found = _beside_subvolumes(fs)
        self._beside = True if found and not self.too_many else None
        return found

    @property
    def too_many(self) -> dict[str, int]:
        """As for ``Subvolumes``."""
        return self._subvolumes.too_many


class Everything:
    """Every subvolume, and every directory right below the root but the one that subvolumes are in.

    :ivar too_many: entries of what has more than are ever listed, by path
    :ivar whole: as for ``Subvolumes``
    """

    def __init__(self, now: Callable[[], Now] = clock.read) -> None:
        self._subvolumes = Subvolumes(A_WHILE, now)
        self._root = Listing()
        self._first = True
        self.too_many: dict[str, int] = {}
        self.whole = True

    def __call__(self, fs: FileSystem, now: float) -> list[Directory]:
        """As they are now. The first time nobody waits for a long list: subvolumes are known. ``now``: steady
        clock, s"""
        found, read = self._subvolumes(fs, now), partial(_beside_subvolumes, fs)
        self._root = look(fs, "/", read, self._root, now, later=self._first)
        self._first = False
        root = {"/": self._root.too_many} if self._root.too_many else {}
        self.too_many, self.whole = root | self._subvolumes.too_many, self._subvolumes.whole
        return [*found, *self._root.found]


def named(fs: FileSystem, paths: Sequence[str]) -> list[Directory]:
    """The directories an operator named.

    :raises BadInput: one of them is a file, or the root, which takes no pin, or one is in another; a symbolic
        link leads to one, or it is in a snapshot, or kept by the volumes module for itself
    :raises NotFound: one of them does not exist
    """
    wanted = [_real(fs, normal(path)) for path in paths]
    found = [Directory(path, path, _pinnable(fs, path)) for path in wanted]
    for path in wanted:
        outer = next((above for above in ancestors(path) if above != path and above in wanted), None)
        if outer is not None:
            raise BadInput(f"{path!r} is in {outer!r}, and goes where that goes: give only one of them")
    return found


def _real(fs: FileSystem, path: str) -> str:
    """As MDSs have it."""
    if SNAPSHOTS in path.split("/"):
        raise BadInput(f"{path!r} is in a snapshot, which takes no pin: give directories, such as /home")
    try:
        way = on_the_way(fs, path)
        link = next((at for at in way[1:] if fs.is_link(at)), None)
    except NotFound as e:
        raise NotFound(f"{path!r} does not exist: {e}") from e
    if link is not None:
        raise BadInput(f"{link!r} is a symbolic link: give the path that it leads to, without links")
    if internal(way[-1]):
        raise BadInput(
            f"{path!r} is what the volumes module keeps for itself: give directories, such as /home"
        )
    return way[-1]


def on_the_way(fs: FileSystem, path: str) -> list[str]:
    """The directories from the root to a path, as MDSs have them. :raises NotFound: one is not there"""
    found = ["/"]
    for name in filter(None, path.split("/")):
        found.append(posixpath.join(found[-1], fs.name_in(found[-1], name)))
    return found


def _pinnable(fs: FileSystem, path: str) -> int:
    """Inode number."""
    ino = fs.ino(path)
    if ino == ROOT:
        raise BadInput(f"{path!r} is the root, which takes no pin: give directories below it, such as /home")
    if not fs.is_directory(path):
        raise BadInput(f"{path!r} is not a directory: give directories, such as /home")
    return ino


def normal(path: str) -> str:
    """An absolute path as it is kept and shown: without what names the same twice."""
    return "/" + posixpath.normpath(path).lstrip("/")


def facts(fs: FileSystem, directory: Directory) -> DirectoryFacts | None:
    """Recursive statistics and pin of one directory; None once it is gone or another has its name.

    :raises CephError: the mount is lost
    """
    try:
        if fs.ino(directory.path) != directory.ino:
            return None
        return DirectoryFacts(directory, *fs.rentries_and_pin(directory.path))
    except (NotFound, CephError) as e:
        if e.code in LOST:
            raise
        return None


class Rotation:
    """The directories of a file system and their facts, refreshed ``limit`` at a time: first those that were
    never read, the busiest first, then those read longest ago."""

    def __init__(
        self,
        extra: Sequence[str],
        now: Callable[[], Now] = clock.read,
    ) -> None:
        """``extra``: paths the operator named in place of what there is (``Foremost``)."""
        self._extra, self._find, self._now = tuple(extra), Foremost(now), now
        self.gone: tuple[str, ...] = ()  # of these, the ones that are not there now
        self._found: tuple[Directory, ...] = ()
        self._order: list[Directory] = []
        self._sorted: tuple[Directory, ...] = ()  # the same, by path
        self._facts: dict[str, DirectoryFacts] = {}
        self._new: set[str] = set()  # never looked at: one that cannot be read must not stand in the way

    def refresh(self, fs: FileSystem, limit: int, requests: Mapping[str, float]) -> None:
        """Look for new directories, then re-read the facts of at most ``limit`` of them, within ``LONGEST``.

        :param requests: as for ``see``
        :raises BadInput, NotFound: of the directories that the operator named none is there any more
        """
        self.see(requests, self._named(fs) if self._extra else self._find(fs))
        read: dict[Directory, DirectoryFacts | None] = {}
        ends = self._now().steady + LONGEST
        for directory in self.due(limit):
            if self._now().steady >= ends:
                break
            read[directory] = facts(fs, directory)
        self.learn(read)

    def see(
        self,
        requests: Mapping[str, float],
        found: Sequence[Directory] | None = None,
        below: Sequence[Directory] = (),
        read: Sequence[DirectoryFacts] = (),
    ) -> None:
        """Take in which directories there are.

        :param requests: req/s by path as last seen: without facts a directory cannot be judged, and the
            busiest decide
        :param found: None: those that were found last
        :param below: directories below subvolumes that are wanted beside these
        :param read: facts of some that somebody has just read; they count if they were not read before
        """
        self._found = self._found if found is None else tuple(found)
        wanted = {d.path: d for d in (*self._found, *below)}
        kept = [d for d in self._order if (now := wanted.get(d.path)) is d or now == d]
        if not len(kept) == len(self._order) == len(wanted):
            self._sorted = tuple(sorted(wanted.values(), key=lambda d: d.path))
        known = {d.path for d in kept}
        self._new = (self._new & known) | (wanted.keys() - known)
        self._facts = {
            path: fact
            for path, fact in self._facts.items()
            if (now := wanted.get(path)) is fact.directory or now == fact.directory
        }
        for fact in read:
            if fact.directory.path in self._new and wanted.get(fact.directory.path) == fact.directory:
                self._new.discard(fact.directory.path)
                self._facts[fact.directory.path] = fact
        everything = [*(d for path, d in wanted.items() if path not in known), *kept]
        if self._new:
            unread = [d for d in everything if d.path in self._new]
            unread.sort(key=lambda d: -requests.get(d.path, 0.0))
            everything = [*unread, *(d for d in everything if d.path not in self._new)]
        self._order = everything

    def due(self, limit: int, but: Collection[int] = ()) -> list[Directory]:
        """Whose facts are to be read next. ``but``: inode numbers of those that will not answer now"""
        return list(islice((d for d in self._order if d.ino not in but), limit))

    def unread(self, limit: int, but: Collection[int] = ()) -> list[Directory]:
        """Of these, the ones that were never read, or are in doubt."""
        new = (d for d in self._order if d.path in self._new and d.ino not in but)
        return list(islice(new, limit)) if self._new else []

    def learn(self, read: Mapping[Directory, DirectoryFacts | None]) -> None:
        """What was read; None: it is gone, or cannot be."""
        for directory, found in read.items():
            self._new.discard(directory.path)
            if found is None:
                self._facts.pop(directory.path, None)
            else:
                self._facts[directory.path] = found
        paths = {d.path for d in read}
        self._order = [*(d for d in self._order if d.path not in paths), *read]

    def doubt(self, paths: Iterable[str]) -> None:
        """What was read of these is read again next."""
        for path in list(paths):
            self._facts.pop(path, None)
            self._new.add(path)

    def _named(self, fs: FileSystem) -> list[Directory]:
        """One that was removed meanwhile, or is a file now, costs its own row only."""
        found: list[Directory] = []
        gone: list[str] = []
        why: PartitionerError | None = None
        for path in self._extra:
            try:
                found += named(fs, [path])
            except (BadInput, NotFound) as e:
                gone.append(path)
                why = e
        if why is not None and not found:
            raise why
        self.gone = tuple(gone)
        return found

    @property
    def unlisted(self) -> dict[str, int]:
        """Entries of what has too many to be listed for directories, by path."""
        return self._find.too_many

    def directories(self) -> tuple[Directory, ...]:
        """Every directory, by path."""
        return self._sorted

    def facts(self) -> dict[str, DirectoryFacts]:
        """The facts read so far, by path."""
        return dict(self._facts)
