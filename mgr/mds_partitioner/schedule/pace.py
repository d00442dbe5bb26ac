# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much may be under way at once: all that the budgets allow, until clients are seen to suffer by it.

Halved when they get through less than before, one step up in each look that they do not (Cruise Control's
concurrency adjuster). What an export costs differs by cluster: a frozen subtree stops its clients, and both
ranks' time goes into it.
"""

SUFFER = 0.7  # of what all clients got through before: less is harm (a load from cold only gets through more)
STEP = 0.125  # of the budgets, up
LEAST = 0.125  # of the budgets, at least


def pace(before: float, calm: float, requests: float, moving: bool) -> float:
    """The part of the budgets that is used from now on.

    :param before: the part until now
    :param calm: req/s of all ranks when nothing was under way last; 0: unknown
    :param requests: the same now
    :param moving: something is under way
    """
    if moving and requests < SUFFER * calm:
        return max(LEAST, before / 2.0)
    return min(1.0, before + STEP)
