# SPDX-License-Identifier: LGPL-2.1-or-later
"""What of a heavy directory a plan can rely on: children that last are pinned, others stay where made."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from ..engine.reasons import EPHEMERAL_PIN, PINNED_BY_OPERATOR
from ..judge.insides import Insides
from ..model import NO_PIN
from ..observe.children import Brood, Child, Lasts, Placed
from .circumstances import Circumstances
from .ephemeral import fragment_ranks

BroodOf = Callable[[str, Lasts], Brood]
OLD = 120.0  # s: what has this age lasts: half of what is so old lives for as long again (Lindy)
SKEW = 300.0  # s: births are told by clients' clocks, which are not much farther from the manager's
AGED = 600.0  # s: what has this age, and outlived what comes and goes beside it, lasts
OF_ITS_LIFE = 0.1  # a young directory has been there at least for this part of its parent's life
MOST_AT_HOME = 0.9
PARTS = 8  # of a fragment, to tell how much of it is at home
MUCH_OWN = (
    0.5  # of the requests, for files right in a directory: heat, by which children are told, weighs writes
)
NEARLY = 0.999  # of a directory, at most, is what comes and goes where something lasts, be that idle
MOSTLY = 0.5  # part of a directory that comes and goes, from which on its parent may be distributed


@dataclass(frozen=True)
class Held:
    """What an operator has pinned to a rank right below a heavy directory: the parts, 0 to 1, of all requests
    and of all that is in it."""

    rank: int
    requests: float
    inodes: float


@dataclass(frozen=True)
class Family:
    """A heavy directory as a plan uses it: without what is ``held``, of which no other part here is one.

    :ivar lasting: children that will be there, and may be pinned
    :ivar inside: what an analysis has seen of the children; None: nothing
    :ivar passing: how many others there were: they are made where their parent is
    :ivar staying: the part of all that is where the parent is, 0 to 1
    :ivar fragments: the rank of each equal part of the load if the parent were distributed; None when it
        cannot be
    :ivar scattered: it is, by us
    :ivar ranks: where the parent is itself
    :ivar released: children that we pinned and that cannot be relied on any more
    :ivar own: the part of all requests that is for what is right in the parent, or above it, 0 to 1
    :ivar unlisted: the parent has too many entries for its children to be listed
    :ivar held: what stays on its ranks, whatever is planned
    """

    parent: Placed
    lasting: tuple[Child, ...]
    inside: Insides | None
    passing: int
    staying: float
    fragments: tuple[int, ...] | None
    scattered: bool
    ranks: tuple[int, ...]
    released: tuple[Child, ...]
    own: float = 0.0
    unlisted: bool = False
    held: tuple[Held, ...] = ()

    @cached_property
    def left(self) -> tuple[float, float]:
        """What is not held: the parts of all requests and of all that is in it, 0 to 1."""
        requests, inodes = sum(at.requests for at in self.held), sum(at.inodes for at in self.held)
        return max(0.0, 1.0 - requests), max(0.0, 1.0 - inodes)

    @cached_property
    def sizes(self) -> tuple[float, ...]:
        """Files and directories in each lasting child, in parts of all of them."""
        sizes, total = [_size((child,)) for child in self.lasting], _size(self.lasting)
        return tuple(size / total for size in sizes)

    @cached_property
    def known(self) -> tuple[float, ...]:
        """What each lasting child was asked for, as far as that stays on the same ones, in parts of all; 0
        where nothing was seen. What is left of the load is of all others that were seen, alike; some of these
        may have gone, or be an operator's."""
        if self.inside is None:
            return (0.0,) * len(self.lasting)
        asked = _asked(self.inside, self.lasting)
        total = sum(asked)
        return tuple(self.inside.stay * rate / total if total > 0.0 else 0.0 for rate in asked)

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """What each lasting child is expected to be asked for, in parts of all: what is not known goes by
        size."""
        left = max(0.0, 1.0 - sum(self.known))  # rounding must make nothing negative
        return tuple(part + left * size for part, size in zip(self.known, self.sizes))


