# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kinds of change: how to read the present value, how to set one, whether it has taken effect."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from ..errors import NotFound
from ..filesystem import BAL_MASK, NO_MASK
from ..host import Host
from ..model import NO_PIN, FsState
from ..plan.plan import CONFIG_STEP, MASK_STEP, PIN_STEP, Step
from ..plan.ranks import DEFAULT_MASKS, parse_ranks


class Gone(NotFound):
    """The directory was deleted, or another one has its name."""


class Change(Protocol):
    """A step bound to the file system as it is now."""

    def read(self) -> str: ...
    def write(self, value: str) -> None: ...
    def arrived(self, value: str) -> bool: ...


class Whereabouts(Protocol):
    """What the verify stage knows of the MDSs."""

    def there(self, fs: FsState, path: str, rank: int) -> bool: ...
    def within(self, fs: FsState, path: str, ranks: Collection[int]) -> bool: ...
    def path_of(self, fs: FsState, ino: int) -> str | None: ...


@dataclass(frozen=True)
class PinChange:
    """``ceph.dir.pin`` of a directory, found by inode so that a rename does not lose it."""

    host: Host
    where: Whereabouts
    fs: FsState
    path: str

    def read(self) -> str:
        """The pin as the client library prints it."""
        return str(self.host.on_fs(self.fs, lambda mount: mount.pin(self.path)))

    def write(self, value: str) -> None:
        """Set the pin. The directory is listed first: an MDS exports only what it has in cache."""
        self.host.on_fs(self.fs, lambda mount: mount.load_and_pin(self.path, int(value)))

    def arrived(self, value: str) -> bool:
        """Has the pinned rank taken over? Without a pin there is nothing to wait for."""
        return int(value) == NO_PIN or self.where.there(self.fs, self.path, int(value))


@dataclass(frozen=True)
class MaskChange:
    """``ceph.dir.bal.mask`` of a directory, on MDSs with our hook."""

    host: Host
    where: Whereabouts
    fs: FsState
    path: str

    def read(self) -> str:
        """The mask as a list of ranks, or "-1"."""
        return str(self.host.on_fs(self.fs, lambda mount: mount.mask(self.path)))

    def write(self, value: str) -> None:
        """Set the mask."""
        self.host.on_fs(self.fs, lambda mount: mount.load_and_set(self.path, BAL_MASK, value))

    def arrived(self, value: str) -> bool:
        """Is all of it on the mask's ranks? Without a mask there is nothing to wait for."""
        return value == NO_MASK or self.where.within(self.fs, self.path, parse_ranks(value))


@dataclass(frozen=True)
class SettingChange:
    """A setting of the file system (``ceph fs set``)."""

    host: Host
    fs: FsState
    name: str

    def read(self) -> str:
        """The value, in the form that ``fs set`` takes."""
        value = getattr(self.host.fs(self.fs.name), self.name)
        if isinstance(value, bool):
            return str(value).lower()
        return str(value)

    def write(self, value: str) -> None:
        """Set it through the mon."""
        self.host.mon("fs set", fs_name=self.fs.name, var=self.name, val=value)

    def arrived(self, value: str) -> bool:
        """Is it in the FSMap? The mon writes "every rank" in more than one way."""
        now = self.read()
        return now == value or (self.name == "bal_rank_mask" and {now, value} <= set(DEFAULT_MASKS))


@dataclass(frozen=True)
class ConfigChange:
    """An option of all MDSs of the cluster (``ceph config set mds``)."""

    host: Host
    name: str

    def read(self) -> str:
        """The value, or "" when none is set."""
        return self.host.mds_option(self.name)

    def write(self, value: str) -> None:
        """Set it, or take it away with ""."""
        self.host.set_mds_option(self.name, value)

    def arrived(self, value: str) -> bool:
        """Has the mon taken it? It tells the MDSs at once."""
        return self.read() == value


def bind(step: Step, host: Host, where: Whereabouts, fs: FsState) -> Change:
    """The change a step stands for. :raises Gone: its directory does not exist any more."""
    if step.kind == PIN_STEP:
        return PinChange(host, where, fs, _locate(step, host, where, fs))
    if step.kind == MASK_STEP:
        return MaskChange(host, where, fs, _locate(step, host, where, fs))
    if step.kind == CONFIG_STEP:
        return ConfigChange(host, step.target)
    return SettingChange(host, fs, step.target)


def _locate(step: Step, host: Host, where: Whereabouts, fs: FsState) -> str:
    try:
        if host.on_fs(fs, lambda mount: mount.ino(step.target)) == step.ino:
            return step.target
    except NotFound:
        pass
    path = where.path_of(fs, step.ino)
    if path is None:
        raise Gone(f"{step.target!r} was deleted or replaced")
    return path
