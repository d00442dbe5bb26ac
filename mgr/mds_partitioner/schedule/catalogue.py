# SPDX-License-Identifier: LGPL-2.1-or-later
"""The directories that the scheduler may move, read at their own pace: a slow MDS holds up no look."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nlargest

from ..ceph.filesystem import FileSystem
from ..ceph.host import Host
from ..clock import Now
from ..engine.names import FANOUT
from ..errors import Unavailable
from ..model import NO_PIN, Directory, DirectoryFacts, FsState
from ..observe.children import Brood, Child, Lasts, Placed
from ..observe.directories import Everything
from ..plan.circumstances import DISTRIBUTES, FACTOR, Circumstances, over, places
from ..plan.families import family, held
from .above import Above
from .asking import FRESH, SOON, WITHIN, Asking, Lesson, Questions, fresh
from .deleted import Deleted
from .ephemerals import Ephemerals
from .facts import Facts
from .fragments import Fragments, flat, fragments
from .insides import Inside, InsideReader
from .newborn import Newborn
from .owned import Owned

PAUSE = 3.0  # times what it took, before all are listed again
SURE, TRIES = 2, 3  # so many of the busiest were looked into, or it was tried so often: then it is decided


@dataclass(frozen=True)
class Known:
    """What was read so far.

    :ivar directories: subvolumes, directories right below the root, and the lasting children of those that
        are split
    :ivar within: of these children, the inode number of what they were taken out of, by their own
    :ivar read: when the facts were read, Unix, s, by path
    :ivar parts: how many lasting children a directory has, by inode number, where that was read; with what
        comes and goes beside them as one more, as long as it is not seen as its parts
    :ivar above: directories above these that are placed by settings of their own, and the busiest of these
        that have an ephemeral pin, by path
    :ivar fresh: inode numbers of those that were made since it looks, and found lately (newborn.NEW)
    :ivar fragments: what could be distributed, by the inode number of the directory that it is in
    :ivar undivided: why others of those that fill a rank could not be, in words, by inode number
    :ivar ripe: the busiest were looked at, so that they are not moved as a whole before it is known whether
        they have parts
    :ivar strangers: of those that are split, which have, or may have, pinned children that are not among
        ``directories``
    :ivar unknown: of those, which have, or may have, children that are still to be read
    :ivar waiting: paths of children of those that were listed, and not read
    :ivar masks: ``ceph.dir.bal.mask``, by inode number, of those that were read; None: MDSs without our hook
    :ivar too_many: entries of directories that have more than are ever listed, by path
    """

    directories: tuple[Directory, ...] = ()
    within: Mapping[int, int] = field(default_factory=dict)
    facts: Mapping[str, DirectoryFacts] = field(default_factory=dict)
    read: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[int, int] = field(default_factory=dict)
    above: Mapping[str, Placed] = field(default_factory=dict)
    masks: Mapping[int, str] | None = None
    fresh: frozenset[int] = frozenset()
    fragments: Mapping[int, Fragments] = field(default_factory=dict)
    undivided: Mapping[int, str] = field(default_factory=dict)
    ripe: bool = False
    strangers: frozenset[int] = frozenset()
    unknown: frozenset[int] = frozenset()
    waiting: tuple[str, ...] = ()
    too_many: Mapping[str, int] = field(default_factory=dict)

    def pin(self, directory: Directory, owned: Owned) -> int:
        """A directory's pin: as it was read, unless we have set another one since. Its facts are known."""
        ours = owned.pins.get(directory.ino)
        if ours is not None and owned.moved_at.get(directory.ino, 0.0) >= self.read[directory.path]:
            return ours
        return self.facts[directory.path].pin

    def without(self, inos: Collection[int]) -> Known:
        """What was read of some directories is not relied on any more."""
        return replace(self, facts={p: f for p, f in self.facts.items() if f.directory.ino not in inos})

    @property
    def seen(self) -> tuple[bool, bool]:
        """Is there anything to look at, and to decide on?"""
        return bool(self.directories), self.ripe

    @property
    def unread(self) -> int:
        """Directories whose facts are not known."""
        return len(self.directories) - len(self.facts)

    def circumstances(self, fs: FsState, owned: Owned, factor: float | None = None) -> Circumstances:
        """What tells whether a directory may be moved.

        :param factor: ``mds_export_ephemeral_distributed_factor``; None: nothing is to be distributed
        """
        return Circumstances(
            fs=fs,
            ranks=fs.ranks_in,
            owned=owned.pins,
            masks=self.masks,
            owned_masks=owned.masks,
            owned_distributed=owned.distributed,
            values=owned.values,
            distributed_factor=factor,
            above=self.above,
            # Of an operator's plans: whether a directory may be moved does not hang on these.
            heavy_mode=FANOUT,
            force=False,
            moved_at={},
            owns_settings=False,
        )


