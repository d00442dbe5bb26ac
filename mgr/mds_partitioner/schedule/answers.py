# SPDX-License-Identifier: LGPL-2.1-or-later
"""What MDSs answered, each read by itself: one that nobody understands keeps no other from being heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..errors import CephError, PartitionerError

T = TypeVar("T")


def understood(
    answers: Mapping[int, Any], read: Callable[[int, Any], T]
) -> tuple[dict[int, T], dict[int, PartitionerError]]:
    """What was read, and why there is nothing to read, by rank.

    :param answers: by rank: an MDS's answer, or the error that came in its place
    :param read: a rank's answer; its structure is Ceph's, and may be another one than is expected
    """
    found: dict[int, T] = {}
    failed: dict[int, PartitionerError] = {}
    for rank, answer in answers.items():
        if isinstance(answer, PartitionerError):
            failed[rank] = answer
            continue
        try:
            found[rank] = read(rank, answer)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
            failed[rank] = CephError(f"what rank {rank} answered is not understood: {type(e).__name__}: {e}")
    return found, failed
