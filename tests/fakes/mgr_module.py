# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for Ceph's mgr_module, so that the module can be imported outside a manager."""

import threading
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any, NamedTuple


class NotifyType(str, Enum):  # noqa: UP042 - as in Ceph
    """The one that the module asks for."""

    fs_map = "fs_map"


class OptionLevel(IntEnum):
    """As in Ceph."""

    BASIC = 0
    ADVANCED = 1
    DEV = 2


class Option(dict[str, Any]):
    """As in Ceph: a dict of what was given."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)


class CommandResult:
    """A completion that never comes by itself."""

    def __init__(self, tag: str | None = None) -> None:
        self.ev = threading.Event()

    def wait(self) -> tuple[int, str, str]:
        """Wait for ever, as Ceph does."""
        self.ev.wait()
        return 0, "", ""


class HandleCommandResult(NamedTuple):
    """As in Ceph."""

    retval: int = 0
    stdout: str = ""
    stderr: str = ""


class CLICommandBase:
    """Tentacle's registry: decorators that leave the method as it is."""

    @classmethod
    def make_registry_subtype(cls, name: str) -> Any:
        """A registry for one module."""
        return type(name, (cls,), {"COMMANDS": {}})

    @classmethod
    def Read(cls, prefix: str) -> Callable[[Any], Any]:  # noqa: N802 - Ceph's name
        """Register a reading command."""
        return lambda method: method

    @classmethod
    def Write(cls, prefix: str) -> Callable[[Any], Any]:  # noqa: N802 - Ceph's name
        """Register a writing command."""
        return lambda method: method


class MgrModule:
    """Nothing but a place to inherit from."""


class MgrStandbyModule:
    """Likewise."""
