# SPDX-License-Identifier: LGPL-2.1-or-later
"""Answers cluster commands on standard input, a JSON line each: no new interpreter or connection a command.

Request: {"target": "mon" | "mgr" | "mds.NAME", "command": {...}, "timeout": seconds}
An MDS is asked at its admin socket, which has a timeout of its own.
Answer: {"status": errno as Ceph gives it, "output": text, "message": text}
"""

import json
import sys
import time
from typing import Any

import rados  # type: ignore[import-not-found,unused-ignore]

from lab.sandboxed.sampler import RUN, ask


def _ask(cluster: Any, request: dict[str, Any]) -> dict[str, Any]:
    target, timeout = request["target"], request["timeout"]
    if target.startswith("mds."):
        said = ask(RUN / f"ceph-{target}.asok", **request["command"])
        return {"status": 0, "output": json.dumps(said), "message": ""}
    command = json.dumps(request["command"])
    if target == "mgr":
        status, output, message = cluster.mgr_command(command, b"", timeout)
    else:
        status, output, message = cluster.mon_command(command, b"", timeout)
    return {"status": status, "output": output.decode(errors="replace"), "message": message}


def _connect(patience: float) -> Any:
    """Connect within patience seconds: a monitor that has just started knows no keys yet and refuses."""
    deadline = time.monotonic() + patience
    while True:
        cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", name="client.admin")
        try:
            cluster.connect(timeout=max(1, int(deadline - time.monotonic())))
            return cluster
        except rados.Error:
            cluster.shutdown()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def main() -> None:
    """Serve until standard input ends."""
    cluster = _connect(float(sys.argv[1]))
    print(json.dumps({"status": 0}), flush=True)
    for line in sys.stdin:
        try:
            answer = _ask(cluster, json.loads(line))
        except (rados.Error, OSError, ValueError) as e:
            answer = {"status": -abs(getattr(e, "errno", None) or 5), "output": "", "message": str(e)}
        print(json.dumps(answer), flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
