# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plan that balances: ranks for the heavies, then the rest around them."""

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..names import MASK
from .bounds import by_requests, fixed_part, lower_bound, room_a_rank
from .closed import over_open, without_closed
from .evict import movers
from .fill import fill
from .heavies import Choice, Stage, choose_fanout, choose_pool, weighed
from .instance import GONE, SEVERAL, TOLERANCE, Instance, Placement
from .requests import Requests, spread_requests
from .task import Task, totals

SMALL = 0.001
GOAL = 0.01
LARGEST = 64


def homes(instance: Instance) -> Ints:
    """(subvolumes,): the usable rank each is on, or -1; of several an open one, with most of it."""
    single = instance.current.single
    home = np.where((single >= 0) & (single < instance.usable), single, -1)
    for i, own in instance.current.several.items():
        home[i] = _home(instance, own)
    return home


def _home(instance: Instance, own: tuple[int, ...]) -> int:
    usable = instance.usable_part(own)
    return min(usable, key=lambda r: (r in instance.closed, -own.count(r), r), default=GONE)


def too_small(instance: Instance, home: Ints) -> Bools:
    """(subvolumes,): not worth moving: the smallest on a rank, each below 0.1 %, together 0.5 % of the fair
    share.

    Leaving these where they are cannot make any rank fuller by more than the tolerance.
    """
    fair = float(instance.w.sum()) / instance.usable
    settled = (home >= 0) & (instance.current.single == home) & ~instance.fixed & ~instance.heavy
    index = np.flatnonzero(settled & (instance.w <= SMALL * fair))
    order = index[np.lexsort((instance.w[index], home[index]))]
    sums = np.cumsum(instance.w[order])
    starts = np.searchsorted(home[order], np.arange(instance.usable))
    before = np.concatenate(([0.0], sums))[starts]
    few = sums - before[home[order]] <= TOLERANCE * fair
    small = np.zeros_like(instance.fixed)
    small[order[few]] = True
    return small


def stage(instance: Instance, home: Ints, free: Bools, base_w: Floats, base_s: Floats) -> Stage:
    """The heavies' side of the problem. free: the items that get one rank and may move."""
    points = -np.sort(-instance.w[free])
    largest = points[: 4 * instance.usable + LARGEST]
    heavies = instance.heavies
    return Stage(
        w=tuple(instance.w[heavies].tolist()),
        q=tuple(instance.q[heavies].tolist()),
        s=tuple(instance.s[heavies].tolist()),
        homes=tuple(instance.usable_part(instance.current.several[h]) for h in heavies),
        most=tuple(max(1, instance.children.get(h, instance.usable)) for h in heavies),
        base_w=base_w,
        base_s=base_s,
        crowd=movers(np.where(free, home, -1), instance.w, instance.usable),
        largest=largest,
        rest=float(points[largest.size :].sum()),
        lower=lower_bound(instance),
        room=room_a_rank(instance),
        mask=instance.usable_part(instance.mask or ()),
    )


def choose(instance: Instance, problem: Stage) -> Choice:
    if not problem.w:
        return weighed(problem, ())
    chosen = choose_pool(problem) if instance.mode == MASK else choose_fanout(problem)
    return without_closed(problem, chosen, instance.closed)


def rebalance(instance: Instance) -> Placement:
    """Ranks for every subvolume: heavies several, fixed ones what they have, the others exactly one.

    By LINE's points first; then, where these leave the requests uneven by more than NOISE, some go by
    both.
    """
    home = homes(instance)
    small = too_small(instance, home)
    free = ~instance.fixed & ~instance.heavy & ~small
    staying = np.where(small, home, -1)
    base_w = totals(fixed_part(instance, instance.w), instance.w, staying)
    base_q = totals(fixed_part(instance, instance.q), instance.q, staying)
    base_s = totals(fixed_part(instance, instance.s), instance.s, staying)
    problem = stage(instance, home, free, base_w, base_s)
    chosen = choose(instance, problem)
    for points, requests, size, own in zip(problem.w, problem.q, problem.s, chosen.ranks):
        base_w[list(own)] += points / len(own)
        base_q[list(own)] += requests / len(own)
        base_s[list(own)] += size / len(own)
    items = np.flatnonzero(free)
    task = Task(
        w=instance.w[items],
        s=np.minimum(instance.s[items], problem.room),
        cur=home[items],
        base_w=base_w,
        base_s=np.minimum(base_s, problem.room),
        room=problem.room,
    )
    target = max(chosen.level, problem.lower) * (1.0 + TOLERANCE)
    asked = Requests(
        q=instance.q[items],
        base_q=base_q,
        points=problem.lower,
        requests=lower_bound(by_requests(instance)),
        enough=1.0 + instance.min_gain,
        closed=instance.closed,
    )
    goal = problem.lower * (1.0 + GOAL)
    filled = over_open(
        task, instance.closed, target, lambda part, even: fill(part, max(target, even), max(goal, even))
    )
    rank = spread_requests(task, filled, asked)
    single = np.where(small, home, instance.current.single)
    single[items] = rank
    several = {i: own for i, own in instance.current.several.items() if instance.fixed[i]}
    several |= dict(zip(instance.heavies, chosen.ranks))
    single[list(several)] = SEVERAL
    return Placement(single, several)
