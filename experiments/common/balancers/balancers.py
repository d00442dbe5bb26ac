# SPDX-License-Identifier: LGPL-2.1-or-later
"""The balancers that an operator can choose between: how each is switched on, and all are switched off."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.common.balancers import oracle, pinning
from experiments.common.balancers.setting import FS, Setting
from experiments.common.balancers.subtrees import DISTRIBUTED, PIN, Pin, path_of, put, settled
from experiments.common.figures.figures import owner
from lab import module
from lab.api import Lab
from lab.errors import LabError
from lab.waiting import until


@dataclass(frozen=True)
class Balancer:
    """One of them."""

    name: str
    switch_on: Callable[[Setting], list[Pin]]
    """Returns the pins that it made; static ones are in place on return."""
    parts: tuple[str, ...] = ()
    """Parts of the project that it is made of, as experiments.common.provenance names them."""
    hook: bool = False
    """Whether it needs MDSs with the hook."""
    static: bool = False
    """Whether it has placed everything before the clients begin, and follows no load."""
    analyzed: bool = False
    """Whether it needs an analysis under load."""


def _none(setting: Setting) -> list[Pin]:
    """All load stays on rank 0."""
    return []


def _builtin(setting: Setting) -> list[Pin]:
    setting.lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="true")
    return []


def _builtin_to_auth(setting: Setting) -> list[Pin]:
    """And clients are not sent to replicas."""
    setting.lab.monitor.command("config set", who="mds", name=_NO_REPLICAS, value="true")
    return _builtin(setting)


def _scheduler(setting: Setting) -> list[Pin]:
    """From cold: no option of the module's is set, nothing was analyzed, and no capacity is known. Between
    cells the module has the options of an analysis, and learns from what others' ranks serve."""
    module.begin_anew(setting.lab)
    module.text(setting.lab, "scheduler start", fs=FS, mode="act")
    return []


def _policy(name: str, selection: str = "mindex", *, to_auth: bool = False) -> Callable[[Setting], list[Pin]]:
    def switch_on(setting: Setting) -> list[Pin]:
        module.set_option(setting.lab, "selection", selection)
        # As an analysis would have told: every balancer is judged with the same C.
        module.set_option(setting.lab, "rank_capacity", f"{setting.capacity:.0f}")
        module.text(setting.lab, "balance on", fs=FS, policy=name, to_auth=to_auth)
        return []

    return switch_on


def _mindex_to_auth(setting: Setting) -> list[Pin]:
    """And clients look names up at the rank that has them, where the policy moved them to."""
    # Debian's mon does not know an option of the hook's.
    setting.lab.monitor.command("config set", who="mds", name=_LOOKUPS, value="true", force=True)
    return _policy("lunule", "mindex")(setting)


def _dir_hash(setting: Setting) -> list[Pin]:
    """Every directory that has directories in it hands them out by the hash of their inode numbers."""
    pins = _dir_hash_cold(setting)
    settled(setting.lab)
    return pins


def _dir_hash_cold(setting: Setting) -> list[Pin]:
    """The same, but what it moves is moved while the clients work."""
    parents = {path.rpartition("/")[0] for path in setting.demand}
    pins = [Pin(path, DISTRIBUTED, "1") for path in sorted(parents)]
    put(setting.lab, pins)
    return pins


def scheduler_off(lab: Lab) -> None:
    """Rolled back, if it is on."""

    def off() -> bool:
        return bool(module.ask(lab, "scheduler status", fs=FS)["mode"] == "off")

    if not off():
        module.text(lab, "scheduler stop", fs=FS, rollback=True)
        until(off, _UNDONE_S, "the scheduler has undone its moves", every=1.0)


def decided(lab: Lab) -> list[dict[str, Any]] | None:
    """What the scheduler did since it began, why, and what it brought; oldest first. None: it did not say."""
    found = module.ask_or_none(lab, "scheduler history", fs=FS)
    return None if found is None else list(found["rows"])


# Clients that know of no replicas ask the lowest rank that they have a capability of the directory from.
_NO_REPLICAS = "mds_forward_all_requests_to_auth"
_LOOKUPS = "mds_bal_select_lookups"


def _oracle(setting: Setting) -> list[Pin]:
    setting.lab.monitor.command("config set", who="mds", name=_NO_REPLICAS, value="true")
    where = oracle.spread(setting.demand, setting.ranks, setting.shares)
    pins = [Pin(path, PIN, str(rank)) for path, rank in sorted(where.items())]
    put(setting.lab, pins)
    found = {path_of(key): rank for key, rank in settled(setting.lab).items()}
    missing = [path for path, rank in where.items() if owner(found, path) != rank]
    if missing:
        raise LabError(f"{len(missing)} of the oracle's pins did nothing, {missing[0]} for one")
    return pins


def _pinning(name: str, *, heavy: str, to_auth: bool) -> Balancer:
    switch_on = pinning.partition(heavy=heavy, to_auth=to_auth)
    return Balancer(name, switch_on, ("planner",), static=True, analyzed=True)


_UNDONE_S = 300.0
_EVERY_RANK = "-1"

_POLICY = ("policy",)
MATRIX = (
    "none",
    "builtin",
    "greedyspill",
    "dir-hash",
    "subvolume-pinning",
    "lunule",
    "lunule-mindex",
    "oracle",
)
BALANCERS: Mapping[str, Balancer] = {
    balancer.name: balancer
    for balancer in (
        Balancer("none", _none),
        Balancer("builtin", _builtin),
        Balancer("builtin-to-auth", _builtin_to_auth),
        Balancer("scheduler", _scheduler, ("scheduler",)),
        Balancer("greedyspill", _policy("greedyspill"), _POLICY),
        Balancer("dir-hash", _dir_hash, static=True),
        Balancer("dir-hash-cold", _dir_hash_cold),
        _pinning("subvolume-pinning", heavy="fanout", to_auth=True),
        # Controls: without the option that it has, and as `partition` is without any option.
        _pinning("subvolume-pinning-replicas", heavy="fanout", to_auth=False),
        _pinning("subvolume-pinning-mask", heavy="mask", to_auth=False),
        Balancer("lunule", _policy("lunule", "heat"), _POLICY),
        Balancer("lunule-to-auth", _policy("lunule", "heat", to_auth=True), _POLICY),
        # The same policy on MDSs with the hook: chosen by heat, as without it, or by the migration index.
        Balancer("lunule-heat", _policy("lunule", "heat"), (*_POLICY, "hook"), hook=True),
        Balancer("lunule-mindex", _mindex_to_auth, (*_POLICY, "hook"), hook=True),
        # A control: clients draw among the ranks that hold a replica, as on MDSs without the hook.
        Balancer("lunule-mindex-replicas", _policy("lunule", "mindex"), (*_POLICY, "hook"), hook=True),
        Balancer("oracle", _oracle, static=True),
    )
}


def switch_off(lab: Lab) -> None:
    """Whatever was on; pins are taken away elsewhere."""
    module.text(lab, "balance off", fs=FS)
    scheduler_off(lab)
    lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="false")
    lab.monitor.command("fs set", fs_name=FS, var="bal_rank_mask", val=_EVERY_RANK)
    for option in (_NO_REPLICAS, _LOOKUPS):
        lab.monitor.command("config rm", who="mds", name=option)
    for option in ("selection", "rank_capacity"):
        module.unset_option(lab, option)
    for option, value in pinning.OPTIONS.items():
        module.set_option(lab, option, value)
    pinning.forget(lab)
