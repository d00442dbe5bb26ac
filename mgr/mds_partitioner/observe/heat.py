# SPDX-License-Identifier: LGPL-2.1-or-later
"""Popularity of directories on a rank (``dump loads``): whose the rank's requests are."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from operator import mul
from typing import Any

from ..ceph.volumes import DELETING, VOLUMES
from .subtrees import above, ancestors

# Of IRD, IWR, READDIR, FETCH, STORE.
META_LOAD = (1.0, 2.0, 1.0, 2.0, 4.0)  # dirfrag_load_vec_t::meta_load (src/mds/mdstypes.h)
# READDIR counts entries: a listing of a thousand is a request or two and takes an MDS as long as some ten
# others (docs/design.md); that it is a request itself is counted besides (Heat.listing). Directories are
# stored for no client, or long after it asked.
REQUESTS = (1.0, 2.0, 0.01, 1.0, 0.0)
READDIR = 2
MOST_EACH = 1.0  # listings an entry: of those that have none nobody can tell where they are
# Counters of a directory: of its own subtree, and of all below it that the rank has (MDBalancer::hit_dir).
OWN, ALL = "pop_auth_subtree", "pop_auth_subtree_nested"
ME = "pop_me"  # of what is right in it
# What is in it was a subvolume: it stays on the rank of its pin, and is no piece any more.
PURGED = f"{VOLUMES}/{DELETING}"
TOLD = 0.05  # of all heat: what was added is at least so much, or nobody can tell where
PIECES, LUMP = 4, 0.5  # fragments of a directory, and of what is asked of all of them that one has
# Fragments of directories, each some 0.9 KB and 14 us to read: an MDS that has more to tell of serves nobody
# meanwhile, for seconds.
MOST_TOLD = 20_000
# MDSs take popularity off what they make replicas of, up to half of it each 3 s (hit_dir, and
# mds_bal_sample_interval): of what goes on at one rate a quarter is left, at the least.
SLACK = 4.0
GONE = 0.1  # of its heat: a load that would come to less, as it is now, has gone; not one that is held back


@dataclass(frozen=True)
class Heat:
    """Popularity on one rank, by what clients ask for.

    :ivar total: of all that the rank is the authority of
    :ivar of: by path; a subtree of its own below a directory does not count for it
    :ivar asked: the paths that were looked for
    :ivar half_life: s (mds_decay_halflife)
    :ivar entries: that were listed, by path, of the same subtree; listed: of all, likewise
    :ivar each: that these count for being listed, besides what each of them is
    """

    total: float = 0.0
    of: Mapping[str, float] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    half_life: float = 0.0
    entries: Mapping[str, float] = field(default_factory=dict)
    listed: float = 0.0
    each: float = 0.0

    @property
    def most(self) -> float:
        """req/s that it may stand for, at most."""
        return stands_for(self.total, self.half_life)

    def listing(self, listings: float) -> "Heat":
        """Each of so many listings/s is a request: as MDSs count their entries alone, where they are is told
        by these, all listings of a rank being alike. 0: they were not counted."""
        # What goes on at a rate r makes a decaying counter of r x half-life / ln 2.
        rate = self.listed * math.log(2.0) / self.half_life if self.half_life > 0.0 else 0.0
        return self.with_each(min(MOST_EACH, listings / rate) if rate > 0.0 else 0.0)

    def with_each(self, each: float) -> "Heat":
        """With entries that count so much for being listed."""
        more = each - self.each
        if not more:
            return self
        of = {path: hot + more * self.entries.get(path, 0.0) for path, hot in self.of.items()}
        return replace(self, total=self.total + more * self.listed, of=of, each=each)

    def since(self, before: "Heat", seconds: float, roots: AbstractSet[str] = frozenset()) -> "Heat":
        """Without the heat that loads have left behind that went in so many seconds.

        As it is, when so little was added that it tells nothing. What was not looked for before is taken to
        have been as hot.

        :param roots: paths at which the rank's subtrees begin
        """
        before = before.with_each(self.each)
        left = kept(seconds, self.half_life)
        if self.total - left * before.total < TOLD * self.total:
            return self
        added = {path: hot - left * self._was(path, before) for path, hot in self.of.items()}
        now = {path: max(0.0, more) / (1.0 - left) for path, more in added.items()}
        gone = {path for path, hot in self.of.items() if now[path] < GONE * hot}
        lost = {path: self.of[path] - now[path] for path in _highest(gone, roots)}
        of = {path: now[path] if path in gone else hot for path, hot in self.of.items()}
        return self._without(of, lost, roots)

    def besides(self, changed: AbstractSet[str]) -> "Heat":
        """As if what is in these, and what these are in, had not been looked for: as subtrees that came or
        went they brought their heat, or took it along."""
        if not changed:
            return self
        over = above(changed)
        same = (p for p in self.asked if p not in over and changed.isdisjoint(ancestors(p)))
        return replace(self, asked=frozenset(same))

    def less(self, paths: Collection[str], roots: AbstractSet[str] = frozenset()) -> "Heat":
        """Without what has moved away since. roots: where the rank's subtrees began before"""
        if not paths:
            return self
        gone = set(paths)
        lost = {path: self.of[path] for path in _highest(gone, roots)}
        of = {path: hot for path, hot in self.of.items() if path not in gone}
        return self._without(of, lost, roots)

    def _without(self, of: dict[str, float], lost: Mapping[str, float], roots: AbstractSet[str]) -> "Heat":
        """With ``of``, from which is taken what these paths lost, as it counted for those above them, too."""
        for path, hot in lost.items():
            for up in _over(path, roots):
                if up in of:
                    of[up] = max(0.0, of[up] - hot)
        return replace(self, total=max(0.0, self.total - sum(lost.values())), of=of)

    def _was(self, path: str, before: "Heat") -> float:
        return before.of.get(path, 0.0) if path in before.asked else self.of[path]