def lasting(
    churning: Collection[int], since: float, now: float, outlived: Collection[int] = frozenset()
) -> Lasts:
    """Does a child last? An old one does, and a young one that outlived the analysis and has been there for a
    good part of its parent's life, unless its siblings come and go. One that is not born yet by far tells
    nothing of its age: it would be young for ever. Times in seconds since the Unix epoch.

    :param churning: inode numbers of directories whose children were seen to come and go
    :param since: when the analysis began, or it would be too young
    :param outlived: of these children, those that stayed all the same
    """

    def lasts(born: float, parent_born: float, parent: int, child: int = 0, /) -> bool:
        age = now - born
        if parent in churning:
            return child in outlived and age >= AGED
        if age >= OLD or age < -SKEW:
            return True
        return born <= since and age >= OF_ITS_LIFE * (now - parent_born)

    return lasts


def _operators(ino: int, pin: int, c: Circumstances) -> bool:
    return pin != NO_PIN and not c.owns_pin(ino, pin) and not c.force


def held(brood: Brood, c: Circumstances) -> str | None:
    """The reason why an operator's settings right below a directory keep it from being split, if any."""
    for at in brood.chain:
        if (at.random or (at.distributed and not c.owns_distributed(at.ino))) and not c.force:
            return EPHEMERAL_PIN
    if any(_operators(at.ino, at.pin, c) for at in brood.chain[1:]):
        return PINNED_BY_OPERATOR
    return None


def family(
    brood: Brood,
    c: Circumstances,
    lasts: Lasts,
    at_once: Mapping[int, float],
    inside: Insides | None = None,
    requests: float = 0.0,
) -> Family:
    """Judge a heavy directory's children; those that an operator pinned are held, unless their rank does not
    exist: MDSs leave these where their parent is.

    What comes and goes is as much of it as it is asked for, or as it holds, whichever is more: small ones may
    have nearly all requests.

    To be distributed there must be at least one that comes and goes for each rank; once it is, it may stay.
    Clients in step make and remove them all at a time, so one listing does not tell how many there are.

    :param at_once: children that come and go that directories have at a time, mean, by inode number
    :param inside: what an analysis has seen of its children; None: nothing
    :param requests: of all that is in it, req/s
    """
    parent = brood.parent
    theirs = [at for at in brood.children if _operators(at.ino, at.pin, c)]
    held = [at for at in theirs if at.pin in c.fs.ranks_in]
    taken = {at.ino for at in theirs}
    free = [at for at in brood.children if at.ino not in taken]
    stay = [child for child in free if lasts(child.born, brood.born, parent.ino, child.ino)]
    staying = {child.ino for child in stay}
    passing = [child for child in free if child.ino not in staying]
    at_home = [*passing, *(at for at in theirs if at.pin not in c.fs.ranks_in)]
    number = max(len(passing) + brood.vanished, round(at_once.get(parent.ino, 0.0)))
    ours = parent.distributed and c.owns_distributed(parent.ino)
    own = _own(inside, requests)
    asked = _parts(inside, parent, stay, at_home, *([at] for at in held))
    part, apart = _division(stay, held, _size(at_home) + number - len(passing), own, asked)
    return Family(
        parent=parent,
        lasting=tuple(stay),
        inside=inside,
        passing=number,
        staying=part,
        fragments=_fragments(parent, number, brood.ranks, c)
        if ours or (part >= MOSTLY and number >= len(c.ranks))
        else None,
        scattered=ours,
        ranks=brood.ranks,
        own=own,
        released=tuple(child for child in passing if child.pin != NO_PIN),
        unlisted=brood.unlisted,
        held=apart,
    )


def _division(
    stay: Sequence[Child],
    held: Sequence[Child],
    going: float,
    own: float,
    asked: tuple[float, ...] | None,
) -> tuple[float, tuple[Held, ...]]:
    """The part of what is not held that is where the directory is, and what is held.

    :param going: files and directories in those that are where it is
    :param own: the part of its requests that is of no child
    :param asked: in parts of what its children are asked for, those that stay, those that are where it is,
        and each that is held; None: not known
    """
    total, below = going + _size(stay) + _size(held), 1.0 - own
    sizes = [_size((child,)) / total for child in held]
    rates = sizes if asked is None else asked[2:]

    def on(rank: int, parts: Sequence[float]) -> float:
        return below * sum(part for child, part in zip(held, parts) if child.pin == rank)

    apart = tuple(Held(rank, on(rank, rates), on(rank, sizes)) for rank in sorted({at.pin for at in held}))
    if not stay:
        return 1.0, apart
    free = max(0.0, 1.0 - sum(rates))
    by_requests = 1.0 - asked[0] / free if asked is not None and going and free else 0.0
    away = max(going / (going + _size(stay)), by_requests)
    of_children = below * free / (own + below * free) if own else 1.0
    return min(NEARLY, 1.0 - (1.0 - away) * of_children), apart


