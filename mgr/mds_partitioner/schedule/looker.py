# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the scheduler's loop looks at one file system: what it asks, and what it makes of the answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..ceph.host import Host
from ..clock import Now
from ..errors import Unavailable
from ..judge.fullness import Fullness, fullness
from ..judge.verdict import Engine, rank_arguments, read_verdict
from ..model import FsState, RankSample
from ..observe.heat import PURGED, Heat, depth, lumps, rank_heat, right_in, too_long
from ..observe.ranks import observe_ranks
from ..observe.subtrees import SubtreeMap, parse_subtrees, with_news
from ..options import Settings
from ..plan.ranks import mask_of
from ..workers import GivenUp
from .answers import understood
from .core.demand import CHANGED
from .core.load import capacities, utilisations
from .core.meanwhile import unseen
from .core.state import Limits, State
from .core.view import Move, RankView, View
from .hotspots import remembered
from .owned import Owned
from .pieces import Seen, beside, pieces, rank_of
from .watch import CALM, WITHIN, RankAnswer, Watch, meanwhile

NOISE = 50.0  # req/s of all ranks: with less nobody is at work
UNEVEN = 1.1  # times its share: a full rank that has so much is looked at closely
DEEPER = 1  # levels of directories more that MDSs tell of, for what is hot there: subvolumes have one more
TOO_OLD = 60.0  # s, for which what a rank told counts while it refuses to tell it anew


def rank_view(sample: RankSample, found: Fullness, option: float) -> RankView:
    """A rank as the core is shown it: what it has to pass on takes the time of as many requests.

    :param option: rank_capacity, req/s: none can do more, whatever it has taught; 0: not told. Where one has
        taught less, nothing is known of those that have not: they are no better for that
    """
    taught = found.capacity.get(sample.name)
    left = max(1.0, sample.requests, taught.value - sample.forwards) if taught else math.inf
    less = taught is None and any(other.value < option for other in found.capacity.values())
    most = math.inf if less else min(left, option or math.inf)
    return RankView(
        sample.rank,
        sample.requests,
        inside=sample.inside,
        full=sample.rank in found.full,
        capacity=None if most == math.inf else most,
        crowd=taught.inside if taught and most == left else math.inf,
        peers=sample.peers,
        forwards=sample.forwards,
        links=sample.links,
        lookups=sample.lookups,
        listings=sample.listings,
        written=sample.written,
        journal=sample.journal,
    )


def rank_views(
    samples: Sequence[RankSample],
    before: Mapping[int, RankSample],
    known: Mapping[int, RankView],
    found: Fullness,
    option: float,
) -> dict[int, RankView]:
    """By rank. Of a report that was seen before nothing new is known (see History): that rank is as it was.

    :param before: the samples of the last look, by rank; known: what was made of them
    :param option: as ``rank_view``
    """
    again = {s.rank for s in samples if s.rank in before and s.again(before[s.rank])}
    new = {s.rank: rank_view(s, found, option) for s in samples}
    return new | {rank: seen for rank, seen in known.items() if rank in again}


def followed(samples: Sequence[RankSample], before: Mapping[int, RankSample]) -> set[int]:
    """Ranks that another MDS has than in the last look: a standby has one at once, and serves nothing yet."""
    return {s.rank for s in samples if s.rank in before and before[s.rank].name != s.name}


def _worth_asking(watch: Watch, now: float) -> bool:
    """Is it time to ask MDSs? While nothing is to be done, now and then will do: their answers are long."""
    if any(past.settled < 0.0 for past in watch.state.past) or now - watch.asked >= CALM:
        return True
    if any(whole.in_question(now) for whole in watch.state.wholes.values()) or _another_load(watch):
        return True
    return watch.pressing_since is not None and now - watch.pressing_since < CALM


def _another_load(watch: Watch) -> bool:
    """Have clients begun or ended since MDSs were asked?"""
    before = watch.glimpses[-1].total if watch.glimpses else 0.0
    now = sum(rank.requests for rank in watch.ranks.values())
    return abs(now - before) > max(CHANGED * max(now, before), NOISE)


def _wants_relief(state: State, ranks: Sequence[RankView]) -> bool:
    """Does a rank want relief?"""
    used = utilisations(ranks, capacities(ranks))
    return state.acting or any(r.full and used[r.rank] > UNEVEN for r in ranks)


def _awaited(watch: Watch) -> frozenset[int]:
    """Ranks that something goes to, or would, were advice followed."""
    advised = (rank for ranks in watch.advised.values() for rank in ranks)
    return frozenset(move.target for move in watch.state.moving).union(advised)