@dataclass(frozen=True)
class Wanted:
    """What the next round should look at.

    :ivar requests: req/s by path: the busiest are read first; also of what is waiting to be read
    :ivar split: inode numbers of directories that are to be seen as their parts
    :ivar hot: of those that fill a rank by what no parts of them could take along
    :ivar moving: of those that are under way, which do not answer for a while
    :ivar count: of those that are looked into besides the busiest
    :ivar epoch: s from one round to the next, but for those that have no pauses
    :ivar right: of what is asked of directories, the part that is for what is right in them, by path, where
        it is known
    """

    requests: Mapping[str, float] = field(default_factory=dict)
    split: frozenset[int] = frozenset()
    hot: frozenset[int] = frozenset()
    moving: frozenset[int] = frozenset()
    count: frozenset[int] = frozenset()
    epoch: float = 10.0
    right: Mapping[str, float] = field(default_factory=dict)


class Early(enum.Enum):
    """Why a round ended before all was read."""

    NOT = enum.auto()
    PARTS = enum.auto()  # those of something that had none have come to be known
    COUNTS = enum.auto()  # it is known that what fills a rank has some


class Catalogue:
    """Of one file system; ``known`` is replaced as a whole, so readers need no lock."""

    def __init__(self, host: Host, began: float, now: Callable[[], Now]) -> None:
        """``began``: when it began to look, Unix, s."""
        self._host, self._now = host, now
        self._asking = Asking(host)
        self._facts = Facts(self._asking)
        self._insides = InsideReader(self._asking, now)
        self._newborn = Newborn(self._asking, began)
        self._ephemerals = Ephemerals(self._asking)
        self._above = Above()
        self._fragments: dict[int, tuple[float, Fragments]] = {}  # by inode number; when it was read last
        self._undivided: dict[int, str] = {}  # of what was looked at in the last round, by inode number
        self._everything = Everything(now)
        self._directories: list[Directory] | None = None  # as they were listed last
        self._listed = -math.inf  # when that was, steady clock, s
        self._took = math.inf, math.inf  # how long it took, s, and the one before
        self._doubted: frozenset[int] = frozenset()
        self._masks: dict[int, str] = {}
        self._early = Early.NOT  # how the last round ended
        self._tries = 0  # rounds in which the busiest were looked at
        self.known = Known()
        self.deleted = Deleted(host)

    def doubt(self, inos: Collection[int]) -> None:
        """Somebody changed these directories' pins: they are read again, before all others."""
        self._doubted |= set(inos)
        self.known = self.known.without(inos)

    def doubt_above(self) -> None:
        """Nothing was read for a while: what operators have set above directories since, and their masks, are
        not known. Their pins are looked at again before they are changed."""
        self._above, self._masks = Above(), {}
        masks: Mapping[int, str] | None = None if self.known.masks is None else {}
        self.known = replace(self.known, facts={}, masks=masks, ripe=False)

    def refresh(self, fs: FsState, limit: int, wanted: Wanted, owned: Owned, now: float) -> bool:
        """One round. Did it end early, as parts of something came to be known, or that it has some? Each
        question waits at a full rank: what relieves it comes first. The rest is for the next round.

        :param limit: directories whose facts are read
        :param now: Unix, s
        :raises PartitionerError: the file system does not answer; what was known stays
        """
        found = self._host.has_hook(fs)
        hooked = self.known.masks is not None if found is None else found  # nobody knows: as it was
        split = [d for d in self._facts.directories() if d.ino in wanted.split]
        c = self.known.circumstances(fs, owned, self._factor(wanted, split))
        busiest = self._busiest(wanted.requests, len(fs.ranks_in))
        # Of what is being exported, and what that is in, nothing is answered meanwhile.
        away = {self.known.within.get(ino, ino) for ino in wanted.moving} | wanted.moving
        quiet = [d for d in busiest if d.ino not in away]
        # Of these the parts are counted, too: what was renamed into one, with its pin, is none of its load.
        besides = wanted.count - away - {d.ino for d in busiest}
        count = [d for d in self._facts.directories() if d.ino in besides]
        of = Inside(quiet, count, split, wanted.requests, wanted.moving)
        lasts = self._insides.look(fs, of, owned, now, first=not self.known.ripe)
        doubted, self._doubted = self._doubted, frozenset()
        self._above.doubt(doubted)
        self._facts.doubt(doubted)
        parts, strangers = self._parts(wanted, owned, c, lasts)
        below = [kid for ino in wanted.split for kid in parts.get(ino, ())]
        busy = [*self._busiest(wanted.requests, 4 * len(fs.ranks_in)), *count]
        awake = [d for d in busy if d.ino not in away]
        read = [DirectoryFacts(_directory(kid), kid.rentries, kid.pin) for kid in self._insides.read]
        ripe, large = self.known.ripe, self._large(busiest, wanted, fs) | wanted.count
        self._early = self._ends_early(parts, wanted, large) if ripe else Early.NOT
        if self._early is Early.COUNTS:  # what is told of may be moved at once, or taken apart
            self._ephemerals.ask(fs, [d for d in awake if d.ino in large], now, SOON)
        if self._early is not Early.NOT:
            self._look_above(fs, below, [], wanted, owned, now)
            self._facts.see(wanted.requests, None, below, read, now)
            self.known = self._known(parts, strangers, wanted, hooked, now)
            return True
        self._list_all(fs)
        self._look_above(fs, below, awake if hooked else [], wanted, owned, now)
        self._ephemerals.look(fs, awake if ripe else quiet, now, WITHIN if ripe else SOON)
        self._read_fragments(fs, quiet, wanted, c, owned, now)
        self._facts.see(wanted.requests, self._directories, below, read, now)
        # Of what is in what is being exported nothing is answered either.
        inside = {ino for ino, parent in self.known.within.items() if parent in wanted.moving}
        self._facts.ask(fs, limit, awake, wanted.moving | inside, wanted.epoch, now)
        self._find_new(fs, now)
        self._tries += bool(wanted.requests)
        self.known = self._known(parts, strangers, wanted, hooked, now)
        return False

    def _ends_early(
        self, parts: Mapping[int, list[Directory]], wanted: Wanted, large: AbstractSet[int]
    ) -> Early:
        """Not for the same twice in a row: a manager that took over may find parts in dozens.

        :param large: inode numbers of those that may have to be taken apart
        """
        had, counts = set(self.known.within.values()), self._insides.counts
        if self._early is not Early.PARTS and any(parts.get(ino) for ino in wanted.split - had):
            return Early.PARTS
        new = (counts[ino][1] for ino in large & counts.keys() - self.known.parts.keys())
        return Early.COUNTS if self._early is Early.NOT and any(count > 1 for count in new) else Early.NOT

    @staticmethod
    def _large(busiest: Sequence[Directory], wanted: Wanted, fs: FsState) -> set[int]:
        """Inode numbers of those that have a rank's share of the load, or more."""
        share = sum(wanted.requests.values()) / max(1, len(fs.ranks_in))
        return {d.ino for d in busiest if wanted.requests.get(d.path, 0.0) >= share > 0.0}

    def _factor(self, wanted: Wanted, split: Sequence[Directory]) -> float | None:
        """Of MDSs that distribute; asked where something comes and goes, or is hot and has no parts."""
        turnover = self._insides.turnover
        passing = turnover.churning() or any(turnover.within(d.path, split=True) for d in split)
        if not passing and not wanted.hot:
            return None
        if not self._host.config(DISTRIBUTES):
            return None
        return float(self._host.config(FACTOR))

    def _parts(
        self, wanted: Wanted, owned: Owned, c: Circumstances, lasts: Lasts
    ) -> tuple[dict[int, list[Directory]], frozenset[int]]:
        """The lasting children of what was read, by its inode number; and ``Known.strangers``."""
        insides, at_once = self._insides, self._insides.at_once
        broods = {ino: owned.since(at, found) for ino, (at, found) in insides.broods.items()}
        families = {
            ino: family(found, c, lasts, at_once)
            for ino, found in broods.items()
            if held(found, c) is None and (found.children or not found.unread)
        }
        # What has a pin of ours is one as long as it is there, whatever becomes of the others.
        ours = {
            ino: [kid for kid in of.released if owned.pins.get(kid.ino) == kid.pin]
            for ino, of in families.items()
        }
        parts = {ino: list(map(_directory, (*of.lasting, *ours[ino]))) for ino, of in families.items()}
        strangers = (ino for ino in wanted.split if _strangers(broods.get(ino), parts.get(ino, ())))
        return parts, frozenset(strangers)

    def _list_all(self, fs: FsState) -> None:
        """MDSs list no parent of what is being exported until it has gone, and all are not listed more than a
        quarter of the time.

        :raises PartitionerError: nothing was ever listed, nor is it now
        """
        began = self._now().steady
        if began - self._listed < PAUSE * min(self._took):  # one may have waited for an MDS that was away
            return
        failed = self._asking.ask(fs, {("all", ""): partial(self._list, began=began)})
        if self._directories is None:
            why = "an MDS may wait for a client that is gone, for session_timeout"
            late = Unavailable(f"the directories of '{fs.name}' were not listed in time: {why}")
            raise failed.get(("all", ""), late)

    def _look_above(
        self,
        fs: FsState,
        below: Sequence[Directory],
        hooked: Sequence[Directory],
        wanted: Wanted,
        owned: Owned,
        now: float,
    ) -> None:
        """What places all that there is from above, and masks of some where MDSs have the hook."""
        paths = over([*(self._directories or ()), *below])
        questions: Questions = {("mask", d.ino): partial(self._mask, of=d) for d in hooked}
        questions |= self._above.due(paths, wanted.requests, owned, now)
        self._above.tried(self._asking.ask(fs, questions).keys(), now)

    def _list(self, mount: FileSystem, began: float) -> Lesson:
        directories = self._everything(mount, began)
        ended = self._now().steady

        def learn() -> None:
            # Groups that nobody knows yet are listed in the next look.
            listed = ended if self._everything.whole else -math.inf
            self._directories, self._listed = directories, listed
            self._took = ended - began, self._took[0]

        return learn

    def _mask(self, mount: FileSystem, of: Directory) -> Lesson:
        mask = mount.mask(of.path)
        return lambda: self._masks.update({of.ino: mask})

    def _known(
        self,
        parts: Mapping[int, list[Directory]],
        strangers: frozenset[int],
        wanted: Wanted,
        hooked: bool,
        now: float,
    ) -> Known:
        old, directories, read = self.known, self._facts.directories(), self._facts.read(now)
        one_in = {path.rpartition("/")[0]: fact.directory for path, (fact, _) in read.items()}
        clear = {parent for parent, one in one_in.items() if over([one]) <= self._above.found.keys()}
        known = {
            path: fact
            for path, (fact, _) in read.items()
            if fact.directory.ino not in self._doubted and path.rpartition("/")[0] in clear
        }
        above = {path: at for path, at in self._above.found.items() if at is not None and places(at)}
        there = {d.ino for d in directories}
        self._insides.forget(there)
        self._fragments = {ino: kept for ino, kept in self._fragments.items() if ino in there}
        self._masks = {ino: mask for ino, mask in self._masks.items() if ino in there}
        counted = {ino: count for ino, (_, count) in self._insides.counts.items()}
        broods = {ino: found for ino, (_, found) in self._insides.broods.items()}
        busiest = self._busiest(wanted.requests, SURE)
        told = all(d.ino in counted for d in busiest) or self._tries >= TRIES
        return Known(
            directories,
            {kid.ino: ino for ino in wanted.split for kid in parts.get(ino, ())},
            known,
            {path: read[path][1] for path in known},
            counted | {ino: len(kids) for ino, kids in parts.items() if ino in there},
            self._ephemerals.found | above,
            dict(self._masks) if hooked else None,
            self._newborn.fresh(now),
            {ino: of for ino, (_, of) in self._fragments.items()},
            undivided=dict(self._undivided),
            ripe=old.ripe or (bool(wanted.requests) and told) or not directories,
            strangers=strangers,
            unknown=frozenset(ino for ino in wanted.split if self._insides.awaited(ino)),
            waiting=tuple(k.path for ino in wanted.split if ino in broods for k in broods[ino].unread),
            too_many=self._everything.too_many,
        )

    def _read_fragments(
        self,
        fs: FsState,
        busiest: Sequence[Directory],
        wanted: Wanted,
        c: Circumstances,
        owned: Owned,
        now: float,
    ) -> None:
        """What is not looked at again is forgotten, and what we have pinned since: that would hold all of
        it."""
        self._undivided = {}
        if c.distributed_factor is None:
            self._fragments, self._undivided = {}, dict.fromkeys(wanted.hot, f"{DISTRIBUTES} is off")
            return
        there = {d.ino for d in busiest} | wanted.moving
        hot = [d for d in self._facts.directories() if d.ino in wanted.hot and d.ino not in there]
        self._fragments = {
            ino: kept
            for ino, kept in self._fragments.items()
            if fresh(kept[0], now, 2 * FRESH)
            if owned.moved_at.get(kept[1].ino, -math.inf) < kept[0]
        }
        turnover = self._insides.turnover
        churning = turnover.churning()
        passing = {d.ino: turnover.within(d.path, split=d.ino in wanted.split) for d in (*busiest, *hot)}
        parts = Counter(ino for ino in self.known.within.values() if ino in wanted.split)

        def question(mount: FileSystem, of: Directory) -> Lesson:
            split, coming = of.ino in wanted.split, passing[of.ino]
            found: Fragments | str | None = None
            if coming:
                found = fragments(mount, of.path, c, coming, split=split)
            if found is None and of.ino in wanted.hot:
                found = flat(mount, of.path, c, parts[of.ino], churning, wanted.right)
            if isinstance(found, Fragments):
                new = {of.ino: (now, found)}
                return lambda: self._fragments.update(new)
            why = {} if found is None else {of.ino: found}
            return lambda: self._undivided.update(why)

        due = [
            d
            for d in (*busiest, *hot)
            if (passing[d.ino] or d.ino in wanted.hot)
            and not fresh(self._fragments.get(d.ino, (-math.inf, None))[0], now)
        ]
        for directory in due:
            self._fragments.pop(directory.ino, None)
        self._asking.ask(fs, {("fragments", d.ino): partial(question, of=d) for d in due})

    def _find_new(self, fs: FsState, now: float) -> None:
        before = {d.ino: d.path for d in self.known.directories}
        born = {kid.ino: kid.born for _, of in self._insides.broods.values() for kid in of.children}
        self._newborn.look(fs, before, {d.ino: d for d in self._facts.directories()}, born, now)

    def _busiest(self, requests: Mapping[str, float], most: int) -> list[Directory]:
        found = [d for d in self._facts.directories() if requests.get(d.path, 0.0) > 0.0]
        return nlargest(most, found, key=lambda d: requests[d.path])


def _directory(kid: Child) -> Directory:
    return Directory(kid.path, kid.path, kid.ino)


def _strangers(found: Brood | None, parts: Sequence[Directory]) -> bool:
    """Has it, or may it have, pinned children that are no parts?"""
    if found is None or found.unread or found.unlisted:
        return True
    known = {part.ino for part in parts}
    return any(kid.pin != NO_PIN and kid.ino not in known for kid in found.children)
