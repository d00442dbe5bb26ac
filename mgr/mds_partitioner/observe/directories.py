# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories there are, and their recursive statistics, read a few at a time."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from .. import clock
from ..ceph.filesystem import FileSystem
from ..ceph.host import FS_TIMEOUT
from ..ceph.mounts import LOST
from ..ceph.volumes import NO_GROUP, VOLUMES, internal
from ..clock import Now
from ..errors import BadInput, CephError, NotFound, PartitionerError
from ..model import ROOT, Directory, DirectoryFacts
from .children import found_again
from .subtrees import ancestors
from .turnover import MOST_PARTS, listable

SNAPSHOTS = ".snap"
LONGEST = FS_TIMEOUT / 2  # s: a saturated MDS takes 0.1 s a question; who is given up loses what was read
A_WHILE = 2.0  # s: a decision waits for the first listing
SELDOM = 600.0  # s between two listings of what has too many entries to be listed each time
MOST_ENTRIES = 100_000  # of the root: with more it is not listed even then, as that takes an MDS a second


def listed(fs: FileSystem, group: str, label: str) -> list[Directory]:
    """The subvolumes of a group, by its path; none if it has just gone. ``label``: before their names"""
    try:
        found = fs.subdirectories(group)
    except NotFound:
        return []
    return [Directory(f"{group}/{name}", label + name, ino) for name, ino in found]


def groups(fs: FileSystem) -> dict[str, str]:
    """Paths of the groups of subvolumes, and what is before the names of those in them."""
    try:
        found = fs.subdirectories(VOLUMES)
    except NotFound:
        return {}
    return {f"{VOLUMES}/{group}": "" if group == NO_GROUP else f"{group}/" for group, _ in found}


def subvolumes(fs: FileSystem) -> list[Directory]:
    """Every subvolume of every group."""
    return [d for group, label in groups(fs).items() for d in listed(fs, group, label)]


def beside_subvolumes(fs: FileSystem) -> list[Directory]:
    """Every directory right below the root but the one that subvolumes are in."""
    paths = [(f"/{name}", ino) for name, ino in fs.subdirectories("/")]
    return [Directory(path, path, ino) for path, ino in paths if path != VOLUMES]


class Foremost:
    """Every subvolume; where there was none at first, every directory right below the root, unless that has
    too many entries to be listed each time."""

    def __init__(self) -> None:
        self._beside: bool | None = None  # None: neither was found yet

    def __call__(self, fs: FileSystem) -> list[Directory]:
        """As they are now."""
        found = [] if self._beside else subvolumes(fs)
        if found or self._beside is False or not listable(fs, "/"):
            self._beside = False if found else self._beside
            return found
        found = beside_subvolumes(fs)
        self._beside = True if found else None
        return found


@dataclass(frozen=True)
class _Listed:
    """What is in a group, or right below the root, as it was found last. Times are the steady clock's, s.

    :ivar at: when it was listed; looked: when it was looked at, listed or not
    :ivar many: directories in it then, where they are very many
    """

    found: list[Directory] = field(default_factory=list)
    at: float = -math.inf
    looked: float = -math.inf
    many: int | None = None


class Everything:
    """Every subvolume, and every directory right below the root but the one that subvolumes are in. What has
    too many entries to be listed each time is listed once in ``SELDOM`` s, a group also when it has more or
    fewer directories; in between, those that were found before and are still there. Of thousands of groups a
    full MDS lets each wait: they are looked at for ``A_WHILE`` s, and the others the next time.

    :ivar too_many: entries of the root, while they are more than are ever listed
    :ivar whole: each group has been listed
    """

    def __init__(self, now: Callable[[], Now] = clock.read) -> None:
        self._now = now
        self._groups: dict[str, _Listed] = {}  # by path
        self._root = _Listed()
        self._first = True
        self.too_many = 0
        self.whole = True

    def __call__(self, fs: FileSystem, now: float) -> list[Directory]:
        """As they are now. ``now``: steady clock, s"""
        labels, known, ends = groups(fs), self._groups, now + A_WHILE
        of = {path: known.get(path, _Listed()) for path in labels}
        for number, path in enumerate(sorted(labels, key=lambda path: of[path].looked)):
            if number and self._now().steady >= ends:
                break
            of[path] = _look(fs, path, labels[path], of[path], now)
        root = self._beside(fs, self._root, now)
        self._groups, self._root, self._first = of, root, False
        self.whole = all(group.at > -math.inf for group in of.values())
        return [*(d for group in of.values() for d in group.found), *root.found]

    def _beside(self, fs: FileSystem, old: _Listed, now: float) -> _Listed:
        """The first time nobody waits for a long list: subvolumes are known."""
        often = listable(fs, "/")
        entries = 0 if often else fs.entries("/")
        self.too_many = entries if entries > MOST_ENTRIES else 0
        if self.too_many or (not often and (self._first or now - old.at < SELDOM)):
            return replace(old, found=found_again(fs, old.found))
        return _Listed(beside_subvolumes(fs), now)


def _look(fs: FileSystem, path: str, label: str, old: _Listed, now: float) -> _Listed:
    """A group as it is now."""
    many = _subdirs(fs, path) if len(old.found) > MOST_PARTS else None
    if many is not None and many == old.many and now - old.at < SELDOM:
        return replace(old, found=found_again(fs, old.found), looked=now)
    return _Listed(_kept(listed(fs, path, label), old.found), now, now, many)


def _subdirs(fs: FileSystem, path: str) -> int:
    try:
        return fs.subdirs(path)
    except NotFound:
        return 0


def _kept(found: list[Directory], before: list[Directory]) -> list[Directory]:
    """The same, each as the very one that it was: there are thousands, and few are new."""
    known = {d.ino: d for d in before}
    return [old if (old := known.get(d.ino, d)) == d else d for d in found]


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
        self._extra, self._find, self._now = tuple(extra), Foremost(), now
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

    def directories(self) -> tuple[Directory, ...]:
        """Every directory, by path."""
        return self._sorted

    def facts(self) -> dict[str, DirectoryFacts]:
        """The facts read so far, by path."""
        return dict(self._facts)
