# SPDX-License-Identifier: LGPL-2.1-or-later
"""Starts a set of clients inside the sandbox, and ends them when told to or when its own starter is gone.

Standard input: one JSON line {"load": ..., "seconds": ..., "prepare": ...}; its end is an order to stop.
"""

import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from lab.clients.spec import LoadSpec


def _start(order: dict[str, Any], load: LoadSpec) -> list["subprocess.Popen[str]"]:
    common = {"fs": load.fs, "seed": load.seed, "seconds": order["seconds"], "prepare": order["prepare"]}
    started = []
    for client in load.clients:
        # The clients write to our standard output themselves.
        command = [sys.executable, "-m", "lab.clients.worker"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
        assert process.stdin is not None
        process.stdin.write(json.dumps({**common, "client": asdict(client)}) + "\n")
        process.stdin.flush()
        started.append(process)
    return started


def _wait(processes: list["subprocess.Popen[str]"], wake: int) -> None:
    """Return when all clients have ended, or on the order to stop."""
    ends = {os.pidfd_open(process.pid) for process in processes}
    while ends:
        readable, _, _ = select.select([0, wake, *ends], [], [])
        if wake in readable or (0 in readable and not os.read(0, 4096)):
            return
        ends -= set(readable)


def main() -> int:
    """Run the set; 0 if every client ended well."""
    wake, alarm = os.pipe()
    os.set_blocking(alarm, False)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: os.write(alarm, b"."))
    # Unbuffered, so that nothing of the leash is read ahead.
    with os.fdopen(0, "rb", buffering=0, closefd=False) as leash:
        order = json.loads(leash.readline())
    processes = _start(order, LoadSpec.from_json(json.dumps(order["load"])))
    _wait(processes, wake)
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    return max(map(abs, [process.wait() for process in processes]))


if __name__ == "__main__":
    sys.exit(main())
