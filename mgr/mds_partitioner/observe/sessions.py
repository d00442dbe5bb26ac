# SPDX-License-Identifier: LGPL-2.1-or-later
"""The client sessions of a rank (``session ls``)."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..model import Address, Session


def address(entry: Mapping[str, Any]) -> Address:
    """Where a session comes from."""
    where = entry["entity"]["addr"]
    return str(where["addr"]), int(where["nonce"])


def parse_sessions(
    rank: int, answer: Iterable[Mapping[str, Any]], managers: Collection[Address]
) -> list[Session]:
    """One rank's clients. One that does not say what it mounted is taken to have mounted ``/``."""
    return [
        Session(
            rank=rank,
            client=int(entry["id"]),
            root=_clean(str(entry.get("client_metadata", {}).get("root") or "/")),
            caps=int(entry["num_caps"]),
            load=float(entry["request_load_avg"]),
            ours=address(entry) in managers,
        )
        for entry in answer
    ]


def _clean(root: str) -> str:
    """A mount root as the MDSs name it: clients tell theirs as it was typed, ``//volumes//a/`` for one."""
    return "/" + "/".join(name for name in root.split("/") if name not in ("", "."))
