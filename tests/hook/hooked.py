# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests ask of a lab whose MDSs have the hook."""

import json
from pathlib import Path
from typing import Any

from support import Cluster

INSIDE = Path(__file__).with_name("inside.py").read_text()
MASK = "ceph.dir.bal.mask"


def inside(cluster: Cluster, command: str, argument: Any) -> Any:
    """Run a command of inside.py in the lab, on a mount of its own."""
    argv = ["python3", "-", command, json.dumps(argument)]
    return json.loads(cluster.lab.exec(argv, stdin=INSIDE, timeout=300).stdout)


def mindex(cluster: Cluster, path: str, rank: int = 0) -> dict[str, Any]:
    """`dump mindex` of a rank."""
    found: dict[str, Any] = cluster.tell(rank, "dump", "mindex", path)
    return found


def epoch(cluster: Cluster, rank: int = 0) -> int:
    """The window that is being recorded; asking makes the rank record."""
    return int(mindex(cluster, "/", rank)["epoch"])


def log_of(cluster: Cluster, rank: int) -> list[str]:
    """The MDS's log so far."""
    path = cluster.lab.log_dir / f"ceph-mds.{cluster.mds_of(rank)}.log"
    return path.read_text(errors="replace").splitlines()


def set_mask(cluster: Cluster, path: str, value: str) -> int:
    """Set ceph.dir.bal.mask, or remove it with an empty value; 0 or the errno."""
    return int(inside(cluster, "setxattr", [path, MASK, value]))


def mask(cluster: Cluster, path: str) -> str | None:
    """ceph.dir.bal.mask as a client reads it."""
    value: str | None = inside(cluster, "getxattr", [path, MASK])
    return value