def current(found: Family | None, seen: tuple[int, ...]) -> tuple[int, ...]:
    """The ranks that a directory's load is on. What comes and goes is where its parent is, whatever else of
    the directory was seen on other ranks."""
    if found is None or found.staying < MOSTLY or found.scattered or not found.ranks:
        return but_held(found, seen)
    return found.ranks


def but_held(found: Family | None, seen: tuple[int, ...]) -> tuple[int, ...]:
    """Of the ranks that a directory's load is on, those that have more of it than what is held there."""
    if found is None or found.scattered or not found.held:
        return seen
    there = {rank for child in found.lasting for rank in child.ranks}.union(found.ranks)
    held = {at.rank for at in found.held} - there
    return tuple(rank for rank in seen if rank not in held) or found.ranks or seen


def _own(inside: Insides | None, requests: float) -> float:
    """The part of the requests that is of no child, where it is more than what is not known of them.

    A directory is looked into only while it is among the busiest, so its mean over the whole analysis, which
    is ``requests``, is of another time.
    """
    whole = requests if inside is None or inside.whole is None else inside.whole
    if inside is None or whole <= 0.0:
        return 0.0
    own = 1.0 - (sum(part.requests for part in inside.parts) + inside.rest) / whole
    return own if own >= MUCH_OWN else 0.0


def _asked(inside: Insides, children: Sequence[Child]) -> list[float]:
    """req/s of each of these. What was not seen by name has its part of what others were asked for."""
    seen = {part.path: part.requests for part in inside.parts}
    others = sum(child.path not in seen for child in children)
    rest = inside.rest / max(1, others, inside.number)
    return [seen.get(child.path, rest) for child in children]


def _parts(inside: Insides | None, parent: Placed, *groups: Sequence[Child]) -> tuple[float, ...] | None:
    """What was asked of each of these groups of its children, in parts of what was of any, also of those that
    have gone; None: nothing is known of these."""
    if inside is None:
        return None
    below = [part.requests for part in inside.parts if part.path.rpartition("/")[0] == parent.path]
    if not sum(below) > 0.0:
        return None
    asked, total = iter(_asked(inside, [child for of in groups for child in of])), sum(below) + inside.rest
    return tuple(sum(islice(asked, len(of))) / total for of in groups)


def _size(children: Collection[Child]) -> float:
    return sum(max(1.0, child.rentries) for child in children)


def _fragments(
    parent: Placed, children: int, home: Sequence[int], c: Circumstances
) -> tuple[int, ...] | None:
    """Where the load would be, in equal parts. ``home``: the ranks that the parent is on itself"""
    ranks = hashed(parent.ino, c)
    return None if ranks is None else shared_out(ranks, children, home)


def hashed(ino: int, c: Circumstances) -> tuple[int, ...] | None:
    """The rank of each fragment of a directory if it were distributed; None: MDSs do not do that, or not all
    of these ranks may be used."""
    if c.distributed_factor is None:
        return None
    ranks = fragment_ranks(ino, c.fs.max_mds, c.distributed_factor)
    return ranks if set(ranks) <= set(c.ranks) else None


def shared_out(fragments: Sequence[int], children: float, home: Sequence[int]) -> tuple[int, ...]:
    """The rank of each equal part of the load of what comes and goes.

    :param fragments: where each would be
    :param children: that there are at a time
    :param home: the ranks that the parent is on itself
    """
    at_home = _at_home(children / len(fragments))
    parts = round(PARTS * len(fragments) * at_home / (1.0 - at_home))
    return tuple(fragments) * PARTS + (tuple(home) * parts if len(home) == 1 else ())


def _at_home(children: float) -> float:
    """The part of a fragment's load that is where the parent is. ``children``: in a fragment at once.

    A fragment without entries goes back to its parent's rank (Migrator::export_empty_import), and what is
    made in it is there until the next tick. So it is there for about twice the part of the time that it is
    empty, which for directories that come and go at random is exp(-children). Measured with 2: 0.2 to 0.4.
    """
    return min(MOST_AT_HOME, 2.0 * math.exp(-children))
