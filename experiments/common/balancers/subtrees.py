# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which rank has which subtree, and extended attributes that decide it."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.api import Lab
from lab.sandbox import CODE
from lab.waiting import until

PIN, DISTRIBUTED = "ceph.dir.pin", "ceph.dir.pin.distributed"
OFF = {PIN: "-1", DISTRIBUTED: "0"}
_TICK_S = 5.0  # an MDS looks at its pins as often
_POLL_S = 1.0


@dataclass(frozen=True)
class Pin:
    """An attribute of a directory."""

    path: str
    name: str
    value: str

    @property
    def off(self) -> "Pin":
        """What takes it away."""
        return Pin(self.path, self.name, OFF[self.name])


def put(lab: Lab, pins: Sequence[Pin]) -> None:
    """Set attributes; returns when they are in the MDSs' journals."""
    if pins:
        text = json.dumps([[pin.path, pin.name, pin.value] for pin in pins])
        _inside(lab, "lab.sandboxed.xattrs", stdin=text)


def authorities(lab: Lab) -> dict[str, int]:
    """The rank of each subtree, asked of all ranks."""
    found: dict[str, int] = sample(lab)["subtrees"]
    return found


def sample(lab: Lab) -> dict[str, Any]:
    """All ranks' counters and subtrees, as ``lab.sandboxed.sampler`` prints them."""
    found: dict[str, Any] = json.loads(_inside(lab, "lab.sandboxed.sampler", "once"))
    return found


def path_of(key: str) -> str:
    """The directory that a subtree, or a fragment of one ("/a#01*"), is of."""
    return key.partition("#")[0]


def _inside(lab: Lab, program: str, *args: str, stdin: str | None = None) -> str:
    argv = ["/usr/bin/env", f"PYTHONPATH={CODE}", "/usr/bin/python3", "-m", program, *args]
    return lab.exec(argv, stdin=stdin, timeout=120).stdout


def settled(lab: Lab, patience: float = 120.0) -> dict[str, int]:
    """Wait until nothing has moved for two ticks of an MDS; the map then."""
    last, since = authorities(lab), time.monotonic()

    def rests() -> dict[str, int] | None:
        nonlocal last, since
        now = authorities(lab)
        if now != last:
            last, since = now, time.monotonic()
        return now if time.monotonic() - since >= 2 * _TICK_S + _POLL_S else None

    return until(rests, patience, "no subtree moves", every=_POLL_S)


def bring_home(lab: Lab, top: str, pins: Sequence[Pin], patience: float = 120.0) -> float:
    """Take pins away, bring all below a directory to rank 0, whole again; the seconds that it took."""

    def away() -> list[str]:
        return [path for path, rank in authorities(lab).items() if rank]

    began = time.monotonic()
    fragmented = sorted({path_of(key) for key in authorities(lab) if "#" in key})
    put(lab, [pin.off for pin in pins])
    put(lab, [Pin(top, PIN, "0")])
    try:
        until(
            lambda: not away(), patience, lambda: f"{len(away())} subtrees come back to rank 0", every=_POLL_S
        )
    finally:
        put(lab, [Pin(top, PIN, "0").off])
    if fragmented:
        _inside(lab, "lab.sandboxed.merge_fragments", stdin=json.dumps(fragmented))
    return time.monotonic() - began
