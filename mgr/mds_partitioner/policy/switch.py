# SPDX-License-Identifier: LGPL-2.1-or-later
"""Switching a file system over to a policy of ours and back, journal first.

balance/FSCID        one record a file system: what was replaced, which objects are ours, how far it got.
balance-pool/FSCID   its metadata pool, as its id may become another one's. Old versions refuse a field more.
Each write of the record comes before the change it speaks of; every step may be made twice. Pure functions of
the record and of the file system as it is tell the steps; ``carry_out`` makes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Union

from ..ceph.host import Host
from ..ceph.shared_option import SharedOption
from ..ceph.tick import USUAL_TICK
from ..model import FsState
from ..plan.circumstances import FORWARDS, TO_AUTH
from ..plan.plan import AUTOMATE
from ..plan.ranks import mask_of
from ..store import NewerFormat, Store, by_fs, marked, unmarked
from .hints import INTERVAL, PREFIX, Growth, Hints

RECORDS, POOLS = "balance/", "balance-pool/"  # keys: one a file system
TURNING_ON, ON, TURNING_OFF = "turning-on", "on", "turning-off"
LEFT, SETTING, SET, RETURNING = "left", "setting", "set", "returning"  # mds_forward_all_requests_to_auth
KEPT_OBJECTS = 2  # an MDS that has not seen the newest FSMap may still read the object before


@dataclass(frozen=True)
class Switch:
    """Balancing by a policy on one file system."""

    fs: str
    fscid: int
    state: str
    policy: str  # lunule, greedyspill or custom
    source: str  # an operator's own policy; "" for ours, whose text comes with the code
    old_balancer: str
    old_automate: bool
    started: float  # Unix time, s
    hints: Hints
    object: str = ""  # in force
    objects: tuple[str, ...] = ()  # ours in the metadata pool, oldest first
    pushed: float = 0.0  # Unix time of the last push, s
    to_auth: str = LEFT
    old_to_auth: str = ""  # what the option had been, unless it is left alone
    metadata_pool: int | None = None  # of the file system; None: an earlier version made it


def load(store: Store) -> tuple[dict[int, Switch], dict[str, str]]:
    """Every record, by file system id; of those that cannot be read, the key and why.

    :raises JournalError: the store does not answer
    """
    items, found, unreadable = store.items(RECORDS), dict[int, Switch](), dict[str, str]()
    pools = {fscid: int(text) for fscid, text in _pools(store).items() if text.lstrip("-").isdecimal()}
    for fscid, _, key in by_fs(items, RECORDS):
        if key != user(fscid):
            continue
        try:
            found[fscid] = replace(_switch(json.loads(items[key])), metadata_pool=pools.get(fscid))
        except NewerFormat as e:
            unreadable[key] = str(e)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            unreadable[key] = f"{type(e).__name__}: {e}"
    return found, unreadable


def _pools(store: Store) -> dict[int, str]:
    return {fscid: text for key, text in store.items(POOLS).items() for fscid, _, _ in by_fs([key], POOLS)}


def forget(store: Store, fscid: int) -> None:
    """Remove a record."""
    store.delete(user(fscid))
    store.delete(f"{POOLS}{fscid}")


def with_pool(store: Store, switch: Switch, fs: FsState | None) -> Switch:
    """One of an earlier version, tied to the metadata pool that its file system has now, durably.

    :param fs: what has its id; None: nothing. It is not known to be the same where it has no object of it
    """
    if switch.metadata_pool is not None or fs is None or fs.balancer not in switch.objects:
        return switch
    known = replace(switch, metadata_pool=fs.metadata_pool)
    _keep_pool(store, known)
    return known


def _keep_pool(store: Store, switch: Switch) -> None:
    pool = switch.metadata_pool
    if pool is not None and _pools(store).get(switch.fscid) != str(pool):
        store.put(f"{POOLS}{switch.fscid}", str(pool))


def _keep(store: Store, switch: Switch) -> None:
    _keep_pool(store, switch)
    store.put(user(switch.fscid), json.dumps(marked(_fields(switch))))


def remainder(host: Host, fs: FsState, hints: Hints) -> Switch:
    """What is to be undone where an object of ours is in force and no record says since when."""
    ours, replaced = (fs.balancer,), option(host, fs.fscid).replaced()
    found = Switch(fs.name, fs.fscid, TURNING_OFF, "", "", "", False, 0.0, hints, fs.balancer, ours)
    found = replace(found, metadata_pool=fs.metadata_pool)
    return found if replaced is None else replace(found, to_auth=SET, old_to_auth=replaced)


def _switch(value: Mapping[str, object]) -> Switch:
    fields = unmarked(value)
    hints = dict(fields.pop("hints"))
    hints["growth"] = {int(rank): Growth(**g) for rank, g in hints["growth"].items()}
    hints["mask"] = None if hints["mask"] is None else tuple(hints["mask"])
    hints["resting"] = tuple(hints["resting"])
    fields["objects"] = tuple(fields["objects"])
    return Switch(hints=Hints(**hints), **fields)


def _fields(switch: Switch) -> dict[str, Any]:
    fields = asdict(switch)
    for name, usual in (("interval", INTERVAL), ("tick", USUAL_TICK)):
        if fields["hints"][name] == usual:
            del fields["hints"][name]  # versions that know of no other read such a record, too
    del fields["metadata_pool"]
    return fields


def option(host: Host, fscid: int) -> SharedOption:
    """``mds_forward_all_requests_to_auth`` as the policy of a file system may see and set it."""
    return SharedOption(host, TO_AUTH, user(fscid), FORWARDS)


def user(fscid: int) -> str:
    """As what the policy of a file system has a claim on the option: as its record's key."""
    return f"{RECORDS}{fscid}"


