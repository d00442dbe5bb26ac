# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whom to relieve next: Algorithms 1 and 2 of Sun et al., "A Distributed Cache Framework", section IV-B.

Scores are given in the order in which they became known: of one MDS after the other, each in its unit of
time. Pure functions, any unit of score.
"""

import math
from collections.abc import Sequence


def looking(n: int) -> int:
    """Equation 5: of n candidates, how many are only looked at: n / e, rounded, at least 1.

    :raises ValueError: n is below 2, so that nobody would be left to choose
    """
    if n < 2:
        raise ValueError(f"{n} candidates: Algorithm 2 needs 2 or more, one to look at and one to choose")
    return max(1, round(n / math.e))


def records(scores: Sequence[float], warning: float) -> list[int]:
    """Algorithm 1: the index of every score above ``warning`` and all scores before it.

    In random order there are ln n of them (equation 4).
    """
    best = warning
    found = []
    for index, score in enumerate(scores):
        if score > best:
            best = score
            found.append(index)
    return found


def first_better(scores: Sequence[float], n: int, warning: float) -> int | None:
    """Algorithm 2: the first score that is above the best of the first n / e of them, else the last of the n.

    None while no such score has come, and where the one to be taken is not above ``warning``. The paper's
    text compares the best score with the warning level while the best is still minus infinity, so that it
    stays there; and its second loop stands within the first. Read here: a candidate is above the level.

    scores: up to n of them, fewer while the period lasts.
    :raises ValueError: more than n scores, or n below 2
    """
    if len(scores) > n:
        raise ValueError(f"{len(scores)} scores in a period of {n}: at most {n} are allowed")
    look = looking(n)
    best = max([warning, *scores[:look]])
    for index in range(look, len(scores)):
        if scores[index] > best:
            return index
    return n - 1 if len(scores) == n and scores[-1] > warning else None
