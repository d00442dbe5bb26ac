# SPDX-License-Identifier: LGPL-2.1-or-later
"""The client sessions of a rank (``session ls``)."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..errors import PartitionerError
from ..host import Host
from ..model import Address, FsState, Session
from .subtrees import ancestors


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


def clients_at(host: Host, fs: FsState, places: Mapping[str, int | None]) -> dict[str, int | None]:
    """How many clients are mounted at a directory or in it; None: not known, or it is on several ranks.

    :param places: the rank of each directory, by path
    """
    names = {m.rank: m.name for m in fs.active() if m.rank in places.values()}
    answers = host.tell_each(list(names.values()), "session ls") if names else {}
    managers = host.manager_addresses()
    found: dict[str, int | None] = {}
    for path, rank in places.items():
        answer = answers.get(names[rank]) if rank in names else None
        if answer is None or isinstance(answer, PartitionerError):
            found[path] = None
            continue
        sessions = parse_sessions(rank or 0, answer, managers)
        found[path] = sum(not s.ours and path in ancestors(s.root) for s in sessions)
    return found


def _clean(root: str) -> str:
    """A mount root as the MDSs name it: clients tell theirs as it was typed, ``//volumes//a/`` for one."""
    return "/" + "/".join(name for name in root.split("/") if name not in ("", "."))
