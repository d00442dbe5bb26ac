# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests ask of a lab whose MDSs have the hook."""

import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from support import FS, Cluster

from mds.build import built

PROGRAMS = "/var/log/ceph/programs"  # in the lab
INSIDE = Path(__file__).with_name("sandboxed.py").read_text()
MASK = "ceph.dir.bal.mask"


def inside(cluster: Cluster, command: str, argument: Any) -> Any:
    """Run a command of sandboxed.py in the lab, on a mount of its own."""
    argv = ["python3", "-", command, json.dumps(argument)]
    return json.loads(cluster.lab.exec(argv, stdin=INSIDE, timeout=300).stdout)


def mindex(cluster: Cluster, path: str, rank: int = 0) -> dict[str, Any]:
    """`dump mindex` of a rank."""
    found: dict[str, Any] = cluster.ask(rank, "dump mindex", path=path)
    return found


@contextmanager
def beats(cluster: Cluster, ranks: int, seconds: int) -> Iterator[None]:
    """So long is a beat, and a window, for a while."""
    for rank in range(ranks):
        cluster.tell(rank, "config", "set", "mds_bal_interval", str(seconds))
    yield
    for rank in range(ranks):
        cluster.tell(rank, "config", "unset", "mds_bal_interval")


def no_window_ends(cluster: Cluster, ranks: int) -> AbstractContextManager[None]:
    """By itself; tests end them."""
    return beats(cluster, ranks, 86400)


def end_window(cluster: Cluster, rank: int = 0) -> None:
    """End the window that is being recorded, now; a rank that does not record begins to."""
    cluster.ask(rank, "dump mindex", path="/", depth=0, end_window=True)


def use(cluster: Cluster, name: str, policy: str) -> None:
    """Have the MDSs balance by a policy from the next beat on."""
    cluster.lab.exec(["rados", "-p", f"{FS}_meta", "put", name, "/dev/stdin"], stdin=policy)
    cluster.fs_set("balancer", name)
    cluster.fs_set("balance_automate", "true")


def use_none(cluster: Cluster) -> None:
    """No policy, and no beat."""
    cluster.fs_set("balance_automate", "false")
    cluster.fs_set("balancer", "")


def said(cluster: Cluster, what: str) -> list[str]:
    """Lines of rank 0's log."""
    return [line for line in log_of(cluster, 0) if what in line]


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


def for_tests(cluster: Cluster, program: str) -> str:
    """A program that was built beside the MDS; its path in the lab."""
    folder = cluster.lab.log_dir / "programs"
    folder.mkdir(exist_ok=True)
    shutil.copy(built(cluster.lab.state.release).with_name(program), folder)
    return f"{PROGRAMS}/{program}"


def crafted(cluster: Cluster, name: str, xattr: str, *value: str) -> None:
    """A client of our own makes a directory in the root with an attribute (mds/build/crafted_client.cc)."""
    cluster.lab.exec([for_tests(cluster, "crafted-client"), name, xattr, *value], timeout=120)
