# SPDX-License-Identifier: LGPL-2.1-or-later
"""The option by which MDSs look at their pins, and rank 0 begins a beat."""

TICK, QUICK = "mds_tick_interval", "1.000000"  # s, as the mon writes it: so short while the scheduler moves
