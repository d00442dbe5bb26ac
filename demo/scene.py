# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the demo plays on: the ranks, the subvolumes with LINE's skew, and what their clients do."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.clients.spec import ClientSpec, LoadSpec

RANKS = 4
HEAVY, LATER = "heavy", "later"  # kinds: those at work at first, and those to which the load turns
STEADY = ("moderate", "light")
CPU_PERCENT = 15
EPOCH_S = 5
SEED = 2023
# Enough creates and unlinks that an MDS's quota is used up long before the clients use much of a core.
MIX: Mapping[str, float] = {"create": 2.0, "stat": 3.0, "open": 2.0, "unlink": 2.0}
OPTIONS: Mapping[str, str] = {"epoch": str(EPOCH_S), "max_moves": "8"}
"""Options of the module that make a demo short; everything else is at its default."""


@dataclass(frozen=True)
class Kind:
    """Subvolumes of one kind, each with one client."""

    name: str
    count: int
    dirs: int
    files: int
    """Files in each directory."""
    workers: int
    rate: float | None
    """Operations per second that a client asks for at most; None is as many as are answered."""


KINDS = (
    Kind(HEAVY, 2, dirs=16, files=100, workers=24, rate=None),
    Kind("moderate", 6, dirs=4, files=60, workers=2, rate=40.0),
    Kind("light", 16, dirs=2, files=30, workers=1, rate=5.0),
    Kind(LATER, 2, dirs=16, files=100, workers=24, rate=None),
)


def names(kind: Kind) -> list[str]:
    """The subvolumes of a kind."""
    return [f"{kind.name}-{number}" for number in range(1, kind.count + 1)]


def subvolumes() -> list[str]:
    """All of them."""
    return [name for kind in KINDS for name in names(kind)]


def load(paths: Mapping[str, str], *kinds: str) -> LoadSpec:
    """The work of the clients of these kinds, given the subvolumes' paths."""
    wanted = (kind for kind in KINDS if kind.name in kinds)
    clients = (_client(kind, name, paths[name]) for kind in wanted for name in names(kind))
    return LoadSpec(tuple(clients), seed=SEED)


def _client(kind: Kind, name: str, path: str) -> ClientSpec:
    return ClientSpec(
        name=name,
        path=path,
        mix=MIX,
        workers=kind.workers,
        dirs=kind.dirs,
        files=kind.files,
        rate=kind.rate,
    )
