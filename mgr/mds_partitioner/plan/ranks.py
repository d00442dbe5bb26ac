# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rank lists and masks, as the operator writes and reads them."""

from collections.abc import Iterable

from ..errors import BadInput

MAX_RANKS = 256  # MAX_MDS in Ceph's src/mds/mdstypes.h
DIGITS = 18  # at most: Python refuses to read thousands of them
SHOWN = 60  # characters of a bad input
DEFAULT_MASKS = ("-1", "0x0", "", "0xffffffffffffffff")  # bal_rank_mask values that mean "every rank"


def parse_ranks(text: str) -> tuple[int, ...]:
    """``"0,1,3"`` or ``"0x0b"`` as sorted ranks.

    :raises BadInput: naming the part that is not a rank.
    """
    text = text.strip()
    if text.lower().startswith("0x"):
        return mask_ranks(text)
    ranks = set()
    for part in map(str.strip, text.split(",")):
        if not (part.isascii() and part.isdigit()) or len(part) > DIGITS or int(part) >= MAX_RANKS:
            raise BadInput(
                f"'{part[:SHOWN]}' in '{text[:SHOWN]}' is not a rank: give ranks as a list of numbers "
                f"from 0 to {MAX_RANKS - 1} (0,1,3) or as a hexadecimal mask (0xb)"
            )
        ranks.add(int(part))
    return tuple(sorted(ranks))


def mask_ranks(mask: str) -> tuple[int, ...]:
    """The ranks whose bit is set in a hexadecimal mask.

    :raises BadInput: when it is not hexadecimal, empty or too wide.
    """
    try:
        value = int(mask, 16)
    except ValueError:
        raise BadInput(f"'{mask}' is not a hexadecimal rank mask such as 0xb") from None
    if value <= 0 or value >= 1 << MAX_RANKS:
        raise BadInput(f"rank mask '{mask}' must name at least one rank, and none above {MAX_RANKS - 1}")
    return tuple(rank for rank in range(MAX_RANKS) if value >> rank & 1)


def ranks_mask(ranks: Iterable[int]) -> str:
    """Ranks as the hexadecimal mask that ``fs set bal_rank_mask`` takes."""
    return hex(sum(1 << rank for rank in set(ranks)))


def format_ranks(ranks: Iterable[int]) -> str:
    """Ranks as a list: ``0,1,3``; a dash when there is none."""
    return ",".join(str(rank) for rank in sorted(set(ranks))) or "-"
