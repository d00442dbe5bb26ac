# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kinds of change: how to read the present value, how to set one, whether it has taken effect."""

from __future__ import annotations

import errno
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, TypeVar

from ..ceph.filesystem import BAL_MASK, DISTRIBUTED, NO_MASK, PIN, FileSystem
from ..ceph.host import Host, fs_state
from ..ceph.shared_option import SharedOption
from ..engine.reasons import PINNED_BY_OPERATOR
from ..errors import CephError, NotFound, Unavailable
from ..model import NO_PIN, FsState
from ..observe.children import Placed
from ..observe.subtrees import ancestors
from ..plan.circumstances import placing
from ..plan.plan import AUTOMATE, CONFIG_STEP, DISTRIBUTED_STEP, MASK_STEP, PIN_STEP, Step
from ..plan.ranks import parse_ranks
from ..policy.switch import policy_in_force, turning_off

T = TypeVar("T")
EPHEMERAL = "an operator's ephemeral pin is on it: ceph.dir.pin.distributed or ceph.dir.pin.random"
NO_HOOK = (
    "these MDSs neither obey nor change a mask: take it off when MDSs with the hook are back ('setfattr -x')"
)
UNANSWERED = "an earlier change of it was not answered yet and may still be made"


class Gone(NotFound):
    """The directory was deleted, or another one has its name."""


class NotTaken(CephError):
    """These MDSs know no such attribute: nobody can set it, nor take it off."""


class Change(Protocol):
    """A step bound to the file system as it is now. Right before a change is sent ``may`` is asked, and what
    is not ``was`` any more is left alone.
    """

    def read(self) -> str: ...
    def write(self, value: str, was: str, may: Callable[[], bool]) -> None: ...
    def arrived(self, value: str) -> bool: ...
    def in_doubt(self) -> str: ...


class Whereabouts(Protocol):
    """What the verify stage knows of the MDSs."""

    def there(self, fs: FsState, path: str, rank: int) -> bool: ...
    def within(self, fs: FsState, path: str, ranks: Collection[int]) -> bool: ...
    def scattered(self, fs: FsState, path: str) -> bool: ...
    def path_of(self, fs: FsState, ino: int) -> str | None: ...


@dataclass(frozen=True)
class DirectoryChange(ABC):
    """An attribute of a directory, which is found by inode so that a rename does not lose it."""

    attribute: ClassVar[str]

    host: Host
    where: Whereabouts
    fs: FsState
    path: str
    ino: int
    unless_held: bool = False  # it is not set where an operator's own setting is in the way by now

    def get(self, read: Callable[[FileSystem], T]) -> T:
        """Read a value of this very directory. :raises Unavailable: another one has its path by now"""
        value, ino = self.host.on_fs(self.fs, lambda mount: (read(mount), mount.ino(self.path)), self.ino)
        if ino != self.ino:
            raise Unavailable(f"{self.path!r} was renamed just now: it is looked at again")
        return value

    @abstractmethod
    def value(self, mount: FileSystem) -> str:
        """The present value, as it is recorded and set."""

    def read(self) -> str:
        """The present value."""
        return self.get(self.value)

    def write(self, value: str, was: str, may: Callable[[], bool]) -> None:
        """Set it. :raises Unavailable: it is not as it was"""

        def as_it_was(mount: FileSystem) -> bool:
            return self.value(mount) == was and not (self.unless_held and self.held(mount))

        def write(mount: FileSystem) -> None:
            mount.set_attribute(
                self.path, self.ino, self.attribute, value, lambda: as_it_was(mount) and may()
            )

        self.host.on_fs(self.fs, write, self.ino)

    def load(self) -> None:
        """Have MDSs read it: what nobody uses is in no cache, and stays where it is for that."""
        self.get(lambda mount: mount.load(self.path))

    def in_doubt(self) -> str:
        """In words, has an MDS been asked for a change that it has not answered, and nobody waits for it?"""
        return UNANSWERED if self.host.in_flight(self.fs.fscid, self.ino) is not None else ""

    def empty(self) -> bool:
        """Is there nothing in it? MDSs export nothing that is empty: it moves with the first that is made."""
        return self.get(lambda mount: mount.entries(self.path)) == 0

    def above(self) -> dict[str, Placed]:
        """The directories above it whose own settings place all below them, by path."""
        over = [path for path in ancestors(self.path) if path not in (self.path, "/")]
        return self.get(partial(placing, over))

    @abstractmethod
    def held(self, mount: FileSystem) -> str:
        """In words, what of its own settings this would be in the way of; "": nothing."""

    def why_held(self) -> str:
        """The same."""
        return self.get(self.held)


