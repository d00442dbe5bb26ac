# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where new directories go: to the rank that their entry of a lookup table names, while they are empty.

The table is made of the load as it is expected to be: from one in which every rank has as many entries as
the others, by one adjustment (lookup_table.py). So it needs no memory, and what is placed stays where it is.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from .lookup_table import LookupTable, adjust
from .view import Move, Piece

BITS = 8  # of an entry's number, at least: 256 entries
EACH = 16  # entries a rank, at least: one that has too much gives some of them
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio (Knuth, 6.4): numbers in a row fall far from each other
SMALL = 1000.0  # inodes: with more in it a directory is no longer one that costs nothing to move


def ranks_of_new(
    pieces: Iterable[Piece],
    known: Collection[int],
    load: Mapping[int, float],
    capacity: Mapping[int, float],
) -> list[Move]:
    """Moves for those that are new and on another rank than that of their entry.

    None as long as all that may be moved is on one rank: then nothing was ever to be spread.

    :param known: inode numbers of pieces that were moved before
    :param load: req/s by rank, as expected
    :param capacity: req/s that each can serve that may get something
    """
    seen = [p for p in pieces if p.rank is not None]
    new = [
        p
        for p in seen
        if p.fresh and not p.held and p.rank in load and p.at_most <= SMALL and p.ino not in known
    ]
    if not (new and capacity) or len({p.rank for p in seen}) < 2:
        return []
    bits = max(BITS, (EACH * len(capacity) - 1).bit_length())
    owner = _table(load, capacity, 1 << bits)
    entry = {p.ino: _entry(p, bits) for p in new}
    return [_move(p, entry[p.ino], owner) for p in new if owner[entry[p.ino]] != p.rank]


def _table(load: Mapping[int, float], capacity: Mapping[int, float], entries: int) -> list[int]:
    """The rank of each entry; those of one are in a row, so what is made in a row is spread as they are."""
    ranks = sorted(capacity)
    even = LookupTable.round_robin(entries, len(ranks))
    shifts = adjust(even, [load[r] for r in ranks], [max(capacity[r], 1e-9) for r in ranks])
    return [ranks[server] for server in sorted(even.moved(shifts).owners)]


def _entry(piece: Piece, bits: int) -> int:
    return (piece.ino * GOLDEN % (1 << 64)) >> (64 - bits)


def _move(piece: Piece, entry: int, owner: Sequence[int]) -> Move:
    assert piece.rank is not None
    target = owner[entry]
    why = f"new: entry {entry} of the table is rank {target}'s"
    return Move(piece.ino, piece.path, piece.rank, target, 0.0, 0.0, piece.inodes, why)
