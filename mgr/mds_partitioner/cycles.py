# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often Python looks for values that only keep each other: in an interpreter of the module's own only.

Reef's managers give each module one. Tentacle's load all into one, unless ``mgr_subinterpreter_modules`` says
otherwise: the collector is other modules', too, and is left as it is, but for the moment in which what MDSs
answered is read.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MADE = 50_000  # values more than were given back, after which the youngest are gone through; Python has 700


OTHERS = ("balancer", "progress", "volumes")  # modules that each manager has


def alone() -> bool:
    """Is this interpreter the module's own?"""
    return not any(name in sys.modules for name in OTHERS)


def look_seldom() -> None:
    """A look makes thousands of values anew, and what MDSs answer is as many. They are in no cycle, and go as
    soon as nobody needs them; but with Python's own number all that there is was gone through again and again
    while they were made. What there is so far was imported: it stays, and is not gone through at all."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MADE, *gc.get_threshold()[1:])


@contextmanager
def not_now() -> Iterator[None]:
    """What is made meanwhile is in no cycle, and there is a lot of it: it is gone through once, when it is
    there, and not, with all that there was, each time that there is a bit more of it. For what is short, and
    waits for nobody."""
    looked = gc.isenabled()  # else it is somebody else's to begin again
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()