def too_long(answer: Mapping[str, Any]) -> bool:
    """Has an MDS so much to tell that it is to be asked seldom?"""
    return len(answer["dirfrags"]) > MOST_TOLD


def _highest(paths: AbstractSet[str], roots: AbstractSet[str]) -> Iterator[str]:
    """Those that are not below another one of them, in the same subtree."""
    return (path for path in paths if paths.isdisjoint(_over(path, roots)))


def _over(path: str, roots: AbstractSet[str]) -> Iterator[str]:
    """Those above a path for which it counts as well: up to where its subtree begins."""
    for up in ancestors(path):
        if up != path:
            yield up
        if up in roots:
            return


def stands_for(heat: float, half_life: float) -> float:
    """req/s that so much heat may be of, at most: no hit weighs less than 1.

    Not all that is asked for is a hit. None are locks of files, and lookups of names that are not there
    (Server.cc): what little heat a rank has besides tells nothing of these.
    """
    return SLACK * heat * math.log(2.0) / half_life if half_life > 0.0 else math.inf


def kept(seconds: float, half_life: float) -> float:
    """The part of a decaying counter that is left."""
    return 0.5 ** (seconds / half_life) if half_life > 0.0 else 0.0


def depth(paths: Collection[str]) -> int:
    """Levels of directories from the root down to the lowest of them."""
    return max((path.rstrip("/").count("/") for path in paths), default=0)


def meta_load(counters: Mapping[str, Any]) -> float:
    """The MDS's own sum of a dirfrag's decaying counters."""
    return _weighed(counters, META_LOAD)


def _asked(counters: Mapping[str, Any]) -> float:
    return _weighed(counters, REQUESTS)


def _listed(counters: Mapping[str, Any]) -> float:
    return float(counters["Decay Counters"][READDIR]["value"])


def _weighed(counters: Mapping[str, Any], weights: Sequence[float]) -> float:
    return float(sum(map(mul, weights, [c["value"] for c in counters["Decay Counters"]])))


def parse_heat(
    answer: Mapping[str, Any],
    directories: Collection[str],
    counter: str = OWN,
    of: Callable[[Mapping[str, Any]], float] = _asked,
) -> dict[str, float]:
    """Heat, on this rank, of those of ``directories`` it has in cache; fragments of one are summed."""
    heat: dict[str, float] = {}
    for dirfrag in answer["dirfrags"]:
        path = str(dirfrag["path"])
        if path in directories:
            heat[path] = heat.get(path, 0.0) + of(dirfrag[counter])
    return heat


def lumps(answer: Mapping[str, Any], directories: Collection[str], each: float = 0.0) -> frozenset[str]:
    """Of those that are in several fragments, those of which one has most of what is asked: its file, say,
    which no fragment divides. each: as in Heat"""
    heats: dict[str, list[float]] = {}
    for dirfrag in answer["dirfrags"] if directories else ():
        path = str(dirfrag["path"])
        if path in directories:
            heats.setdefault(path, []).append(_asked(dirfrag[OWN]) + each * _listed(dirfrag[OWN]))
    return frozenset(path for path, of in heats.items() if len(of) >= PIECES and max(of) > LUMP * sum(of))


