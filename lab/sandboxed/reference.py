# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fixed work beside a cell, in a cgroup with a quota of its own: how fast the machine was each second.

A unit is a checksum of 64 KiB (CPU) and a copy of 256 KiB (memory), each from another place of 64 MiB.
Standard output: a JSON line a second {"t": Unix s, "units": done in it, "cpu": s of CPU that it got}. Ends
with its input.
"""

import hashlib
import json
import select
import time

_MEMORY = 64 << 20
_SUMMED, _COPIED = 64 << 10, 256 << 10
_STRIDE = 7919 << 10  # of places; not a divisor of the memory's size


def units(memory: memoryview, until: float) -> int:
    """Work until a time of the monotonic clock; the units done."""
    place = done = 0
    while time.monotonic() < until:
        hashlib.sha256(memory[place : place + _SUMMED]).digest()
        place = (place + _STRIDE) % (_MEMORY - _COPIED)
        bytes(memory[place : place + _COPIED])
        done += 1
    return done


def main() -> None:
    """Work until the input ends."""
    memory = memoryview(bytearray(_MEMORY))
    memory[:] = bytes(range(256)) * (_MEMORY // 256)
    due = time.monotonic()
    while not select.select([0], [], [], 0)[0]:
        cpu = time.process_time()
        due = max(due + 1.0, time.monotonic())
        done = units(memory, due)
        line = {"t": round(time.time(), 3), "units": done, "cpu": round(time.process_time() - cpu, 4)}
        print(json.dumps(line, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
