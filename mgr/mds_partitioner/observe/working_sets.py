# SPDX-License-Identifier: LGPL-2.1-or-later
"""Working sets as MDSs with our hook count them (``dump mindex``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any


def parse_working_sets(
    answers: Sequence[Mapping[str, Any] | None], directories: Collection[str]
) -> dict[str, float] | None:
    """Distinct inodes visited below each of ``directories`` in the MDSs' last windows, over all ranks.

    :param answers: one an active MDS; None for one that does not count
    :returns: None while an MDS does not count, or its first window has not ended
    """
    if not answers or any(a is None or int(a["epoch"]) < 1 for a in answers):
        return None
    counted: dict[str, float] = {}
    for answer in answers:
        for dirfrag in answer["dirfrags"] if answer else ():
            path = str(dirfrag["path"]) or "/"
            if path in directories:
                counted[path] = counted.get(path, 0.0) + float(dirfrag["working_set"])
    return counted
