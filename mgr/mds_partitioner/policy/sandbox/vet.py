# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tries a policy before an MDS has to: as a stock MDS runs it, and as one with our hook does."""

import time
from collections.abc import Sequence

from .decide import Hooked, Metrics, Sandbox
from .refusals import PolicyError

DEADLINE = 60.0  # s for everything
BEATS = 2  # of each case with the hook, so that what a policy remembers is used

_FIELDS = (
    "visits",
    "first_visits",
    "visited",
    "revisited",
    "unvisited",
    "working_set",
    "alpha",
    "beta",
    "l_t",
    "l_s",
)
_SHOWN = (*_FIELDS, "mindex", "heat", "size", "rank")  # SubtreeStats.cc, SubtreeSelection.cc in mds/patches
_NOTHING = dict.fromkeys(_SHOWN, 0.0)
# Subtrees that a score function must have an answer for: nothing known, hot, read once, being made.
SUBTREES: tuple[dict[str, float], ...] = (
    _NOTHING,
    _NOTHING
    | {"visits": 9e5, "visited": 1e4, "revisited": 9e3, "working_set": 1e4, "alpha": 0.9, "l_t": 9e5}
    | {"mindex": 8.1e5, "heat": 5e4, "size": 1e4, "rank": 1},
    _NOTHING
    | {
        "visits": 1.0,
        "first_visits": 1.0,
        "visited": 1.0,
        "unvisited": 849.0,
        "working_set": 1.0,
        "beta": 849.0,
    }
    | {"l_t": 1.0, "l_s": 1.5, "mindex": 1273.5, "heat": 0.1, "size": 850.0},
    _NOTHING
    | {
        "visits": 4e3,
        "first_visits": 3e3,
        "visited": 3e3,
        "revisited": 10.0,
        "working_set": 3e3,
        "alpha": 0.003,
    }
    | {"l_t": 4e3, "l_s": 3e3, "mindex": 12.0, "heat": 2e4, "size": 3e3, "rank": 2},
)


def vet(source: str, cases: Sequence[Metrics]) -> None:
    """Run every rank of every case both ways, and what asks for files of the host also without.

    :raises PolicyError: the policy is not to be put in force, and why
    :raises SandboxError: it could not be tried
    """
    end = time.monotonic() + DEADLINE
    with Sandbox(source) as sandbox:
        for number, metrics in enumerate(cases):
            sandbox.see(metrics)
            for rank in range(len(metrics)):
                sandbox.decide(rank)
                sandbox.decide(rank, files=True)
                for beat in range(BEATS):
                    epoch = 1 + BEATS * number + beat
                    ranks = tuple(range(len(metrics)))
                    sandbox.decide(rank, Hooked(epoch, time.time(), ranks), SUBTREES, files=True)
            sandbox.finish()
            if time.monotonic() > end:
                raise PolicyError(
                    f"trying it took {DEADLINE:g} s: an MDS answers nobody while its policy runs"
                )
