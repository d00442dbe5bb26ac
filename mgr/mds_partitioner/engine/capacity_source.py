# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a capacity comes from. Without numpy, so that the manager's side reads the same names."""

from enum import Enum


class CapacitySource(str, Enum):
    """In order of precedence; the values stand in the engine's answers and in ``--format json``."""

    OPTION = "option"  # rank_capacity, set by the operator
    LEARNED = "learned"  # a rank of the window is saturated
    EARLIER = "earlier"  # a rank was saturated before
    UNKNOWN = "unknown"  # no rank was seen saturated by such a load yet
