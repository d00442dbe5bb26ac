# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``scheduler status`` and ``scheduler history`` show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import clock
from ..ceph.volumes import name_of
from ..errors import BadInput
from ..model import NO_PIN, FsState
from ..observe.directories import normal
from ..observe.listing import MOST_ENTRIES
from ..plan.ranks import format_ranks, mask_of
from ..schedule.core.state import Past
from ..schedule.core.view import RankView
from ..schedule.record import ACT, ADVISE, MODES, OFF, UNDOING, Kept, Turn, under_way
from ..schedule.shown import UNDOES, doing, held, looks, trouble
from ..schedule.watch import Watch, relative
from .text import GAP, MIDDLE, count, cut, first, printable, rest, table, topmost, wrapped

ALIKE = 3  # directories that are named where several could be meant
LAST = 5  # moves, decisions and reasons that a status shows unless told otherwise
WIDTH, PATH_WIDTH = 100, 36  # cells, at most
HISTORY = ("When", "Directory", "From", "To", "reqs/s", "then", "Gain", "real", "State")
PATH = HISTORY.index("Directory")
TOLD = {
    OFF: "off",
    ADVISE: "advises: it changes nothing",
    ACT: "acts",
    UNDOING: UNDOES,
}


def off_value(fs: FsState) -> dict[str, Any]:
    """As plain data, where it was never started: as that of ``status_value``."""
    unknown = ("since", "until", "state", "next_look", "imbalance_factor", "threshold")
    nothing: dict[str, Any] = {"ranks": [], "under_way": [], "decisions": [], "held": {}, "advised": 0}
    nothing |= {"unlisted_entries": 0, "unlisted": [], "bal_rank_mask": fs.bal_rank_mask, "unused_ranks": []}
    return {"fs": fs.name, "mode": OFF, "paused": False, "problem": "", **dict.fromkeys(unknown), **nothing}


def kept_value(fs: FsState, kept: Kept) -> dict[str, Any]:
    """The mode as plain data. Times: Unix, s."""
    return {
        "fs": fs.name,
        "mode": kept.mode,
        "since": kept.since,
        "paused": kept.paused,
        "until": kept.until,
    }


def mode_line(fs: FsState, kept: Kept) -> str:
    """One line."""
    paused = ", paused" if kept.paused else ""
    return f"the scheduler of '{fs.name}' {_verb(kept.mode)}{paused}"


def _verb(mode: str) -> str:
    return f"is {OFF}" if mode == OFF else TOLD[mode]


@dataclass(frozen=True)
class Status:
    """What a status tells of. ``next_look``: in so many seconds; None: none is due."""

    fs: FsState
    kept: Kept
    watch: Watch
    next_look: float | None


def status_value(seen: Status) -> dict[str, Any]:
    """As plain data. Loads and capacities in req/s."""
    kept, watch = seen.kept, seen.watch
    verdict, view = (watch.verdict, watch.view) if looks(watch) else (None, None)
    unlisted = {} if kept.mode == OFF else watch.known.too_many
    return kept_value(seen.fs, kept) | {
        "state": None if kept.mode == OFF else doing(watch),
        "problem": trouble(watch),
        "next_look": seen.next_look,
        "imbalance_factor": None if verdict is None else verdict.factor,
        "threshold": None if verdict is None else verdict.threshold,
        "ranks": [] if view is None else [_rank_value(rank, watch) for rank in view.ranks],
        "under_way": [_move_value(past, requests) for past, requests in under_way(kept)],
        "decisions": [_turn_value(turn) for turn in kept.turns],
        "held": {} if kept.mode == OFF else dict(held(watch)),
        "unlisted_entries": sum(unlisted.values()),
        "unlisted": list(unlisted),
        "advised": len(watch.advised) if kept.mode == ADVISE else 0,
        "bal_rank_mask": seen.fs.bal_rank_mask,
        "unused_ranks": _unused(seen),
    }


def _unused(seen: Status) -> list[int]:
    """Ranks that ``bal_rank_mask`` leaves out while it looks. One that names none confines nobody."""
    mask = mask_of(seen.fs) if seen.kept.mode in MODES else None
    return [rank for rank in seen.fs.ranks_in if rank not in mask] if mask else []


