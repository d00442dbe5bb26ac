# SPDX-License-Identifier: LGPL-2.1-or-later
"""The planner: which ranks each subvolume gets, so that the fullest rank is as empty as possible and little
moves.

Stages, each a module: `keep` (what stays when only the unavoidable moves), `heavies` (several ranks for
each heavy subvolume), `fill` (one rank for each other subvolume, around the heavies), `planner` (whether it
is worth it). Inside the package ranks are numbers: 0 to usable - 1 are the usable ranks in ascending order,
then follow the other existing ranks, and GONE is a rank that does not exist.
"""