def asking(switch: Switch, to_auth: bool, present: str) -> Switch:
    """With the option, or without it: where it was set and is not asked for any more, it goes back.

    :param present: the option as the policy may see it
    """
    if not to_auth:
        return switch if switch.to_auth == LEFT else replace(switch, to_auth=RETURNING)
    if switch.to_auth == LEFT or (switch.to_auth == SET and present != FORWARDS):
        return replace(switch, to_auth=SETTING, old_to_auth=present)
    return replace(switch, to_auth=SETTING) if switch.to_auth == RETURNING else switch


@dataclass(frozen=True)
class Save:
    """Write the record durably."""

    switch: Switch


@dataclass(frozen=True)
class Forget:
    """Remove the record."""

    fscid: int


@dataclass(frozen=True)
class WriteObject:
    """Write the policy into the metadata pool."""

    pool: int
    name: str


@dataclass(frozen=True)
class RemoveObject:
    """Remove an object of ours."""

    pool: int
    name: str


@dataclass(frozen=True)
class SetFs:
    """``ceph fs set FS VARIABLE VALUE``."""

    fs: str
    variable: str
    value: str


@dataclass(frozen=True)
class SetOption:
    """Set ``mds_forward_all_requests_to_auth``."""

    fscid: int


@dataclass(frozen=True)
class PutBackOption:
    """Take it back, unless an operator has set it since, or another user of ours wants it.

    :ivar doubt: what set it was not answered, and may not show yet
    :ivar claimed: it was only about to be set: it was not if there is no claim, which comes first
    """

    fscid: int
    old: str
    doubt: bool = False
    claimed: bool = False


Step = Union[Save, Forget, WriteObject, RemoveObject, SetFs, SetOption, PutBackOption]


def intended(switch: Switch, name: str, now: float) -> Switch:
    """The record that says that the object ``name`` is about to be put in force."""
    ours = (*(o for o in switch.objects if o != name), name)
    return replace(switch, objects=ours, object=name, pushed=now, state=TURNING_ON)


def steps_on(switch: Switch, fs: FsState) -> tuple[Step, ...]:
    """From an intended record to one in force: the object, ``fs set``; objects that nobody reads any more go.

    After any part of them, all may be made again, as seen from there.
    """
    settings = [SetFs(fs.name, "balancer", switch.object)] if fs.balancer != switch.object else []
    if not fs.balance_automate:
        settings.append(SetFs(fs.name, AUTOMATE, "true"))
    forwards = {SETTING: SET, RETURNING: LEFT}.get(switch.to_auth, switch.to_auth)
    on = replace(switch, state=ON, to_auth=forwards)
    write = WriteObject(fs.metadata_pool, switch.object)
    # At once: what an operator sets from now on is his.
    return (Save(switch), write, *_steps_of_option(switch), *settings, Save(on), *_without_old(on, fs))


