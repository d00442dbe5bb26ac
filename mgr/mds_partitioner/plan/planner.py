# SPDX-License-Identifier: LGPL-2.1-or-later
"""From a judgement to a plan: what may move, where the engine puts it, and the steps that take it there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from ..ceph.filesystem import NO_MASK
from ..engine.names import FANOUT, HEAVY, LIGHT
from ..engine.reasons import ALREADY_THERE
from ..judge.judgement import DirectoryJudgement, Judgement
from ..judge.verdict import Engine, column
from ..judge.window import Observed
from ..model import FsState
from ..options import Settings
from .caveats import (
    WORTH_TELLING,
    caveats,
    less_even,
    many_pins,
    of_age,
    of_elastic,
    of_free,
    of_links,
    of_saturated,
    of_silent,
    of_the_held,
    of_unpinned,
    refuse_blind,
)
from .circumstances import Circumstances
from .families import BroodOf, Family, but_held, current, family, held, lasting
from .fixed import Fixed, fixed, rests_until
from .plan import AUTOMATE, CONFIG_STEP, PIN_STEP, Plan, Prediction, Row, Step
from .ranks import balanced_ranks, parse_ranks
from .steps import confines, free, heavy_on, in_place, steps

TINY = 1e-300
CACHE_RESERVATION = 0.95  # mds_cache_reservation keeps 5 % of the cache free


@dataclass(frozen=True)
class Load:
    """Of a directory, of a part of one, or of none."""

    requests: float
    wss: float = 0.0
    rentries: float = 0.0
    held_back: float = 0.0


def _load(seen: Observed, requests: float = 1.0, inodes: float = 1.0) -> Load:
    """So much, 0 to 1, of a directory."""
    return Load(
        requests * seen.requests, inodes * seen.wss, inodes * seen.rentries, requests * seen.held_back
    )


def make_plan(
    name: str,
    judgement: Judgement,
    ranks: Sequence[int],
    gather: Callable[[Judgement], Circumstances],
    settings: Settings,
    engine: Engine,
    brood_of: BroodOf,
    now: float,
    ended: float,
) -> Plan:
    """Plan for ``ranks``. The classes are those over these ranks; the analysis' own, over the ranks of then,
    are not looked at.

    :param gather: reads the circumstances of a judgement with these classes
    :param brood_of: how a heavy directory can be split (only asked in mode fanout)
    :param now: seconds since the Unix epoch
    :param ended: when the time that was judged ended, as now
    :raises NotPermitted: the plan needs the mask or balancer that an operator has set, or too much of the
        load is on directories that were not read
    """
    judgement = classified(judgement, ranks, engine)
    c = gather(judgement)
    since = ended - judgement.caveats.span(settings.epoch)
    rows, rest = judgement.directories, settings.rest_period
    stay = [fixed(row, c, rests_until(row, judgement.verdict, c, since, rest, now), now) for row in rows]
    families: dict[int, Family] = {}
    silent = set(c.silent)
    at_once = {churning.ino: churning.at_once for churning in judgement.churning}
    for i, row in enumerate(rows):
        if c.heavy_mode == FANOUT and row.klass == HEAVY and stay[i] is None:
            lasts = lasting(at_once, since, now)
            brood = brood_of(row.seen.directory.path, lasts)
            silent.update(brood.silent)
            reason = held(brood, c)
            if reason is not None:
                stay[i] = Fixed(reason, "set by an operator on a directory below it")
            else:
                families[i] = family(brood, c, lasts, at_once, row.seen.inside, row.seen.requests)
    beside = _beside(judgement, c.fs.ranks_in)
    stands = [(rank, Load(requests)) for rank, requests in beside.items()]
    for i, found in families.items():
        stands += [(at.rank, _load(rows[i].seen, at.requests, at.inodes)) for at in found.held]
    answer = engine("plan", _arguments(judgement, c, settings, stay, families, stands))
    both = [*rows, *stands]
    new, reasons = column(answer, "new", both), column(answer, "reason", both)
    there = [but_held(families.get(i), on(row, c)) for i, row in enumerate(rows)]
    table = tuple(_row(*of) for of in zip(rows, there, new, reasons, stay))
    prediction = _prediction(answer, c.fs)
    made = steps(rows, table, answer, c, families, engine)
    confined = confines(table, answer, c)
    balanced = c.fs.balance_automate or any(step.target == AUTOMATE for step in made)
    placing = [step for step in made if step.kind != CONFIG_STEP]  # an option that is asked for moves nothing
    if placing and not c.force:
        refuse_blind(judgement.caveats, prediction, beside, c.fs.name)
    return Plan(
        name=name,
        fs=c.fs.name,
        fscid=c.fs.fscid,
        metadata_pool=c.fs.metadata_pool,
        created=now,
        heavy_mode=c.heavy_mode,
        heavy_ranks=heavy_on(table, answer, c),
        force=c.force,
        estimate=estimate(rows),
        rows=table,
        steps=made,
        prediction=prediction,
        caveats=(
            *caveats(judgement.caveats, rows, families, answer["scattered"], balanced=balanced),
            *(less_even(prediction, settings.imbalance_threshold) if placing else ()),
            *of_the_held(prediction, _held(rows, stay, stands), c.ranks, c.fs.name, c.heavy_mode),
            *of_saturated(judgement.verdict, c.fs.name, moves=bool(placing)),
            *of_elastic(rows),
            *of_silent(silent),
            *of_age(now - ended),
            *of_links(taken_apart=_pins(made, families)[0] > 0),
            *many_pins(*_pins(made, families), settings.max_moves),
            *of_unpinned(rows, table, placing, balanced=c.fs.balance_automate and not confined),
            *of_free(free(rows, table, made, c) if confined and placing else ()),
        ),
        analyzed=ended,
        in_place=in_place(answer, families),
    )


def _pins(made: Sequence[Step], families: Collection[int]) -> tuple[int, int]:
    """How many are set in heavy directories, and how many others."""
    pins = [step.row for step in made if step.kind == PIN_STEP]
    in_heavy = sum(row in families for row in pins)
    return in_heavy, len(pins) - in_heavy


def classified(judgement: Judgement, ranks: Sequence[int], engine: Engine) -> Judgement:
    """The same judgement, its classes over these ranks."""
    seen = [row.seen for row in judgement.directories]
    table = {
        "wss": [s.wss for s in seen],
        "reqs": [s.requests for s in seen],
        "rentries": [s.rentries for s in seen],
        "held_back": [s.held_back for s in seen],
    }
    capacity = judgement.verdict.capacity.value
    served = sum(rank.load for rank in judgement.ranks)
    arguments = {"ranks": list(ranks), "capacity": capacity, "served": served, "subvolumes": table}
    answer = engine("classify", arguments)
    rows = zip(seen, column(answer, "workload", seen), column(answer, "class", seen))
    return replace(judgement, directories=tuple(DirectoryJudgement(s, float(w), str(k)) for s, w, k in rows))


def estimate(rows: Sequence[DirectoryJudgement]) -> str:
    """One sentence on how working sets and requests were found."""
    counted = bool(rows) and all(row.seen.counted for row in rows)
    text = "wss: " + (
        "inodes visited in the MDSs' last windows, counted by them, at their highest; "
        if counted
        else "capabilities of the sessions at or below each directory, of a rank no more than it has inodes, "
        "at their highest; "
    )
    text += "reqs: each rank's measured rate, shared by what its sessions did"
    shared = sum(row.seen.shared for row in rows)
    if shared:
        text += f"; {shared} directories partly by heat, for sessions mounted above them"
    return text


def _arguments(
    judgement: Judgement,
    c: Circumstances,
    settings: Settings,
    stay: Sequence[Fixed | None],
    families: Mapping[int, Family],
    stands: Sequence[tuple[int, Load]],
) -> dict[str, Any]:
    """``stands``: what is on a rank whatever is planned, of no directory or held in a heavy one. It has rows
    of its own, after the others."""
    rows = judgement.directories
    left = (families[i].left if i in families else (1.0, 1.0) for i in range(len(rows)))
    loads = [*(_load(row.seen, *parts) for row, parts in zip(rows, left)), *(load for _, load in stands)]
    return {
        "ranks": list(c.ranks),
        "all_ranks": list(c.fs.ranks_in),
        "cache_inodes": judgement.cache_limit * CACHE_RESERVATION / settings.bytes_per_inode,
        "subvolumes": {
            "wss": [load.wss for load in loads],
            "reqs": [load.requests for load in loads],
            "rentries": [load.rentries for load in loads],
            "held_back": [load.held_back for load in loads],
            "class": [*(r.klass for r in rows), *(LIGHT for _ in stands)],
            "current": [
                *(list(current(families.get(i), on(r, c))) for i, r in enumerate(rows)),
                *([rank] for rank, _ in stands),
            ],
            "fixed": [*(None if at is None else at.reason for at in stay), *(ALREADY_THERE for _ in stands)],
        },
        "heavy_mode": c.heavy_mode,
        "children": {
            str(i): {
                "weights": list(found.weights),
                "hottest": max(found.known, default=0.0),
                "current": [child.ranks[0] if len(child.ranks) == 1 else None for child in found.lasting],
                "staying": found.staying,
                "parent": found.ranks[0] if len(found.ranks) == 1 and not found.scattered else None,
                "fragments": None if found.fragments is None else list(found.fragments),
                "scattered": found.scattered,
            }
            for i, found in families.items()
        },
        "current_mask": _current_mask(rows, c),
        "saturated": list(judgement.verdict.saturated),
        "smoothness": settings.smoothness,
        "capacity": judgement.verdict.capacity.value,
        "threshold": settings.imbalance_threshold,
        "min_gain": settings.min_gain,
    }


def on(row: DirectoryJudgement, c: Circumstances) -> tuple[int, ...]:
    """The ranks that a directory counts on, one entry an equal part: a heavy one on all that it is on, while
    the MDSs' balancer evens these out."""
    return row.seen.ranks if row.klass == HEAVY and c.fs.balance_automate else row.seen.load_ranks


