# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who does something at random: each actor does one thing, and says what. A refusal is a LabError."""

import random
import signal
import time
from collections.abc import Callable

from tests.chaos.cluster import CHILDREN, DIRECTORIES, RANKS, TOP, Cluster

FREEZE_S = 8.0
Actor = Callable[[Cluster, random.Random], str]


def _any_directory(cluster: Cluster, rng: random.Random) -> str:
    return rng.choice(sorted(seen.path for seen in cluster.scan() if seen.path != TOP))


def pins(cluster: Cluster, rng: random.Random) -> str:
    """An operator's setfattr."""
    path, rank = _any_directory(cluster, rng), rng.choice([-1, *range(RANKS)])
    cluster.operator_pins(path, rank)
    return f"pins {path} to {rank}"


def renames(cluster: Cluster, rng: random.Random) -> str:
    """Away, back, or a child to another parent; to a name that may be taken."""
    old = _any_directory(cluster, rng)
    new = f"{TOP}/{rng.choice(['d', 'away'])}{rng.randrange(DIRECTORIES)}"
    if old.count("/") > TOP.count("/") + 1:
        new = f"{TOP}/d{rng.randrange(DIRECTORIES)}/c{rng.randrange(2 * CHILDREN)}"
    cluster.mount("rename", old, new)
    return f"renames {old} to {new}"


def removes(cluster: Cluster, rng: random.Random) -> str:
    """With all below it."""
    path = _any_directory(cluster, rng)
    cluster.mount("remove", path)
    return f"removes {path}"


def makes(cluster: Cluster, rng: random.Random) -> str:
    """Where it has been removed or renamed: another one in its place. Otherwise its files again."""
    path = f"{TOP}/d{rng.randrange(DIRECTORIES)}"
    cluster.mount("make", path, CHILDREN)
    return f"makes {path}"


def kills_manager(cluster: Cluster, rng: random.Random) -> str:
    """The active one; the monitors are told at once what they would find out after its grace."""
    name = cluster.active_mgr()
    cluster.lab.kill(f"mgr.{name}")
    cluster.mon("mgr fail", who=name)
    cluster.lab.start(f"mgr.{name}")
    return f"kills mgr.{name}"


def takes_over(cluster: Cluster, rng: random.Random) -> str:
    """The other manager becomes active while this one lives, and may have something under way."""
    name = cluster.active_mgr()
    cluster.mon("mgr fail", who=name)
    return f"fails mgr.{name}, which lives"


def kills_mds(cluster: Cluster, rng: random.Random) -> str:
    """Of any rank."""
    name, _ = rng.choice(sorted(cluster.ranks().values()))
    cluster.lab.kill(f"mds.{name}")
    cluster.mon("mds fail", role_or_gid=name)
    cluster.lab.start(f"mds.{name}")
    return f"kills mds.{name}"


def freezes(cluster: Cluster, rng: random.Random) -> str:
    """Any daemon but the one monitor, for some seconds."""
    name = rng.choice(
        sorted(daemon for daemon, pids in cluster.lab.daemons().items() if pids and daemon[:4] != "mon.")
    )
    seconds = rng.uniform(1.0, FREEZE_S)
    cluster.lab.kill(name, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        cluster.lab.kill(name, signal.SIGCONT)
    return f"freezes {name} for {seconds:.0f} s"


def changes_ranks(cluster: Cluster, rng: random.Random) -> str:
    """One fewer, or all."""
    ranks = rng.choice([RANKS - 1, RANKS])
    cluster.mon("fs set", fs_name=cluster.fs, var="max_mds", val=str(ranks))
    return f"sets max_mds {ranks}"


def renames_fs(cluster: Cluster, rng: random.Random) -> str:
    """As Ceph wants it: down, and with its clients refused."""
    cluster.stop_load()
    old, new = cluster.fs, "cephfs" if cluster.fs != "cephfs" else "renamed"
    cluster.mon("fs fail", fs_name=old)
    cluster.mon("fs set", fs_name=old, var="refuse_client_session", val="true")
    try:
        cluster.mon("fs rename", fs_name=old, new_fs_name=new, yes_i_really_mean_it=True)
        cluster.fs = new
    finally:
        cluster.mon("fs set", fs_name=cluster.fs, var="refuse_client_session", val="false")
        cluster.mon("fs set", fs_name=cluster.fs, var="joinable", val="true")
    cluster.wait_whole()
    if cluster.saturated:
        cluster.begin_load()
    return f"renames file system {old} to {new}"


def changes_load(cluster: Cluster, rng: random.Random) -> str:
    """Ends it, or begins it; a cluster that is to be saturated gets the next one at once."""
    ends = cluster.load is not None
    cluster.stop_load()
    if ends and not cluster.saturated:
        return "ends the load"
    cluster.begin_load()
    return "begins the load"


# How often each acts, beside the one who turns the plans' crank.
WEIGHTS: dict[Actor, int] = {
    pins: 8,
    renames: 4,
    removes: 2,
    makes: 3,
    kills_manager: 3,
    takes_over: 2,
    kills_mds: 2,
    freezes: 2,
    changes_ranks: 2,
    renames_fs: 1,
    changes_load: 2,
}