def _without_old(on: Switch, fs: FsState) -> tuple[Step, ...]:
    """Objects that nobody reads any more go, and then from the record."""
    old = [RemoveObject(fs.metadata_pool, name) for name in on.objects[:-KEPT_OBJECTS]]
    return (*old, Save(replace(on, objects=on.objects[-KEPT_OBJECTS:]))) if old else ()


def _steps_of_option(switch: Switch) -> tuple[Step, ...]:
    # Once: what an operator makes of it afterwards is his.
    if switch.to_auth == SETTING:
        return (SetOption(switch.fscid),)
    return put_back_option(switch) if switch.to_auth == RETURNING else ()


def put_back_option(switch: Switch, doubt: bool = False) -> tuple[Step, ...]:
    """The step that takes the option back, if it was set."""
    if switch.to_auth == LEFT:
        return ()
    return (PutBackOption(switch.fscid, switch.old_to_auth, doubt, switch.to_auth == SETTING),)


@dataclass(frozen=True)
class Doubt:
    """Steps of ours that were not answered: the mon may carry them out after the file system was read. What
    is set now comes after them."""

    settings: bool = False
    option: bool = False

    def also(self, step: Step) -> Doubt:
        """When this one was not answered, either."""
        settings, of_option = isinstance(step, SetFs), isinstance(step, (SetOption, PutBackOption))
        return Doubt(self.settings or settings, self.option or of_option)


SURE = Doubt()


def steps_off(switch: Switch, fs: FsState, late: bool, needed: bool, doubt: Doubt) -> tuple[Step, ...]:
    """Put back what was replaced, remove our objects, forget the record; what an operator set since stays.

    After any part of them, all may be made again, as seen from there.

    :param late: a step of ours took effect after the settings had been put back, so the flag may be ours; or
        it was ``cleared``
    :param needed: a plan leaves directories to the balancer: its rollback puts ``balance_automate`` back
    """
    settings: list[Step] = []
    if fs.balancer in switch.objects or ((late or doubt.settings) and fs.balancer == switch.old_balancer):
        # The flag first: after a crash in between, the balancer's name still tells that it was us.
        if (fs.balance_automate or doubt.settings) and not switch.old_automate and not needed:
            settings.append(SetFs(fs.name, AUTOMATE, "false"))
        if fs.balancer != switch.old_balancer or doubt.settings:
            settings.append(SetFs(fs.name, "balancer", switch.old_balancer))
    objects = [RemoveObject(fs.metadata_pool, name) for name in switch.objects]
    off = replace(switch, state=TURNING_OFF, source="")  # which nobody needs any more, and may be large
    back = put_back_option(switch, doubt.option)
    if back:  # once: what an operator makes of it afterwards is his
        back = (*back, Save(replace(off, to_auth=LEFT)))
        off = replace(off, to_auth=RETURNING if switch.to_auth == SET else switch.to_auth)
    return (Save(off), *settings, *back, *objects, Forget(switch.fscid))


def cleared(switch: Switch, fs: FsState) -> bool:
    """Did an operator put the old balancer back by hand, while the policy was on, or newer hints were to be
    put in force? The flag is ours still."""
    was_on = switch.state == ON or (switch.state == TURNING_ON and switch.pushed > switch.started)
    return was_on and fs.balancer == switch.old_balancer


def replaced_still(switch: Switch | None, fs: FsState) -> bool:
    """Is what it replaced still to be put back: is a policy of ours in force, or was it ``cleared``?"""
    return balances(fs) or (switch is not None and cleared(switch, fs))