def _beside(judgement: Judgement, there: Collection[int]) -> dict[int, float]:
    """By rank, req/s that are of none of the directories, where that is more than nothing.

    Ranks' loads have more that is of none: the managers' own requests, what has gone, and what was served
    where a directory is not any more. So together it is no more than what is known to be of none.

    :param there: ranks that exist
    """
    of_rows, seen = Counter[int](), judgement.caveats
    for row in judgement.directories:
        of_rows.update(row.seen.by_rank)
    served = sum(rank.load for rank in judgement.ranks)
    unread = sum(of_rows.values()) * seen.unread_load / max(1.0 - seen.unread_load, TINY)
    left = {rank.rank: max(0.0, rank.load - of_rows[rank.rank]) for rank in judgement.ranks}
    known = min(1.0, (seen.elsewhere * served + unread) / max(sum(left.values()), TINY))
    least = WORTH_TELLING * served
    return {rank: known * load for rank, load in left.items() if known * load > least and rank in there}


def _held(
    rows: Sequence[DirectoryJudgement], stay: Sequence[Fixed | None], stands: Sequence[tuple[int, Load]]
) -> dict[int, float]:
    """By rank, req/s of what stays there."""
    of_rows = (row.seen.by_rank.items() for row, at in zip(rows, stay) if at is not None)
    found = defaultdict[int, float](float)
    for rank, requests in chain(*of_rows, ((rank, load.requests) for rank, load in stands)):
        found[rank] += requests
    return found


