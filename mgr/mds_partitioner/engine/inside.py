# SPDX-License-Identifier: LGPL-2.1-or-later
"""What full ranks show, without numpy: the manager asks for it, too."""

INSIDE = 1.25  # requests, on the mean of an epoch: with fewer a rank rests at times
CROWD = 8.0  # a burst makes fewer; who is full with so many shows what it can do
CHANGED = 0.8  # of the larger of two rates of a full rank: nothing less is a change but noise
AT_ONCE = 4.0  # times what it serves whom it holds back: more is believed when it is seen
LEAST_RATE = 20.0  # req/s: a mean over fewer says little, and no MDS that works is full of so few