def _rank_value(rank: RankView, watch: Watch) -> dict[str, Any]:
    parts = {} if watch.view is None else relative(watch.view)
    return {
        "rank": rank.rank,
        "requests": round(rank.requests, 2),
        "capacity": rank.able,
        "utilisation": rank.requests / rank.able if rank.able else None,
        "of_its_share": parts.get(rank.rank),
        "full": rank.full,
    }


def _move_value(past: Past, requests: float) -> dict[str, Any]:
    move, since, arrived = past.move, _since(past), past.arrived >= 0.0 and not past.lost
    return {
        "path": move.path,
        "source": move.source,
        "target": move.target,
        "inodes": round(move.inodes),
        "requests": round(requests, 2),
        "requests_since": None if since is None else round(since, 2),
        "predicted_gain": round(move.gain, 2),
        "begun": past.begun,
        "arrived": past.arrived if arrived else None,
        "lost": past.lost,
        "why": move.why,
    }


def _since(past: Past) -> float | None:
    """req/s on the new rank; None: not known yet, or it did not get there."""
    return past.settled if past.settled >= 0.0 and not past.lost else None


def _turn_value(turn: Turn) -> dict[str, Any]:
    value = asdict(turn) | {
        "moves": [_move_value(*entry) for entry in zip(turn.moves, turn.requests)],
        "trouble": list(turn.trouble()),
        "predicted_gain": round(turn.gain, 2),
        "real_gain": None if turn.real is None else round(turn.real, 2),
    }
    del value["left"]  # which trouble tells in words
    return value


def status_text(seen: Status, top: int) -> str:
    """For people, at most 100 columns. ``top``: moves, decisions and reasons at most; 0: all"""
    kept, watch = seen.kept, seen.watch
    now = () if kept.mode == OFF else (_ranks(watch) if looks(watch) else "", _moving(kept, top))
    left = "" if kept.mode == OFF else _left(watch, top)
    parts = [_head(seen), *now, _last(kept, top), left]
    return "\n\n".join(part for part in parts if part)


def _head(seen: Status) -> str:
    kept, watch, next_look = seen.kept, seen.watch, seen.next_look
    started = "last started" if kept.mode == OFF else "started"
    lines = [f"{mode_line(seen.fs, kept)} ({started} {clock.told(kept.since)})"]
    if kept.mode == OFF:
        return "\n".join([*lines, *_trouble(seen)])
    if kept.mode == UNDOING:
        lines.append(f"'ceph mds_partitioner partition ls {seen.fs.name}' shows the plans that are left")
        return "\n".join([*lines, *_trouble(seen)])
    due = "" if next_look is None else f"; it looks again in {max(0.0, next_look):.0f} s"
    would = "if what is advised were done: " if watch.advised else ""
    # Not cut: it may have a command to type.
    lines += wrapped(f"{would}{watch.decision.why}{due}", WIDTH)
    if watch.verdict is not None and looks(watch):
        factor = watch.verdict.factor
        told = "unknown: no rank was seen full yet" if factor is None else f"{factor:.3f}"
        lines.append(f"imbalance factor now {told} (threshold {watch.verdict.threshold:g})")
    return "\n".join([*lines, *_confined(seen), *_trouble(seen)])


def _confined(seen: Status) -> list[str]:
    unused = _unused(seen)
    if not unused:
        return []
    used, mask = format_ranks(set(seen.fs.ranks_in).difference(unused)), seen.fs.bal_rank_mask
    told = f"bal_rank_mask {mask} keeps it to rank {used}; not used: rank {format_ranks(unused)}"
    return wrapped(told, WIDTH)


def _trouble(seen: Status) -> list[str]:
    problem = trouble(seen.watch)
    # Not cut, likewise.
    return wrapped(f"problem: {problem}", WIDTH) if problem else []


def _ranks(watch: Watch) -> str:
    if watch.view is None:
        return ""
    rows = []
    for rank in watch.view.ranks:
        value = _rank_value(rank, watch)
        used, share = value["utilisation"], value["of_its_share"]
        rows.append(
            (
                rank.rank,
                count(rank.requests),
                "-" if rank.able is None else count(rank.able),
                "-" if used is None else f"{used:.0%}",
                "-" if share is None else f"{share:.2f}",
                "full" if rank.full and not watch.advised else "",
            )
        )
    drawn = table(("Rank", "reqs/s", "Capacity", "Used", "of its share", ""), rows, left=("",))
    return f"as the ranks would be if what is advised were done:\n{drawn}" if watch.advised else drawn