class PinChange(DirectoryChange):
    """``ceph.dir.pin`` of a directory."""

    attribute = PIN

    def value(self, mount: FileSystem) -> str:
        """The pin as the client library prints it."""
        return str(mount.pin(self.path))

    def arrived(self, value: str) -> bool:
        """Has the pinned rank taken over? Without a pin there is nothing to wait for, but where the directory
        is distributed: do the MDSs hold its fragments in place?"""
        if int(value) != NO_PIN:
            return self.where.there(self.fs, self.path, int(value))
        distributed = self.get(lambda mount: mount.ephemeral_pins(self.path)[0])
        return not distributed or self.where.scattered(self.fs, self.path)

    def held(self, mount: FileSystem) -> str:
        """By an ephemeral pin of its own."""
        return EPHEMERAL if any(mount.ephemeral_pins(self.path)) else ""


class MaskChange(DirectoryChange):
    """``ceph.dir.bal.mask`` of a directory, on MDSs with our hook."""

    attribute = BAL_MASK

    def value(self, mount: FileSystem) -> str:
        """The mask as a list of ranks, or "-1"."""
        return mount.mask(self.path)

    def write(self, value: str, was: str, may: Callable[[], bool]) -> None:
        """Set it. :raises NotTaken: MDSs without our hook show one that is there, and no more"""
        try:
            super().write(value, was, may)
        except CephError as e:
            if e.code == errno.EINVAL and self.host.has_hook(self.fs) is False:
                raise NotTaken(NO_HOOK) from e
            raise

    def arrived(self, value: str) -> bool:
        """Is all of it on the mask's ranks? Without a mask there is nothing to wait for."""
        return value == NO_MASK or self.where.within(self.fs, self.path, parse_ranks(value))

    def held(self, mount: FileSystem) -> str:
        """It is in no ephemeral pin's way."""
        return ""

    def why_held(self) -> str:
        """So nobody is asked."""
        return ""


@dataclass(frozen=True)
class DistributedChange(DirectoryChange):
    """``ceph.dir.pin.distributed`` of a directory: its fragments on the ranks that their hashes say."""

    attribute = DISTRIBUTED

    pins: Collection[str] | None = None  # under which it is distributed, as they come off; None: any

    def value(self, mount: FileSystem) -> str:
        """1 or 0."""
        return "1" if mount.ephemeral_pins(self.path)[0] else "0"

    def held(self, mount: FileSystem) -> str:
        """By ``ceph.dir.pin.random``, the other one is its value; and by an operator's pin: when he takes it
        off, it would be scattered."""
        if mount.ephemeral_pins(self.path)[1]:
            return EPHEMERAL
        if self.pins is None or (pin := mount.pin(self.path)) == NO_PIN or str(pin) in self.pins:
            return ""
        return f"{PINNED_BY_OPERATOR}: {self.path!r} is pinned to rank {pin}"

    def arrived(self, value: str) -> bool:
        """Do the MDSs hold its fragments in place? There is nothing to wait for without it, nor while a pin
        holds the directory as a whole (CInode.cc, get_export_pin): that must be taken off first."""
        if value == "0" or self.get(lambda mount: mount.pin(self.path)) != NO_PIN:
            return True
        return self.where.scattered(self.fs, self.path)


def asks_all(change: Change, value: str) -> bool:
    """Does it take all MDSs' lists of subtrees to know whether it has arrived? They are long."""
    unpinned = isinstance(change, PinChange) and int(value) == NO_PIN
    return unpinned or isinstance(change, (MaskChange, DistributedChange))


