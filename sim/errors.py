# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the simulator raises on purpose."""


class SimError(Exception):
    """What was asked for cannot be done; the message says why, and what is allowed."""
