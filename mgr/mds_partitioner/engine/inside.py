# SPDX-License-Identifier: LGPL-2.1-or-later
"""Requests inside a rank, on the mean of an epoch, without numpy: the manager asks for them, too."""

INSIDE = 1.25  # with fewer a rank rests at times
CROWD = 8.0  # a burst makes fewer; who is full with so many shows what it can do