@dataclass(frozen=True)
class SettingChange:
    """A setting of the file system (``ceph fs set``)."""

    host: Host
    fs: FsState
    name: str

    def read(self) -> str:
        """The value, in the form that ``fs set`` takes."""
        value = getattr(self.present(), self.name)
        if isinstance(value, bool):
            return str(value).lower()
        return str(value)

    def present(self) -> FsState:
        """The file system as the mon has it: the manager's FSMap lags behind."""
        answer = self.host.mon("fs get", fs_name=self.fs.name, format="json")
        found = fs_state(json.loads(answer))
        if (found.fscid, found.metadata_pool) != (self.fs.fscid, self.fs.metadata_pool):
            raise CephError(f"'{self.fs.name}' is another file system now")
        return found

    def write(self, value: str, was: str, may: Callable[[], bool]) -> None:
        """Set it through the mon. :raises Unavailable: it is not as it was"""
        _check(self, self.name, was, may)
        self.host.mon("fs set", fs_name=self.fs.name, var=self.name, val=value)

    def arrived(self, value: str) -> bool:
        """What the mon has is in force."""
        return True

    def in_doubt(self) -> str:
        """In words, has the mon not answered that it was to be set, and nobody waits for that any more?"""
        late = self.host.mon_in_flight(prefix="fs set", fs_name=self.fs.name, var=self.name)
        return UNANSWERED if late else ""


@dataclass(frozen=True)
class AutomateChange(SettingChange):
    """``balance_automate``, which a policy of ours may need as well."""

    def in_doubt(self) -> str:
        """Also while 'balance off' puts it back, which it tries until the mon has taken that."""
        off = turning_off(self.host.store, self.present())
        return super().in_doubt() or ("'balance off' is putting it back" if off else "")

    def shared(self) -> bool:
        """Has 'balance on' switched it on, and will 'balance off' put it back?"""
        switch = policy_in_force(self.host.store, self.present())
        return switch is not None and not switch.old_automate


@dataclass(frozen=True)
class ConfigChange:
    """An option of all MDSs of the cluster, which other users of ours may want as well."""

    option: SharedOption

    def read(self) -> str:
        """The value as this user may see it, or "" when none is set."""
        return self.option.read()

    def write(self, value: str, was: str, may: Callable[[], bool]) -> None:
        """Set it, or go back to what was there. :raises Unavailable: it is not as it was"""
        _check(self, self.option.name, was, may)
        if value == self.option.wanted:
            self.option.take(may)
        else:
            self.option.give_back(value, may)

    def arrived(self, value: str) -> bool:
        """The mon tells the MDSs at once."""
        return True

    def in_doubt(self) -> str:
        """As for a setting."""
        return UNANSWERED if self.option.host.mon_in_flight(who="mds", name=self.option.name) else ""

    def stays(self) -> str:
        """In words, why it is not put back."""
        return (
            "it is yours since another plan was forgotten ('partition rm')"
            if self.option.is_operators()
            else ""
        )


def _check(change: Change, name: str, was: str, may: Callable[[], bool]) -> None:
    """:raises Unavailable: it is not as it was, or must not be set any more"""
    if change.read() != was or not may():
        raise Unavailable(f"{name} was not set: it is not as it was, or not wanted any more")


def bind(step: Step, user: str, host: Host, where: Whereabouts, fs: FsState | None) -> Change:
    """The change a step stands for. ``fs``: None once it was removed; ``user``: of shared options.

    :raises Gone: its directory, or the file system, does not exist any more
    """
    if step.kind == CONFIG_STEP:
        return ConfigChange(SharedOption(host, step.target, user, step.value))
    if fs is None:
        raise Gone("its file system was removed")
    if step.kind == PIN_STEP:
        return PinChange(host, where, fs, _locate(step, host, where, fs), step.ino)
    if step.kind == MASK_STEP:
        return MaskChange(host, where, fs, _locate(step, host, where, fs), step.ino)
    if step.kind == DISTRIBUTED_STEP:
        return DistributedChange(host, where, fs, _locate(step, host, where, fs), step.ino)
    change = AutomateChange if step.target == AUTOMATE else SettingChange
    return change(host, fs, step.target)


def _locate(step: Step, host: Host, where: Whereabouts, fs: FsState) -> str:
    """The path by which MDSs know it."""

    def there(mount: FileSystem) -> bool:
        return mount.ino(step.target) == step.ino and not mount.over_link(step.target)

    try:
        if host.on_fs(fs, there, step.ino):
            return step.target
    except NotFound:
        pass
    path = where.path_of(fs, step.ino)
    if path is None:
        raise Gone(f"{step.target!r} was deleted or replaced")
    return path
