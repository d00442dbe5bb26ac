# SPDX-License-Identifier: LGPL-2.1-or-later
"""The client sessions of a rank (``session ls``)."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..model import Session


def parse_sessions(rank: int, answer: Iterable[Mapping[str, Any]]) -> list[Session]:
    """One rank's clients. One that does not say what it mounted is taken to have mounted ``/``.

    The managers' own mounts (this module's, the volumes module's) are no workload and are left out.
    """
    return [
        Session(
            rank=rank,
            client=int(entry["id"]),
            root=str(entry.get("client_metadata", {}).get("root") or "/"),
            caps=int(entry["num_caps"]),
            load=float(entry["request_load_avg"]),
        )
        for entry in answer
        if entry.get("auth_name", {}).get("type_str") != "mgr"
    ]