def _moving(kept: Kept, top: int) -> str:
    moves = under_way(kept)
    if not moves:
        return ""
    inodes = sum(past.move.inodes for past, _ in moves)
    lines = [f"under way: {len(moves)} moves of {count(inodes)} inodes"]
    lines += first([f"  {_arrow(*entry)}" for entry in moves], top)
    return "\n".join(lines)


def _arrow(past: Past, requests: float) -> str:
    move = past.move
    return f"{cut(name_of(move.path), PATH_WIDTH)} {move.source} -> {move.target}, {count(requests)} req/s"


def _last(kept: Kept, top: int) -> str:
    lines = [f"{clock.told(turn.at)}  {cut(told(turn), 78)}" for turn in kept.turns[-top:]]  # -0: all
    return "\n".join(["last decisions:", *lines]) if lines else ""


def told(turn: Turn) -> str:
    """A decision in a line: what, what it was to bring, and what it brought."""
    brought = "would have brought" if turn.mode == ADVISE else "brought"
    real = "" if turn.real is None else f", {brought} {count(turn.real)}"
    gain = f": {count(turn.gain)} req/s less for rank {turn.fullest}{real}" if turn.gain else ""
    return f"{'(advice) ' if turn.mode == ADVISE else ''}{turn.why}{gain}"


def _left(watch: Watch, top: int) -> str:
    reasons = held(watch).most_common()
    left = first([cut(f"left alone: {number:,}: {why}", 100) for why, number in reasons], top)
    return "\n".join([*left, *_unlisted(watch.known.too_many)])


def _unlisted(too_many: Mapping[str, int]) -> Iterator[str]:
    for path, entries in too_many.items():
        why = (
            f"not listed: '{printable(path)}' has {entries:,} entries, and at most {MOST_ENTRIES:,} are "
            "listed: directories right in it that are not known yet are left alone; remove some, or move "
            "them into a directory"
        )
        yield from wrapped(why, WIDTH)


@dataclass(frozen=True)
class One:
    """The directory that a history is to be of: what has that path now, or had it then.

    :ivar ino: its inode number; None: nothing is there now, or nobody knows
    """

    path: str
    ino: int | None = None

    def __call__(self, ino: int, path: str) -> bool:
        """Is it this one? It may have been renamed since, and another one have had its name."""
        return path == self.path if self.ino is None else ino == self.ino


def history_value(kept: Kept, one: One | None) -> list[dict[str, Any]]:
    """Decisions as plain data, oldest first; of one directory, those that moved it.

    Of what was only advised, what it brought is what it would have.
    """
    return [_turn_value(turn) for turn in _turns(kept, one)]


def _turns(kept: Kept, one: One | None) -> list[Turn]:
    return [turn for turn in kept.turns if one is None or _about(turn, one)]


def _about(turn: Turn, one: One) -> bool:
    return one.path in turn.split or any(one(*each) for each in turn.about)


def _paths(turn: Turn) -> Iterator[str]:
    """Of all that a decision was about."""
    yield from (scatter.path for scatter in turn.scatter)
    yield from turn.split
    yield from (past.move.path for past in turn.moves)


def meant(kept: Kept, directory: str) -> str:
    """The path of a directory that is named by it, or as tables show it: by its name, escaped or without its
    middle. A path that is not there is as it was.

    :raises BadInput: it could be several, or it is neither there nor a path
    """
    absolute = directory.startswith("/")
    told = normal(directory) if absolute else directory
    there = {path for turn in kept.turns for path in _paths(turn)}
    if told in there:
        return told
    shown = sorted(path for path in there if _shown_as(path, told))
    if len(shown) > 1:
        some, more = ", ".join(f"'{printable(path)}'" for path in shown[:ALIKE]), len(shown) - ALIKE
        raise BadInput(
            f"directory '{printable(directory)}' could be {some}{f' and {more} more' if more > 0 else ''}: "
            "name one of them; 'scheduler history --format json' has all paths"
        )
    if not (shown or absolute):
        raise BadInput(
            f"directory '{printable(directory)}': give an absolute path, or what 'scheduler history' shows"
        )
    return shown[0] if shown else told


def _shown_as(path: str, told: str) -> bool:
    return any(_is_or_was_cut(printable(called), told) for called in (path, name_of(path)))