def _current_mask(rows: Sequence[DirectoryJudgement], c: Circumstances) -> list[int] | None:
    """The ranks that the heavy directories share now; None when nothing confines them to the same ones."""
    if not c.fs.balance_automate:
        return None
    named = balanced_ranks(c.fs.bal_rank_mask)
    if named is not None:
        return list(named)
    masks = {c.mask_of(row.seen.directory.ino) for row in rows if row.klass == HEAVY}
    return list(parse_ranks(masks.pop())) if len(masks) == 1 and NO_MASK not in masks else None


def _row(
    row: DirectoryJudgement, there: Sequence[int], new: Sequence[int], reason: str, stay: Fixed | None
) -> Row:
    seen = row.seen
    return Row(
        name=seen.directory.name,
        path=seen.directory.path,
        ino=seen.directory.ino,
        wss=seen.wss,
        reqs=seen.requests,
        rentries=seen.rentries,
        workload=row.workload,
        klass=row.klass,
        current=tuple(sorted(set(there))),
        new=tuple(sorted(new)),
        reason=reason,
        why="" if stay is None else stay.why,
    )


def _prediction(answer: Mapping[str, Any], fs: FsState) -> Prediction:
    def by_rank(name: str) -> dict[str, float]:
        values = column(answer, name, fs.ranks_in)
        return {str(rank): float(v) for rank, v in zip(fs.ranks_in, values)}

    return Prediction(
        imbalance_before=float(answer["imbalance_before"]),
        imbalance_after=float(answer["imbalance_after"]),
        fullest_rank_before=int(answer["fullest_before"]["rank"]),
        fullest_before=float(answer["fullest_before"]["value"]),
        fullest_rank_after=int(answer["fullest_after"]["rank"]),
        fullest_after=float(answer["fullest_after"]["value"]),
        lower_bound=float(answer["lower_bound"]),
        load_before=by_rank("load_before"),
        load_after=by_rank("load_after"),
        inodes_to_move=float(answer["inodes_to_move"]),
    )