def right_in(
    answer: Mapping[str, Any], directories: frozenset[str], roots: AbstractSet[str]
) -> dict[str, float]:
    """Of what is asked of each of these, with what is below it and in the same subtree, the part, 0 to 1,
    that is for what is right in it. ``roots``: as of ``rank_heat``"""
    if not directories:
        return {}
    whole, own = rank_heat(answer, directories, roots=roots).of, parse_heat(answer, directories, ME)
    return {path: min(1.0, own[path] / hot) for path, hot in whole.items() if hot > 0.0}


def requests_below(
    answers: Mapping[int, Mapping[str, Any]],
    rates: Mapping[int, float],
    listings: Mapping[int, float],
    parents: Collection[str],
) -> dict[str, dict[str, float]]:
    """req/s by path of what is right below each of ``parents``: each rank's, shared out by its heat.

    :param answers: of ``dump loads``, by rank; rates: req/s by rank; listings: of these, likewise
    """
    heat = {}
    for rank, answer in answers.items():
        paths = (str(dirfrag["path"]) for dirfrag in answer["dirfrags"])
        below = frozenset(path for path in paths if path.rpartition("/")[0] in parents)
        heat[rank] = rank_heat(answer, below, ALL).listing(listings.get(rank, 0.0))
    found: dict[str, dict[str, float]] = {parent: {} for parent in parents}
    for path, served in requests(heat, rates).items():
        found[path.rpartition("/")[0]][path] = served
    return found


def requests(heat: Mapping[int, Heat], rates: Mapping[int, float]) -> dict[str, float]:
    """req/s by path, with what is below it and in the same subtree: each rank's, shared out by its heat, as
    far as that may stand for them.

    :param heat: by rank; rates: req/s by rank
    """
    found: dict[str, float] = {}
    for rank, served in rates.items():
        of = heat.get(rank)
        if of is None or of.total <= 0.0:
            continue
        total, hits = of.total, min(served, of.most)
        for path, hot in of.of.items():
            found[path] = found.get(path, 0.0) + hits * (hot / total if hot < total else 1.0)
    return found


def purged(heat: Mapping[int, Heat], rates: Mapping[int, float]) -> dict[int, float]:
    """req/s by rank for what the volumes module deletes. Parameters: as of ``requests``."""
    found = {rank: replace(of, of={PURGED: of.of[PURGED]}) for rank, of in heat.items() if PURGED in of.of}
    return {rank: requests({rank: of}, rates).get(PURGED, 0.0) for rank, of in found.items()}


def uncounted(heat: Mapping[int, Heat], rates: Mapping[int, float]) -> dict[int, float]:
    """req/s by rank that its heat cannot stand for. Parameters: as of ``requests``."""
    return {rank: max(0.0, served - heat[rank].most) for rank, served in rates.items() if rank in heat}


def rank_heat(
    answer: Mapping[str, Any],
    directories: frozenset[str],
    counter: str = OWN,
    roots: AbstractSet[str] = frozenset(),
) -> Heat:
    """All of ``dump loads`` that is needed. Each hit counts for every ancestor, so ALL of the root is that of
    the whole rank.

    :param counter: ALL: of directories that are in none of the others, with their parts that have a pin
    :param roots: paths at which the rank's subtrees begin
    """
    tops = [d[ALL] for d in answer["dirfrags"] if str(d["path"]) in ("", "/")]
    half_life = max((float(top["Decay Counters"][0]["halflife"]) for top in tops), default=0.0)
    listed = sum(map(_listed, tops))
    entries = parse_heat(answer, directories, counter, _listed) if listed else {}
    # What MDSs take off where they make replicas they take off OWN twice (MDBalancer::hit_dir).
    alike = directories - above(roots) if counter == OWN and roots else frozenset[str]()
    of: dict[str, float] = {}
    for dirfrag in answer["dirfrags"]:
        path = str(dirfrag["path"])
        if path in directories:
            asked = _asked(dirfrag[counter])
            whole = path == PURGED or (path in alike and asked > 0.0)
            hot = _asked(dirfrag[ALL]) if whole else asked
            of[path] = of.get(path, 0.0) + hot
    return Heat(sum(map(_asked, tops)), of, directories, half_life, entries, listed)