def left_alone(switch: Switch, fs: FsState, to_auth: str, plan: str | None, late: bool) -> list[str]:
    """In sentences, what ``steps_off`` does not put back, as an operator set it since, or a plan needs it;
    and what it puts back though an operator has set something since.

    :param plan: the one that needs ``balance_automate``
    :param late: as there
    :param to_auth: ``mds_forward_all_requests_to_auth`` as it is
    """
    told = []
    stays = plan is not None and fs.balance_automate and not switch.old_automate
    now = (fs.balancer, fs.balance_automate and not stays)
    before = (switch.old_balancer, switch.old_automate)
    if late and now == (switch.old_balancer, True) and not switch.old_automate:
        told.append("balance_automate, which 'balance on' had set, is false again")
    elif fs.balancer not in switch.objects and now != before:
        told.append(
            f"balancer is '{fs.balancer}' and balance_automate {str(fs.balance_automate).lower()}, "
            "as an operator set them since: they were left"
        )
    elif stays:
        told.append(f"balance_automate stays on, as plan '{plan}' needs it: that one's rollback puts it back")
    elif switch.old_automate and not fs.balance_automate:
        told.append("balance_automate is false, as an operator set it since: it was left")
    if switch.to_auth == SET and to_auth not in (FORWARDS, switch.old_to_auth):
        told.append(f"{TO_AUTH} is '{to_auth}', as an operator set it since: it was left")
    return told


def carry_out(host: Host, step: Step, text: str) -> None:
    """Make one step; ``text``: the policy to write. :raises PartitionerError: it failed, or may have."""
    if isinstance(step, Save):
        _keep(host.store, step.switch)
    elif isinstance(step, Forget):
        forget(host.store, step.fscid)
    elif isinstance(step, WriteObject):
        host.write_object(step.pool, step.name, text)
    elif isinstance(step, RemoveObject):
        host.remove_object(step.pool, step.name)
    elif isinstance(step, SetOption):
        option(host, step.fscid).take()
    elif isinstance(step, PutBackOption):
        shared = option(host, step.fscid)
        ours = step.doubt or not step.claimed or shared.replaced() is not None
        if step.doubt or (ours and shared.read() == FORWARDS):
            shared.give_back(step.old)
        shared.let_go()
    else:
        host.mon("fs set", fs_name=step.fs, var=step.variable, val=step.value)


def balances(fs: FsState) -> bool:
    """Is the balancer, if it is on, a policy of ours? Another one is an operator's, whatever we recorded."""
    return fs.balancer.startswith(PREFIX)


def in_use(fs: FsState, switch: Switch) -> bool:
    """Do the MDSs read our object, or has an operator set another balancer since? They go on with a mask of
    ranks that are not there: it is the policy that has to know."""
    return fs.balance_automate and fs.balancer == switch.object


def in_force(fs: FsState, switch: Switch) -> bool:
    """Do they balance by it, or has an operator set a mask of no rank since?"""
    return in_use(fs, switch) and mask_of(fs) != ()


def ours_in_force(fs: FsState, switch: Switch) -> bool:
    """Do the MDSs use an object of ours, be it an older one?"""
    return fs.balance_automate and fs.balancer in switch.objects


def effective(fs: FsState, switch: Switch) -> bool:
    """Do the MDSs balance by an object of ours? While newer hints are pushed that is the one before."""
    return ours_in_force(fs, switch) and mask_of(fs) != ()


def taken_over(fs: FsState, switch: Switch) -> bool:
    """Has an operator ended what was in force when newer hints were to come, or set something else since it
    was ordered for the first time? To go on would undo that."""
    if switch.pushed > switch.started:
        return not ours_in_force(fs, switch)
    foreign = not balances(fs) and fs.balancer != switch.old_balancer
    return foreign or (switch.old_automate and not fs.balance_automate)


def turning_off(store: Store, fs: FsState) -> bool:
    """Is a policy of ours in force that is just about to be turned off?"""
    switch = _found(store, fs)
    return switch is not None and switch.state == TURNING_OFF and ours_in_force(fs, switch)


def policy_in_force(store: Store, fs: FsState) -> Switch | None:
    """The switch of a file system that a policy of ours balances, and is not just about to be turned off."""
    switch = _found(store, fs)
    return switch if switch and switch.state != TURNING_OFF and ours_in_force(fs, switch) else None


def _found(store: Store, fs: FsState) -> Switch | None:
    """The record of a file system that has one of our balancers."""
    switch = load(store)[0].get(fs.fscid) if fs.balancer.startswith(PREFIX) else None
    return switch if switch is not None and fs.has(switch.metadata_pool) else None