def _concerned(moving: Sequence[Move]) -> frozenset[int]:
    """Ranks that something moves from or to."""
    return frozenset(rank for move in moving for rank in (move.source, move.target))


def _blind(watch: Watch, limits: Limits, now: float) -> frozenset[int]:
    """Ranks at whose pieces the core will not look one by one; none while there is one that it sees for the
    first time. now: steady clock, s"""
    known, shown = watch.known, {0, *watch.state.split}
    there = {d.ino for d in known.directories if known.within.get(d.ino, 0) in shown}
    return unseen(watch.state, there, now, limits) if there <= watch.state.demand.keys() else frozenset()


def _left(heat: Heat, rank: int, where: SubtreeMap) -> list[str]:
    """Paths that the rank had something of when it told its popularity, and has not now."""
    return [path for path in heat.of if rank not in where.ranks(path)]


def _staying(
    heat: Mapping[int, Heat], told: Mapping[int, RankAnswer], where: SubtreeMap, now: float
) -> dict[int, Heat]:
    """By rank, without what has left it since it told. now: steady clock, s"""
    return {
        rank: h if told[rank].at >= now else h.less(_left(h, rank, where), told[rank].roots)
        for rank, h in heat.items()
    }


class Looker:
    """Asks Ceph, and the engine."""

    def __init__(self, host: Host, engine: Engine, now: Callable[[], Now]) -> None:
        self._host, self._engine, self._now = host, engine, now

    def look(
        self,
        fs: FsState,
        watch: Watch,
        owned: Owned,
        learned: float | None,
        settings: Settings,
        limits: Limits,
        window: float,
        now: Now,
    ) -> View:
        """What the core is shown.

        :param learned: capacity learned from saturated ranks, req/s a rank
        :param window: s, over which rates are measured
        :raises PartitionerError: the manager cannot be asked, or the engine failed
        """
        samples = observe_ranks(self._host, fs, window, now.wall)
        before = {sample.rank: sample for sample in watch.history.latest}
        watch.history = watch.history.plus(samples, now.steady)
        latest, series, mask = watch.history.latest, watch.history.series(), mask_of(fs)
        watch.state = watch.state.anew(followed(latest, before))  # no later look sees it
        arguments = rank_arguments(series, settings, learned, mask)
        watch.verdict = verdict = read_verdict(self._engine("judge", arguments), arguments)
        watch.fullness = found = fullness(series, watch.fullness, self._engine, _awaited(watch))
        watch.known = known = watch.catalogue.known
        watch.ranks = rank_views(latest, before, watch.ranks, found, settings.rank_capacity)
        # A mask that leaves the balancer no rank confines nobody: pins do not follow it.
        ranks = tuple(rank for rank in watch.ranks.values() if not mask or rank.rank in mask)
        watch.presses(now.steady, relief=_wants_relief(watch.state, ranks))
        asked = {rank: told.at for rank, told in watch.told.items()}
        if _worth_asking(watch, now.steady):
            paths = [*(d.path for d in known.directories), *known.waiting]
            self._ask(fs, watch, paths, _blind(watch, limits, now.steady))
            watch.asked = now.steady
        told, where = watch.told, watch.located()
        watch.heat = _staying(watch.heat, told, where, now.steady)
        moving = frozenset(move.ino for move in watch.state.moving)
        split, lumps, right = watch.state.split, watch.lumps, watch.right
        seen = Seen(fs, latest, watch.heat, where, known, owned, split, moving, lumps, right)
        answered = {rank for rank, answer in told.items() if answer.at != asked.get(rank)}
        found_pieces = pieces(seen)
        new = frozenset(p.ino for p in found_pieces if p.rank in answered)
        harmful = verdict.harms({rank.rank for rank in ranks})
        untold = frozenset(watch.ranks.keys() - watch.heat.keys())
        view = View(
            now.steady,
            ranks,
            found_pieces,
            harmful,
            told=new,
            untold=untold,
            mute=watch.mute,
            beside=beside(seen),
        )
        watch.actual = view
        if watch.asked == now.steady:
            watch.glimpses = remembered(watch.glimpses, view)
        return view

    def glance(self, fs: FsState, watch: Watch, view: View, now: Now) -> View:
        """The view before, with what is under way where it is now: only the ranks that it goes to are asked.

        What they have, those that it leaves have no more; these have most to do, and the longest lists.
        """
        moving, split = watch.state.moving, watch.state.split
        self._ask_subtrees(fs, watch, {move.target for move in moving})
        where = SubtreeMap((s for found in watch.subtrees.values() for s in found), [m.path for m in moving])
        there = {m.ino: rank_of(m.path, where, m.ino in split, True) for m in moving}
        watch.actual = view.glanced(now.steady, there)
        return watch.actual

    def _ask(self, fs: FsState, watch: Watch, paths: list[str], blind: Collection[int]) -> None:
        """Take in what MDSs say of popularity and subtrees; while something moves, subtrees change there.

        :param blind: ranks of whose popularity little would be learned in this look; now and then it is
            asked for, as people are shown it
        """
        active, wanted = {m.rank: m.name for m in fs.active()}, frozenset(paths) | {PURGED}
        began = self._now().steady
        rests = dict.fromkeys(blind, meanwhile(watch.state))
        rests |= {rank: CALM for rank, told in watch.told.items() if told.long}
        old = {rank for rank, told in watch.told.items() if began - told.at < rests.get(rank, 0.0)}
        asked = {rank: name for rank, name in active.items() if rank not in old}
        hot = frozenset(of.path for of in watch.known.fragments.values())
        over = frozenset(path for of in watch.known.fragments.values() for path in of.above)
        usually = depth(paths)
        deep = max(usually, min(depth(hot), usually + DEEPER))
        loads = self._tell(fs, watch, asked.values(), "dump loads", depth=deep)
        now = (began + self._now().steady) / 2.0  # full ranks take their time
        moved = _concerned(watch.state.moving)
        if not moved or now - watch.mapped >= CALM:
            moved, watch.mapped = frozenset(active), now
        self._ask_subtrees(fs, watch, moved)
        listings = {sample.rank: sample.listings for sample in watch.history.latest}
        roots = {rank: frozenset(s.path for s in watch.subtrees.get(rank, ())) for rank in asked}
        heat, failed = understood(
            {rank: loads[name] for rank, name in asked.items()},
            lambda rank, said: rank_heat(said, wanted, roots=roots[rank]).listing(listings.get(rank, 0.0)),
        )
        refused = {rank for rank, why in failed.items() if not isinstance(why, Unavailable)}
        watch.mute = frozenset(refused | {rank for rank, why in failed.items() if isinstance(why, GivenUp)})
        # Of one that is too slow the last answer is better than none; one that refuses may do so for ever.
        left = active.keys() - {r for r in refused & watch.told.keys() if now - watch.told[r].at > TOO_OLD}
        told = {
            rank: RankAnswer(now, of, tuple(watch.subtrees.get(rank, ())), too_long(loads[asked[rank]]))
            for rank, of in heat.items()
        }
        watch.lumps = watch.lumps | {rank: lumps(loads[asked[rank]], hot, heat[rank].each) for rank in told}
        right = {rank: right_in(loads[asked[rank]], hot | over, roots[rank]) for rank in told}
        watch.right = {rank: of for rank, of in (watch.right | right).items() if rank in left}
        watch.blurred = frozenset(r for r, answer in told.items() if answer.long_after(watch.told.get(r)))
        added = {rank: answer.since(watch.told.get(rank)) for rank, answer in told.items()}
        watch.told = {rank: answer for rank, answer in (watch.told | told).items() if rank in left}
        watch.heat = {rank: heat for rank, heat in (watch.heat | added).items() if rank in left}

    def _ask_subtrees(self, fs: FsState, watch: Watch, ranks: Collection[int]) -> None:
        """Take in what these ranks have. One that is silent has what it had, but for what others have now."""
        active = {m.rank: m.name for m in fs.active()}
        asked = {rank: name for rank, name in active.items() if rank in ranks}
        answers = self._tell(fs, watch, asked.values(), "get subtrees")
        new, _ = understood({rank: answers[name] for rank, name in asked.items()}, parse_subtrees)
        old = {rank: found for rank, found in watch.subtrees.items() if rank in active}
        watch.subtrees, watch.where = with_news(old, new), None

    def _tell(
        self, fs: FsState, watch: Watch, names: Iterable[str], prefix: str, **arguments: Any
    ) -> dict[str, Any]:
        """Ask these, those first that were asked longest ago: not all may have their turn in time."""
        before = watch.begun.get(prefix, {})
        order = sorted(names, key=lambda name: before.get(name, -math.inf))
        now = self._now().steady
        within = max((watch.patience.get((prefix, name), WITHIN) for name in order), default=WITHIN)
        answers = self._host.tell_each(fs, order, prefix, within=within, **arguments)
        watch.late(prefix, {name for name in order if isinstance(answers[name], GivenUp)})
        waits = {name for name, answer in answers.items() if isinstance(answer, Unavailable)}
        begun = {name: now for name in order if name not in waits or isinstance(answers[name], GivenUp)}
        there = {mds.name for mds in fs.active()}
        watch.begun[prefix] = {name: at for name, at in (before | begun).items() if name in there}
        return answers
