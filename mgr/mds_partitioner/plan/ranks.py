# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rank lists and masks, as the operator and Ceph write and read them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import BadInput
from ..model import FsState

MAX_RANKS = 256  # MAX_MDS in Ceph's src/mds/mdstypes.h
SHOWN = 60  # characters of a bad input
EVERY_RANK, ALSO_EVERY_RANK = "-1", "all"  # bal_rank_mask
NO_RANK = ("0x0", "0")  # bal_rank_mask: the balancer is off
CHUNK = 16  # digits that Ceph reads at once
MASK = re.compile(r"0[xX][0-9a-fA-F]+", re.ASCII)  # Python would take 0x1_0 as well
RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")  # Python refuses to read thousands of digits
NUMBER = re.compile(r"\s*[+-]?(0x)?[0-9a-f]+", re.ASCII)  # what stoull takes of a chunk


def parse_ranks(text: str) -> tuple[int, ...]:
    """``"0,1,3"``, ``"0-3"`` as tables have it, or ``"0x0b"`` as sorted ranks.

    :raises BadInput: naming the part that is not a rank.
    """
    text = text.strip()
    if text.lower().startswith("0x"):
        return mask_ranks(text)
    ranks = set[int]()
    for part in map(str.strip, text.split(",")):
        found = RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, MAX_RANKS)
        if not first <= last < MAX_RANKS:
            raise BadInput(
                f"'{part[:SHOWN]}' in '{text[:SHOWN]}' is not a rank: give ranks as a list of numbers "
                f"from 0 to {MAX_RANKS - 1} (0,1,3 or 0-3) or as a hexadecimal mask (0xb)"
            )
        ranks.update(range(first, last + 1))
    return tuple(sorted(ranks))


def mask_ranks(mask: str) -> tuple[int, ...]:
    """The ranks whose bit is set in a hexadecimal mask.

    :raises BadInput: when it is not hexadecimal, empty or too wide.
    """
    if not MASK.fullmatch(mask):
        raise BadInput(f"'{mask[:SHOWN]}' is not a hexadecimal rank mask such as 0xb")
    value = int(mask, 16)
    if value <= 0 or value >= 1 << MAX_RANKS:
        told = f"rank mask '{mask[:SHOWN]}' must name at least one rank, and none above {MAX_RANKS - 1}"
        raise BadInput(told)
    return _set_bits(value)


def balanced_ranks(mask: str) -> tuple[int, ...] | None:
    """The ranks that ``bal_rank_mask`` leaves to the balancer, there or not; None: every rank.

    The mon keeps what an operator typed. MDSs take what they cannot read for every rank (MDSMap.cc,
    update_num_mdss_in_rank_mask_bitset and hex2bin).
    """
    if mask in NO_RANK:
        return ()
    digits = mask.lower().removeprefix("0x")
    read = [NUMBER.match(digits[i : i + CHUNK]) for i in range(0, len(digits), CHUNK)]
    if mask in (EVERY_RANK, ALSO_EVERY_RANK) or len(read) * 4 * CHUNK > MAX_RANKS:
        return None
    value = 0
    for found in read:
        if found is None:
            return None
        value = value << 4 * CHUNK | int(found[0], 16) % (1 << 4 * CHUNK)
    return _set_bits(value) or None


def mask_of(fs: FsState) -> tuple[int, ...] | None:
    """The ranks there are of ``bal_rank_mask``; None when it names all, () when it names none."""
    ranks = balanced_ranks(fs.bal_rank_mask)
    named = fs.ranks_in if ranks is None else tuple(rank for rank in fs.ranks_in if rank in ranks)
    return None if named == fs.ranks_in else named


def _set_bits(value: int) -> tuple[int, ...]:
    return tuple(rank for rank in range(MAX_RANKS) if value >> rank & 1)


def ranks_mask(ranks: Iterable[int]) -> str:
    """Ranks as the hexadecimal mask that ``fs set bal_rank_mask`` takes.

    A long one has whole chunks of digits: Ceph cuts them off from the left.
    """
    digits = f"{sum(1 << rank for rank in set(ranks)):x}"
    return "0x" + (digits if len(digits) <= CHUNK else digits.zfill(-(-len(digits) // CHUNK) * CHUNK))


def format_ranks(ranks: Iterable[int]) -> str:
    """Ranks as a list: ``0,1,3``; a dash when there is none."""
    return ",".join(str(rank) for rank in sorted(set(ranks))) or "-"
