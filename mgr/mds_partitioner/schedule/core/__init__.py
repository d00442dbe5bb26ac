# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler decides, from what it is shown: no I/O, and time is an argument."""
