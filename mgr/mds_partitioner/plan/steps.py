# SPDX-License-Identifier: LGPL-2.1-or-later
"""The steps that take a file system from where things are to where the engine puts them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..engine.names import HEAVY, MASK
from ..engine.reasons import EPHEMERAL_PIN, MASKED_BY_OPERATOR, PASSING, PINNED_BY_OPERATOR, RESTING
from ..errors import NotPermitted
from ..judge.judgement import DirectoryJudgement
from ..judge.verdict import Engine, column
from ..model import NO_PIN
from ..observe.children import Child
from .circumstances import FORWARDS, TO_AUTH, Circumstances
from .families import Family
from .fixed import operators, releasable
from .plan import (
    AUTOMATE,
    CONFIG_STEP,
    DISTRIBUTED_STEP,
    FS_STEP,
    MASK_STEP,
    OF_ALL,
    PIN_STEP,
    RANK_MASK,
    Row,
    Step,
)
from .ranks import EVERY_RANK, balanced_ranks, format_ranks, ranks_mask

PINS, PARENTS, SETTINGS = 0, 1, 2  # phases
LEFT_ALONE = (PINNED_BY_OPERATOR, EPHEMERAL_PIN, MASKED_BY_OPERATOR, PASSING)


@dataclass(frozen=True)
class Move:
    """A step and what it moves.

    :ivar load: req/s
    :ivar inodes: of the working set
    :ivar source: ranks that it is on before, in equal parts; () when it moves nothing that is known
    :ivar target: ranks that it is on afterwards, one entry an equal part
    :ivar after: index of the move that it comes after, None for none
    """

    step: Step
    load: float = 0.0
    inodes: float = 0.0
    source: tuple[int, ...] = ()
    target: tuple[int, ...] = ()
    after: int | None = None


def steps(
    judged: Sequence[DirectoryJudgement],
    rows: Sequence[Row],
    answer: Mapping[str, Any],
    c: Circumstances,
    families: Mapping[int, Family],
    engine: Engine,
) -> tuple[Step, ...]:
    """All steps: those that move directories in the order that makes the load even soonest, then settings.

    :raises NotPermitted: the plan needs the mask or balancer that an operator has set
    """
    if not answer["worthwhile"]:
        return tuple(_to_auth(c))
    heavy_ranks, dynamic = tuple(answer["heavy_ranks"]), confines(rows, answer, c)
    moves: list[Move] = []
    for i, (seen, row) in enumerate(zip(judged, rows)):
        pinned = seen.seen.pin != NO_PIN
        if row.reason in LEFT_ALONE or (row.reason == RESTING and pinned):  # it may be on its way still
            if dynamic and not pinned and _held_by_what_is_below(row, seen, c):
                _single(moves, i, row, NO_PIN, always=True)
            continue
        if i in families:
            _split(moves, i, row, seen.seen.pin, families[i], answer, c)
        elif len(row.new) == 1:
            first = _single(moves, i, row, seen.seen.pin, always=dynamic)
            if row.new != row.current:
                _release(moves, i, row, c, first)
        elif dynamic and row.klass == HEAVY:
            _dynamic(moves, i, row, seen.seen.pin, heavy_ranks, c)
    return (
        *_ordered(moves, answer, c, engine),
        *(_mask_steps(heavy_ranks, c) if dynamic else ()),
        *_to_auth(c),
    )


def _held_by_what_is_below(row: Row, judged: DirectoryJudgement, c: Circumstances) -> bool:
    """Is it left alone only for what an operator set below it, and all of it on one rank? A pin to that one
    moves nothing, and what is held below stays so."""
    of_below = row.reason in (PINNED_BY_OPERATOR, EPHEMERAL_PIN) and operators(judged.seen, c) is None
    return of_below and len(judged.seen.ranks) == 1


def free(
    judged: Sequence[DirectoryJudgement], rows: Sequence[Row], made: Sequence[Step], c: Circumstances
) -> list[str]:
    """Names of what a balancer may move that is on, though it is not heavy: no setting holds it, and no step
    pins it. Without what comes and goes.

    :param made: all steps
    """
    pinned = {step.ino for step in made if step.kind == PIN_STEP}
    return [
        row.name
        for seen, row in zip(judged, rows)
        if not (row.klass == HEAVY or row.reason == PASSING or row.ino in pinned)
        and seen.seen.pin == NO_PIN
        and operators(seen.seen, c) is None
    ]


def heavy_on(rows: Sequence[Row], answer: Mapping[str, Any], c: Circumstances) -> tuple[int, ...]:
    """Where the heavy ones are to be; () where the plan has none: the mask is what it was, then."""
    any_heavy = any(row.klass == HEAVY and row.reason not in LEFT_ALONE for row in rows)
    return tuple(answer["heavy_ranks"]) if any_heavy or confines(rows, answer, c) else ()


def confines(rows: Sequence[Row], answer: Mapping[str, Any], c: Circumstances) -> bool:
    """Is the balancer left what is heavy, within a mask, and nothing else? All that is not heavy is pinned
    then."""
    several = c.heavy_mode == MASK and len(answer["heavy_ranks"]) > 1
    return several and (c.owns_settings or _any_heavy(rows))


def _any_heavy(rows: Sequence[Row]) -> bool:
    """Is anything to be left to the balancer? A mask that is there may be an operator's."""
    return any(row.klass == HEAVY and row.reason not in (*LEFT_ALONE, RESTING) for row in rows)


