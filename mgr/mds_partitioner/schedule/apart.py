# SPDX-License-Identifier: LGPL-2.1-or-later
"""Taking a directory apart: it goes to the highest rank first, as a whole, and then its parts to theirs.

A part's own inode stays with its parent. Clients are told of no replicas while the scheduler acts, and ask
the lowest rank that gave them a capability of a directory (``Client::choose_target_mds``). So with the parent
on the lowest rank every request for every part goes there, only to be passed on; with the parent on the
highest it goes to the part's own rank (docs/benchmarking.md, Forwards).
"""

from collections.abc import Collection
from dataclasses import replace

from .state import FRESH, State


def come(state: State, there: Collection[int]) -> tuple[int, ...]:
    """Of what is to be taken apart, what has come to the highest rank, or will not.

    :param there: inode numbers of pieces
    """
    begun = {past.move.ino for past in state.past if past.arrived < 0.0}
    return tuple(sorted(ino for ino in state.apart if ino in there and ino not in begun))


def opened(state: State, inos: Collection[int], there: Collection[int]) -> State:
    """These are seen as their parts from now on: what was known of them as a whole is over."""
    return replace(
        state,
        past=tuple(replace(p, looks=FRESH, settled=0.0) if p.move.ino in inos else p for p in state.past),
        # Of what is split only its own entries are left in the piece.
        demand={ino: known for ino, known in state.demand.items() if ino not in inos},
        split=state.split | set(inos),
        apart=(state.apart & set(there)) - set(inos),
    )
