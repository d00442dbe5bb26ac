# SPDX-License-Identifier: LGPL-2.1-or-later
"""The planner: which ranks each subvolume gets, so that the fullest rank is as empty as possible and little
moves.

`scatter` tries the parents whose directories come and go on one rank and on all; of each try `proposal` has
what must move moved (`keep`), and all that it pays to move (`rebalance`), and says which is worth it.
`rebalance` gives each heavy subvolume its ranks (`heavies`), each other one its own around them (`fill`), and
evens what points leave uneven (`requests`). To ranks that are `closed` nothing goes. `spread` shares out the
children of a heavy subvolume, when its ranks are known.

Inside the package ranks are numbers: 0 to usable - 1 are the usable ranks in ascending order, then follow the
other existing ranks, and GONE is a rank that does not exist.
"""
