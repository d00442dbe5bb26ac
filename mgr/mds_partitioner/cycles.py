# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often Python looks for values that only keep each other.

Each module of a manager has a Python interpreter of its own, and with it a collector of its own: no other
module's is changed.
"""

import gc

MADE = 50_000  # values more than were given back, after which the youngest are gone through; Python has 700


def look_seldom() -> None:
    """A look makes thousands of values anew, and what MDSs answer is as many. They are in no cycle, and go as
    soon as nobody needs them; but with Python's own number all that there is was gone through again and again
    while they were made. What there is so far was imported: it stays, and is not gone through at all."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MADE, *gc.get_threshold()[1:])
