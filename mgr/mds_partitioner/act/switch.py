# SPDX-License-Identifier: LGPL-2.1-or-later
"""Switching a file system over to a policy of ours and back, journal first.

balance/FSCID   one record a file system: what was replaced, which objects are ours, how far it got.
Each write of the record comes before the change it speaks of; every step may be made twice.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from ..errors import JournalError
from ..host import Host
from ..model import FsState
from ..plan.hints import Growth, Hints
from .journal import Store

TURNING_ON, ON, TURNING_OFF = "turning-on", "on", "turning-off"
KEPT_OBJECTS = 2  # an MDS that has not seen the newest FSMap may still read the object before


@dataclass(frozen=True)
class Switch:
    """Balancing by a policy on one file system."""

    fs: str
    fscid: int
    state: str
    policy: str  # lunule, greedyspill or custom
    source: str  # an operator's own policy; "" for ours, whose file is read when it is rendered
    old_balancer: str
    old_automate: bool
    started: float  # Unix time, s
    hints: Hints
    object: str = ""  # in force
    objects: tuple[str, ...] = ()  # ours in the metadata pool, oldest first
    pushed: float = 0.0  # Unix time of the last push, s


def load(store: Store) -> dict[int, Switch]:
    """Every record, by file system id. :raises JournalError: one cannot be read."""
    found = {}
    for key, value in store.items("balance/").items():
        try:
            found[int(key.removeprefix("balance/"))] = _switch(json.loads(value))
        except (ValueError, TypeError, KeyError) as e:
            raise JournalError(f"the journal's record '{key}' cannot be read: {e}") from e
    return found


def _switch(value: Mapping[str, object]) -> Switch:
    fields = dict(value)
    hints = dict(fields.pop("hints"))  # type: ignore[call-overload]
    hints["growth"] = {int(rank): Growth(**g) for rank, g in hints["growth"].items()}
    hints["mask"] = None if hints["mask"] is None else tuple(hints["mask"])
    hints["resting"] = tuple(hints["resting"])
    fields["objects"] = tuple(fields["objects"])  # type: ignore[arg-type]
    return Switch(hints=Hints(**hints), **fields)  # type: ignore[arg-type]


def save(store: Store, switch: Switch) -> None:
    """Write a record durably."""
    store.put(f"balance/{switch.fscid}", json.dumps(asdict(switch)))


def intend(store: Store, switch: Switch, name: str, now: float) -> Switch:
    """Journal that an object is about to be put in force; ``put_in_force`` comes next, also after a crash."""
    ours = (*(o for o in switch.objects if o != name), name)
    switch = replace(switch, objects=ours, object=name, pushed=now, state=TURNING_ON)
    save(store, switch)
    return switch


def put_in_force(host: Host, store: Store, switch: Switch, text: str) -> Switch:
    """The object, ``fs set``, and the objects that nobody reads any more go."""
    fs = host.fs(switch.fs)
    host.write_object(fs.metadata_pool, switch.object, text)
    if fs.balancer != switch.object:
        host.mon("fs set", fs_name=fs.name, var="balancer", val=switch.object)
    if not fs.balance_automate:
        host.mon("fs set", fs_name=fs.name, var="balance_automate", val="true")
    for old in switch.objects[:-KEPT_OBJECTS]:
        host.remove_object(fs.metadata_pool, old)
    switch = replace(switch, objects=switch.objects[-KEPT_OBJECTS:], state=ON)
    save(store, switch)
    return switch


def restore(host: Host, store: Store, switch: Switch) -> list[str]:
    """Put back what was replaced and remove our objects; what an operator changed since stays; says so."""
    save(store, replace(switch, state=TURNING_OFF))
    fs = host.fs(switch.fs)
    kept = []
    if fs.balancer in switch.objects:
        # The flag first: after a crash in between, the balancer's name still tells that it was us.
        if fs.balance_automate and not switch.old_automate:
            host.mon("fs set", fs_name=fs.name, var="balance_automate", val="false")
        host.mon("fs set", fs_name=fs.name, var="balancer", val=switch.old_balancer)
    elif (fs.balancer, fs.balance_automate) != (switch.old_balancer, switch.old_automate):
        kept.append(
            f"balancer is '{fs.balancer}' and balance_automate {str(fs.balance_automate).lower()}, "
            "as an operator set them since: they were left"
        )
    for name in switch.objects:
        host.remove_object(fs.metadata_pool, name)
    store.delete(f"balance/{switch.fscid}")
    return kept


def in_force(fs: FsState, switch: Switch) -> bool:
    """Do the MDSs use our object, or has an operator set another balancer since?"""
    return fs.balance_automate and fs.balancer == switch.object


def policy_in_force(store: Store, fs: FsState) -> str | None:
    """The policy of ours that balances a file system, if one does."""
    switch = load(store).get(fs.fscid)
    return switch.policy if switch is not None and in_force(fs, switch) else None