def _pin(index: int, row: Row, seen_pin: int, rank: int, at: Sequence[int] = ()) -> Step:
    """``at``: where it is itself, if that is known; what is in it may be elsewhere."""
    ranks = at or row.current
    home = ranks[0] if len(ranks) == 1 else -1
    return Step(PINS, PIN_STEP, index, row.path, row.ino, str(rank), str(seen_pin), home)


def _pin_child(index: int, child: Child, rank: int) -> Step:
    home = child.ranks[0] if len(child.ranks) == 1 else -1
    return Step(PINS, PIN_STEP, index, child.path, child.ino, str(rank), str(child.pin), home)


def _single(
    moves: list[Move], index: int, row: Row, pin: int, *, always: bool, at: Sequence[int] = ()
) -> int | None:
    """One rank: the move that takes it there, None where it needs none. With the balancer on (``always``), a
    directory without a pin would be the balancer's. ``at``: as for ``_pin``"""
    rank = row.new[0]
    if pin == rank or not (row.new != row.current or always or pin != NO_PIN):
        return None
    moves.append(Move(_pin(index, row, pin, rank, at), row.reqs, row.wss, row.current, row.new))
    return len(moves) - 1


def _release(
    moves: list[Move], index: int, row: Row, c: Circumstances, first: int | None, but: Collection[int] = ()
) -> None:
    """What is pinned below it would not come along. ``but``: inode numbers of what is not looked at"""
    for at in c.below.get(row.path, ()):
        there = not at.ephemeral and row.new == (at.pin,)
        if there or at.ino in but or not releasable(at, c):
            continue
        if at.ephemeral:
            step = Step(PINS, DISTRIBUTED_STEP, index, at.path, at.ino, "0", "1")
        else:
            step = Step(PINS, PIN_STEP, index, at.path, at.ino, str(NO_PIN), str(at.pin), at.rank)
        moves.append(Move(step, after=first))


def _dynamic(
    moves: list[Move], index: int, row: Row, pin: int, heavy_ranks: tuple[int, ...], c: Circumstances
) -> None:
    """Left to the balancer, within the mask."""
    if pin != NO_PIN:
        moves.append(Move(_pin(index, row, pin, NO_PIN)))
    _release(moves, index, row, c, None)
    old, new = c.mask_of(row.ino), format_ranks(heavy_ranks)
    if c.masks is not None and set(row.new) == set(heavy_ranks) and old != new:
        moves.append(Move(Step(PINS, MASK_STEP, index, row.path, row.ino, new, old)))


def _split(
    moves: list[Move],
    index: int,
    row: Row,
    pin: int,
    family: Family,
    answer: Mapping[str, Any],
    c: Circumstances,
) -> None:
    """A heavy directory whose children are known: pinned one by one, or distributed, or on one rank."""
    parent, scatter = family.parent, index in answer["scattered"]
    requests, inodes = family.left
    row = replace(row, reqs=requests * row.reqs, wss=inodes * row.wss)
    if family.scattered != scatter:
        if scatter and parent.pin != NO_PIN and parent.ino != row.ino:
            moves.append(Move(Step(PINS, PIN_STEP, index, parent.path, parent.ino, "-1", str(parent.pin))))
        if scatter and parent.ino == row.ino and pin != NO_PIN:
            moves.append(Move(_pin(index, row, pin, NO_PIN)))
        value, old = ("1", "0") if scatter else ("0", "1")
        step = Step(PINS, DISTRIBUTED_STEP, index, parent.path, parent.ino, value, old)
        target = family.fragments if scatter and family.fragments else ()
        moves.append(Move(step, row.reqs, row.wss, row.current if target else (), target))
    for child in family.released:
        moves.append(Move(_pin_child(index, child, NO_PIN)))
    if scatter or str(index) not in answer["parent_rank"]:  # or it stays as it stands
        return
    if len(row.new) == 1:
        _gather(moves, index, row, pin, family, c)
    else:
        _fanout(moves, index, row, pin, family, answer)


