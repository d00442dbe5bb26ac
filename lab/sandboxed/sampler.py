# SPDX-License-Identifier: LGPL-2.1-or-later
"""Samples every MDS once a second through its admin socket, inside the sandbox.

Standard output: a JSON line a second {"t": Unix s, "ranks": {rank: counters}, "subtrees": {path: rank}}.
Counters are totals since the MDS started; subtrees are null but in every fifth line. With the argument
"mindex" (MDSs with the hook), every fifth line has "visited" a rank: inodes that were visited there.
Ends with its input; with "once", after one line.
"""

import json
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

RUN = Path("/run/ceph")
SUBTREES_EVERY = 5  # s
_TIMEOUT_S = 5.0


def ask(path: Path, /, **command: str | int) -> Any:
    """One command to an admin socket (src/common/admin_socket.cc): JSON, NUL; a length, the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(_TIMEOUT_S)
        s.connect(str(path))
        s.sendall(json.dumps({**command, "format": "json"}).encode() + b"\0")
        (length,) = struct.unpack(">I", _read(s, 4))
        # Names need not be UTF-8, and an MDS prints them as they are.
        return json.loads(_read(s, length).decode("utf-8", "surrogateescape") or "null")


def _read(s: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        chunk = s.recv(length - len(data))
        if not chunk:
            raise OSError("the admin socket was closed")
        data += chunk
    return data


def counters(dump: dict[str, Any]) -> dict[str, float]:
    """What is kept of a ``perf dump``."""
    mds = dump["mds"]
    return {
        "requests": mds["request"],
        "forwards": mds["forward"],
        "replies": mds["reply"],
        "exported_inodes": mds["exported_inodes"],
        "imported_inodes": mds["imported_inodes"],
        "exports": mds["exported"],
        "splits": mds["dir_split"],
        "merges": mds["dir_merge"],
        "slow": mds.get("slow_reply", 0),
    }


def authority(answer: list[dict[str, Any]]) -> dict[str, int]:
    """The rank with authority over each subtree, as the rank that has it says."""
    own = (s for s in answer if s["is_auth"] and not str(s["dir"]["path"]).startswith("~"))
    return {_path(s): int(s["auth_first"]) for s in own}


def _path(subtree: dict[str, Any]) -> str:
    dirfrag = str(subtree["dir"]["dirfrag"])
    fragment = dirfrag.partition(".")[2]  # "0x10000000000.01*": a fragment of a directory
    path = str(subtree["dir"]["path"]) or "/"
    return f"{path}#{fragment}" if fragment else path


def sample(with_subtrees: bool, with_visits: bool) -> dict[str, Any]:
    """One line; a rank that does not answer is left out."""
    ranks: dict[str, Any] = {}
    subtrees: dict[str, int] = {}
    for path in sorted(RUN.glob("ceph-mds.*.asok")):
        try:
            status = ask(path, prefix="status")
            if status.get("state") != "up:active":
                continue
            ranks[str(status["whoami"])] = counters(ask(path, prefix="perf dump", logger="mds"))
            if with_visits:
                visited = ask(path, prefix="dump mindex", path="/", depth=0)["inodes_visited_here"]
                ranks[str(status["whoami"])]["visited"] = visited
            if with_subtrees:
                subtrees |= authority(ask(path, prefix="get subtrees"))
        except (OSError, ValueError, KeyError):
            continue
    return {"t": round(time.time(), 3), "ranks": ranks, "subtrees": subtrees if with_subtrees else None}


def main() -> None:
    """Sample until the input ends."""
    if "once" in sys.argv[1:]:
        print(json.dumps(sample(True, False)))
        return
    due = time.monotonic()
    tick = 0
    while True:
        fifth = tick % SUBTREES_EVERY == 0
        line = sample(fifth, fifth and "mindex" in sys.argv[1:])
        print(json.dumps(line, separators=(",", ":")), flush=True)
        tick += 1
        due = max(due + 1.0, time.monotonic())
        if select.select([0], [], [], max(0.0, due - time.monotonic()))[0] and not sys.stdin.read(1):
            return


if __name__ == "__main__":
    main()
