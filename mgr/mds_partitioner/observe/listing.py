# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is in a directory, listed as often as its entries allow."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..ceph.filesystem import FileSystem
from ..errors import CephError, NotFound
from ..model import Directory
from .children import found_again
from .turnover import MAINLY, listable

SELDOM = 600.0  # s between two listings of what has too many entries to be listed each time
MOST_ENTRIES = 100_000  # with more it is not listed even then, as that takes an MDS a second
COUNTED = 60.0  # s, for which one that had few entries is listed without asking how many it has


@dataclass(frozen=True)
class Listing:
    """As it was found last. Times are the steady clock's, s.

    :ivar at: when it was listed; looked: when it was looked at, listed or not
    :ivar few: when it was last seen to have few entries
    :ivar many: directories in it when it was listed, where it has many entries
    :ivar too_many: its entries, while they are more than are ever listed
    """

    found: list[Directory] = field(default_factory=list)
    at: float = -math.inf
    looked: float = -math.inf
    few: float = -math.inf
    many: int | None = None
    too_many: int = 0


def look(
    fs: FileSystem,
    path: str,
    read: Callable[[], list[Directory]],
    old: Listing,
    now: float,
    *,
    follows: bool = False,
    later: bool = False,
) -> Listing:
    """As it is now. What has too many entries to be listed each time is listed once in ``SELDOM`` s; in
    between those count that were found before and are still there.

    :param read: lists its directories
    :param now: steady clock, s
    :param follows: where it has directories for the most part, a long one is also listed when it has more or
        fewer of them
    :param later: a long one is not listed now
    """
    few = 0.0 <= now - old.few < COUNTED
    counts = None if few else _counts(fs, path)
    if counts is None:
        return Listing(_kept(read(), old.found), now, now, old.few if few else now)
    entries, many = counts
    changed = follows and many != old.many and many >= MAINLY * entries
    if entries <= MOST_ENTRIES and not later and (changed or now - old.at >= SELDOM):
        return Listing(_kept(read(), old.found), now, now, many=many)
    too_many = entries if entries > MOST_ENTRIES else 0
    found = found_again(fs, old.found)
    return replace(old, found=found, looked=now, few=-math.inf, too_many=too_many)


def _counts(fs: FileSystem, path: str) -> tuple[int, int] | None:
    """Entries, and how many of them are directories; None where it may be listed each time, or is gone, or a
    file by now."""
    try:
        return None if listable(fs, path) else (fs.entries(path), fs.subdirs(path))
    except NotFound:
        return None
    except CephError as e:
        if e.code == errno.ENODATA:
            return None
        raise


def _kept(found: list[Directory], before: list[Directory]) -> list[Directory]:
    """The same, each as the very one that it was: there are thousands, and few are new."""
    known = {d.ino: d for d in before}
    return [old if (old := known.get(d.ino, d)) == d else d for d in found]
