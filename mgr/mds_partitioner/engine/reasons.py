# SPDX-License-Identifier: LGPL-2.1-or-later
"""Why a subvolume is moved or left alone: one code for each subvolume of a plan."""

HEAVY = "heavy"  # gets other ranks than it has, several where that helps
REBALANCE = "rebalance"  # moved to relieve the rank it is on
RANK_GONE = "rank-gone"  # a rank it is on does not exist any more
RANK_NOT_ALLOWED = "rank-not-allowed"  # a rank it is on exists and is not usable
UNPLACED = "unplaced"  # it had no rank yet
ALREADY_THERE = "already-there"
GAIN_TOO_SMALL = "gain-too-small"  # a better rank exists, and the whole plan gains too little
TOO_SMALL = "too-small"  # with its like on that rank below 0.5 % of the fair share
TOO_LARGE = (
    "too-large-for-a-rank"  # its working set alone is more than a rank's cache, and it cannot be split
)

# What the module fixes before the engine is asked.
PINNED_BY_OPERATOR = "pinned-by-operator"
MASKED_BY_OPERATOR = "masked-by-operator"
EPHEMERAL_PIN = "ephemeral-pin"
RESTING = "resting"
PASSING = "comes-and-goes"
