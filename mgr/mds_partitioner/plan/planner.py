# SPDX-License-Identifier: LGPL-2.1-or-later
"""From a judgement to a plan: what may move, where the engine puts it, and the steps that take it there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..engine.names import FANOUT, HEAVY, MASK
from ..engine.reasons import EPHEMERAL_PIN, MASKED_BY_OPERATOR, PINNED_BY_OPERATOR, RESTING
from ..errors import NotPermitted
from ..filesystem import NO_MASK
from ..judge.judgement import DirectoryJudgement, Judgement
from ..judge.verdict import Engine
from ..model import NO_PIN, FsState
from ..options import Settings
from .circumstances import TO_AUTH, Child, Circumstances
from .plan import (
    CONFIG_STEP,
    FS_STEP,
    MASK_STEP,
    PIN_STEP,
    Plan,
    Prediction,
    Row,
    Step,
)
from .ranks import DEFAULT_MASKS, format_ranks, mask_ranks, parse_ranks, ranks_mask

PINS, SETTINGS = 0, 1  # phases
CACHE_RESERVATION = 0.95  # mds_cache_reservation keeps 5 % of the cache free


def fixed_reason(row: DirectoryJudgement, c: Circumstances, now: float, rest: int) -> str | None:
    """Why a directory must stay where it is; None when it may move."""
    pin, ino = row.seen.pin, row.seen.directory.ino
    if row.seen.ephemeral:
        return EPHEMERAL_PIN
    if pin != NO_PIN and c.owned.get(ino) != pin and not c.force:
        return PINNED_BY_OPERATOR
    if c.mask_of(ino) not in (NO_MASK, c.owned_masks.get(ino)) and not c.force:
        return MASKED_BY_OPERATOR
    if now - c.moved_at.get(ino, 0.0) < rest:
        return RESTING
    return None


def make_plan(
    name: str,
    judgement: Judgement,
    ranks: Sequence[int],
    gather: Callable[[Judgement], Circumstances],
    settings: Settings,
    engine: Engine,
    children_of: Callable[[str], list[Child]],
    now: float,
) -> Plan:
    """Plan for ``ranks``. The classes are those over these ranks; the analysis' own, over the ranks of then,
    are not looked at.

    :param gather: reads the circumstances of a judgement with these classes
    :param children_of: lists a heavy directory's children (only asked in mode fanout)
    :param now: seconds since the Unix epoch
    :raises NotPermitted: the plan needs the mask or balancer that an operator has set
    """
    judgement = classified(judgement, ranks, engine)
    c = gather(judgement)
    rows = judgement.directories
    fixed = [fixed_reason(row, c, now, settings.rest_period) for row in rows]
    children = {
        i: children_of(row.seen.directory.path)
        for i, row in enumerate(rows)
        if c.heavy_mode == FANOUT and row.klass == HEAVY and fixed[i] is None
    }
    answer = engine("plan", _arguments(judgement, c, settings, fixed, children))
    table = tuple(
        _row(row, new, reason) for row, new, reason in zip(rows, answer["new"], answer["reason"], strict=True)
    )
    heavy_ranks = tuple(answer["heavy_ranks"])
    steps = _steps(rows, table, heavy_ranks, answer, c, children)
    return Plan(
        name=name,
        fs=c.fs.name,
        fscid=c.fs.fscid,
        created=now,
        heavy_mode=c.heavy_mode,
        heavy_ranks=heavy_ranks,
        force=c.force,
        estimate=estimate(rows),
        rows=table,
        steps=steps,
        prediction=_prediction(answer, c.fs),
    )


def classified(judgement: Judgement, ranks: Sequence[int], engine: Engine) -> Judgement:
    """The same judgement, its classes over these ranks."""
    seen = [row.seen for row in judgement.directories]
    table = {
        "wss": [s.wss for s in seen],
        "reqs": [s.requests for s in seen],
        "rentries": [s.rentries for s in seen],
    }
    answer = engine("classify", {"ranks": list(ranks), "subvolumes": table})
    rows = zip(seen, answer["workload"], answer["class"], strict=True)
    return replace(judgement, directories=tuple(DirectoryJudgement(s, float(w), str(k)) for s, w, k in rows))


def estimate(rows: Sequence[DirectoryJudgement]) -> str:
    """One sentence on how working sets and requests were found."""
    counted = bool(rows) and all(row.seen.counted for row in rows)
    text = "wss: " + (
        "inodes visited in the MDSs' last windows, counted by them, at their highest; "
        if counted
        else "capabilities of the sessions at or below each directory, at their highest; "
    )
    text += "reqs: each rank's measured rate, shared by its sessions' request counts"
    shared = sum(row.seen.shared for row in rows)
    if shared:
        text += f"; {shared} directories partly by heat, for sessions mounted above them"
    return text


def _arguments(
    judgement: Judgement,
    c: Circumstances,
    settings: Settings,
    fixed: list[str | None],
    children: Mapping[int, list[Child]],
) -> dict[str, Any]:
    rows = judgement.directories
    return {
        "ranks": list(c.ranks),
        "all_ranks": list(c.fs.ranks_in),
        "cache_inodes": judgement.cache_limit * CACHE_RESERVATION / settings.bytes_per_inode,
        "subvolumes": {
            "wss": [r.seen.wss for r in rows],
            "reqs": [r.seen.requests for r in rows],
            "rentries": [r.seen.rentries for r in rows],
            "class": [r.klass for r in rows],
            "current": [list(r.seen.ranks) for r in rows],
            "fixed": fixed,
        },
        "heavy_mode": c.heavy_mode,
        "children": {
            str(i): {
                "rentries": [child.rentries for child in listed],
                "current": [child.ranks[0] if len(child.ranks) == 1 else None for child in listed],
            }
            for i, listed in children.items()
        },
        "current_mask": _current_mask(rows, c),
        "smoothness": settings.smoothness,
        "capacity": judgement.verdict.capacity.value,
        "threshold": settings.imbalance_threshold,
        "min_gain": settings.min_gain,
    }


def _current_mask(rows: Sequence[DirectoryJudgement], c: Circumstances) -> list[int] | None:
    """The ranks that the heavy directories share now; None when nothing confines them to the same ones."""
    if not c.fs.balance_automate:
        return None
    if c.fs.bal_rank_mask not in DEFAULT_MASKS:
        return list(mask_ranks(c.fs.bal_rank_mask))
    masks = {c.mask_of(row.seen.directory.ino) for row in rows if row.klass == HEAVY}
    return list(parse_ranks(masks.pop())) if len(masks) == 1 and NO_MASK not in masks else None


def _row(row: DirectoryJudgement, new: Sequence[int], reason: str) -> Row:
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
        current=seen.ranks,
        new=tuple(sorted(new)),
        reason=reason,
    )


def _prediction(answer: Mapping[str, Any], fs: FsState) -> Prediction:
    def by_rank(values: Sequence[float]) -> dict[str, float]:
        return {str(rank): float(v) for rank, v in zip(fs.ranks_in, values, strict=True)}

    return Prediction(
        imbalance_before=float(answer["imbalance_before"]),
        imbalance_after=float(answer["imbalance_after"]),
        fullest_rank_before=int(answer["fullest_before"]["rank"]),
        fullest_before=float(answer["fullest_before"]["value"]),
        fullest_rank_after=int(answer["fullest_after"]["rank"]),
        fullest_after=float(answer["fullest_after"]["value"]),
        lower_bound=float(answer["lower_bound"]),
        load_before=by_rank(answer["load_before"]),
        load_after=by_rank(answer["load_after"]),
        inodes_to_move=float(answer["inodes_to_move"]),
    )


def _home(row: Row) -> int:
    return row.current[0] if len(row.current) == 1 else -1


def _pin_step(index: int, row: Row, seen_pin: int, rank: int) -> Step:
    return Step(PINS, PIN_STEP, index, row.path, row.ino, str(rank), str(seen_pin), _home(row))


def _steps(
    judged: Sequence[DirectoryJudgement],
    rows: Sequence[Row],
    heavy_ranks: tuple[int, ...],
    answer: Mapping[str, Any],
    c: Circumstances,
    children: Mapping[int, list[Child]],
) -> tuple[Step, ...]:
    if not answer["worthwhile"]:
        return ()
    dynamic = c.heavy_mode == MASK and len(heavy_ranks) > 1
    steps: list[Step] = []
    for i, (seen, row) in enumerate(zip(judged, rows, strict=True)):
        pin = seen.seen.pin
        if row.reason in (PINNED_BY_OPERATOR, EPHEMERAL_PIN, MASKED_BY_OPERATOR):
            continue
        if len(row.new) == 1:
            # With the balancer on, a directory without a pin would be the balancer's to move.
            if pin != row.new[0] and (row.new != row.current or dynamic or pin != NO_PIN):
                steps.append(_pin_step(i, row, pin, row.new[0]))
        elif dynamic and row.klass == HEAVY:
            if pin != NO_PIN:
                steps.append(_pin_step(i, row, pin, NO_PIN))
            old, new = c.mask_of(row.ino), format_ranks(heavy_ranks)
            if c.masks is not None and set(row.new) == set(heavy_ranks) and old != new:
                steps.append(Step(PINS, MASK_STEP, i, row.path, row.ino, new, old))
        elif i in children and len(row.new) > 1:
            steps += _fanout(i, row, pin, answer["children_ranks"][str(i)], children[i])
    return (*steps, *(_mask_steps(heavy_ranks, c) if dynamic else ()), *_to_auth_steps(c))


def _to_auth_steps(c: Circumstances) -> list[Step]:
    if c.to_auth is None or c.to_auth == "true":
        return []
    return [Step(SETTINGS, CONFIG_STEP, -1, TO_AUTH, 0, "true", c.to_auth)]


def _fanout(index: int, row: Row, pin: int, ranks: Sequence[int], listed: Sequence[Child]) -> list[Step]:
    # Clients ask the lowest rank they know a directory from; a child's inode stays with its parent.
    parent = max(row.new)
    steps = [] if pin == parent else [_pin_step(index, row, pin, parent)]
    for child, rank in zip(listed, ranks, strict=True):
        if child.pin != rank:
            home = child.ranks[0] if len(child.ranks) == 1 else -1
            steps.append(Step(PINS, PIN_STEP, index, child.path, child.ino, str(rank), str(child.pin), home))
    return steps


def _mask_steps(heavy_ranks: tuple[int, ...], c: Circumstances) -> list[Step]:
    """The balancer, and what confines it: with our hook, masks of the directories do."""
    fs, mask = c.fs, ranks_mask(heavy_ranks) if c.masks is None else DEFAULT_MASKS[0]
    taken = fs.bal_rank_mask not in DEFAULT_MASKS or (fs.balance_automate and c.masks is None)
    if taken and not c.owns_settings and not c.force:
        raise NotPermitted(
            f"an operator has set bal_rank_mask {fs.bal_rank_mask} or balance_automate on '{fs.name}', and "
            f"its heavy subvolumes need both; use --force, or --heavy fanout, which needs neither"
        )
    steps = []
    if fs.bal_rank_mask != mask and not {fs.bal_rank_mask, mask} <= set(DEFAULT_MASKS):
        steps.append(Step(SETTINGS, FS_STEP, -1, "bal_rank_mask", 0, mask, fs.bal_rank_mask))
    if not fs.balance_automate:
        steps.append(Step(SETTINGS, FS_STEP, -1, "balance_automate", 0, "true", "false"))
    return steps