def _gather(moves: list[Move], index: int, row: Row, pin: int, family: Family, c: Circumstances) -> None:
    """On one rank, with the children that were pinned elsewhere."""
    away = [child for child in family.lasting if child.pin not in (NO_PIN, row.new[0])]
    first = _single(moves, index, row, pin, always=bool(away), at=family.ranks)
    for child in away:
        moves.append(Move(_pin_child(index, child, NO_PIN), after=first))
    if row.new != row.current:
        known = {child.ino for child in (*family.lasting, *family.released)}
        _release(moves, index, row, c, first, known)


def _fanout(
    moves: list[Move], index: int, row: Row, pin: int, family: Family, answer: Mapping[str, Any]
) -> None:
    """Its children to where they belong, also those that are there, and then the parent: with it goes only
    what is not pinned by then."""
    lasting = 1.0 - family.staying
    given = column(answer["children_ranks"], str(index), family.lasting)
    for child, asked, size, rank in zip(family.lasting, family.weights, family.sizes, given):
        if child.pin != rank:
            load, inodes = row.reqs * lasting * asked, row.wss * lasting * size
            source = child.ranks or row.current
            moves.append(Move(_pin_child(index, child, rank), load, inodes, source, (rank,)))
    home = answer["parent_rank"][str(index)]
    if pin != home:
        step = replace(_pin(index, row, pin, home, family.ranks), phase=PARENTS)
        load, inodes = row.reqs * family.staying, row.wss * family.staying
        moves.append(Move(step, load, inodes, family.ranks or row.current, (home,)))


def in_place(answer: Mapping[str, Any], families: Mapping[int, Family]) -> tuple[int, ...]:
    """Indices of rows taken apart of which a child is pinned to its rank already: it has no step."""

    def has_one(index: int, family: Family) -> bool:
        given = column(answer["children_ranks"], str(index), family.lasting)
        return any(child.pin == rank for child, rank in zip(family.lasting, given))

    apart = ((i, family) for i, family in families.items() if str(i) in answer["parent_rank"])
    return tuple(i for i, family in apart if has_one(i, family))


def _ordered(
    moves: Sequence[Move], answer: Mapping[str, Any], c: Circumstances, engine: Engine
) -> list[Step]:
    if not moves:
        return []
    known = set(c.fs.ranks_in)
    arguments = {
        "ranks": list(c.fs.ranks_in),
        "loads": answer["load_before"],
        "load": [m.load for m in moves],
        "inodes": [m.inodes for m in moves],
        "source": [[r for r in m.source if r in known] for m in moves],
        "target": [[r for r in m.target if r in known] for m in moves],
        "after": [m.after for m in moves],
    }
    ordered = [moves[i].step for i in engine("order", arguments)["order"]]
    return sorted(ordered, key=lambda step: step.phase)


def _to_auth(c: Circumstances) -> list[Step]:
    if c.to_auth is None or c.to_auth == FORWARDS:
        return []
    return [Step(SETTINGS, CONFIG_STEP, OF_ALL, TO_AUTH, 0, FORWARDS, c.to_auth)]


def _mask_steps(heavy_ranks: tuple[int, ...], c: Circumstances) -> list[Step]:
    """The balancer, and what confines it: with our hook, masks of the directories do."""
    fs, mask = c.fs, ranks_mask(heavy_ranks) if c.masks is None else EVERY_RANK
    present = balanced_ranks(fs.bal_rank_mask)
    taken = present is not None or (fs.balance_automate and c.masks is None)
    if taken and not c.owns_settings and not c.force:
        raise NotPermitted(_whose(c))
    found = []
    if present != balanced_ranks(mask):
        found.append(Step(SETTINGS, FS_STEP, OF_ALL, RANK_MASK, 0, mask, fs.bal_rank_mask))
    if not fs.balance_automate or c.for_policy:
        found.append(Step(SETTINGS, FS_STEP, OF_ALL, AUTOMATE, 0, "true", "false"))
    return found


def _whose(c: Circumstances) -> str:
    fs, other = c.fs, "or --heavy fanout, which needs neither"
    if c.policy is not None and balanced_ranks(fs.bal_rank_mask) is None:
        return (
            f"'balance on' balances '{fs.name}' by {c.policy}, and this plan would leave heavy subvolumes to "
            f"the balancer within a mask: run 'ceph mds_partitioner balance off {fs.name}' first, use "
            f"--force to have both, {other}"
        )
    return (
        f"an operator has set bal_rank_mask {fs.bal_rank_mask} or balance_automate on '{fs.name}', and its "
        f"heavy subvolumes need both; use --force, {other}"
    )