def _is_or_was_cut(path: str, told: str) -> bool:
    """Is that it, or what is left of it without its middle, however long?"""
    middles = [i for i, char in enumerate(told) if char == MIDDLE and len(told) <= len(path)]
    return told == path or any(path.startswith(told[:i]) and path.endswith(told[i + 1 :]) for i in middles)


def history_text(kept: Kept, one: One | None, top: int) -> str:
    """A row a move, the newest first; what was not made, and why."""
    turns = _turns(kept, one)[::-1]
    rows = [row for turn in turns for row in _rows(turn, one, kept.mode)]
    notes = [note for turn in turns for note in _notes(turn, one)]
    if not rows and not notes:
        return "no decision yet" if one is None else _unmoved(kept, one)
    shown = topmost(rows, top)
    drawn = "\n".join([_drawn(shown), *rest(rows, shown)])
    return "\n\n".join([drawn, *(["\n".join(first(notes, top))] if notes else [])])


def _unmoved(kept: Kept, one: One) -> str:
    another = any(one.path in _paths(turn) for turn in kept.turns)
    told = "; another one, that had this path then, was: see the history of all" if another else ""
    return "\n".join(wrapped(f"{printable(one.path)} was not moved{told}", WIDTH))


def _drawn(rows: Sequence[Sequence[Any]]) -> str:
    """Of a directory's name there is as much as the other columns leave room for."""
    columns = [max(len(str(cell)) for cell in column) for column in zip(HISTORY, *rows)]
    left = WIDTH - sum(GAP + cells for i, cells in enumerate(columns) if i != PATH)
    width = max(len(HISTORY[PATH]), min(PATH_WIDTH, left))
    fitted = [[cut(cell, width) if i == PATH else cell for i, cell in enumerate(row)] for row in rows]
    return table(HISTORY, fitted, left=("When", "Directory", "State"))


def _notes(turn: Turn, one: One | None) -> list[str]:
    """What a turn did beside moves, and what it could not; of one directory, where one is named."""
    at = clock.told(turn.at)
    split = (path for path in turn.split if one is None or path == one.path)
    nothing = not (turn.moves or turn.split or turn.scatter)
    return [
        *_reasons(turn, one),
        *map(printable, turn.trouble() if one is None else turn.trouble(one)),
        *(f"{printable(path)} is seen as its parts since {at}" for path in split),
        *([f"{at}: {printable(turn.why)}"] if nothing else []),
        *_scattered(turn, one),
    ]


def _reasons(turn: Turn, one: One | None) -> list[str]:
    """Why a directory was moved, where one was named."""
    plan = f" ({turn.plan})" if turn.plan else ""
    return [
        f"{clock.told(turn.at)}: {printable(past.move.why)}{plan}"
        for past in turn.moves
        if one is not None and one(past.move.ino, past.move.path)
    ]


def _scattered(turn: Turn, one: One | None) -> list[str]:
    told = "advice" if turn.mode == ADVISE else "rolled back" if turn.undone else turn.plan
    some = (scatter for scatter in turn.scatter if one is None or one(scatter.ino, scatter.path))
    return [f"{clock.told(turn.at)}: {printable(scatter.why)} ({told})" for scatter in some]


def _rows(turn: Turn, one: One | None, mode: str) -> Iterator[Sequence[Any]]:
    real = "-" if turn.real is None else count(turn.real)
    for past, requests in zip(turn.moves, turn.requests):
        move, since = past.move, _since(past)
        if not (one is None or one(move.ino, move.path)):
            continue
        yield (
            clock.told(turn.at),
            name_of(move.path),
            move.source,
            move.target,
            count(requests),
            "-" if since is None else count(since),
            count(move.gain),
            real,
            _state(turn, past, mode),
        )


def _state(turn: Turn, past: Past, mode: str) -> str:
    if turn.mode == ADVISE:
        return "advice"
    if turn.undone:
        return "rolled back"
    if past.move.pin == NO_PIN and not past.lost:
        return "no pin"
    left = any(ino == past.move.ino for ino, _ in turn.left)
    if past.move.load <= 0.0 and (past.arrived < 0.0 or past.lost) and not left:
        return "pinned"
    if past.arrived < 0.0:
        return "not looked at" if mode == OFF else "moving"
    return "gone or not moved" if past.lost else "there"
