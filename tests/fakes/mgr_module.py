# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for Ceph's mgr_module, so that the module can be imported outside a manager."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any, ClassVar, NamedTuple


class NotifyType(str, Enum):
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
    """A completion, as in Ceph: whoever answers calls ``complete``, or never does."""

    def __init__(self, tag: str | None = None) -> None:
        self.ev = threading.Event()
        self.r, self.outb, self.outs = 0, "", ""

    def complete(self, r: int, outb: str, outs: str) -> None:
        """The answer is there."""
        self.r, self.outb, self.outs = r, outb, outs
        self.ev.set()

    def wait(self) -> tuple[int, str, str]:
        """Wait for ever, as Ceph does."""
        self.ev.wait()
        return self.r, self.outb, self.outs


class HandleCommandResult(NamedTuple):
    """As in Ceph."""

    retval: int = 0
    stdout: str = ""
    stderr: str = ""


class CLICommandBase:
    """Tentacle's registry: reads the command line from the innermost function, as mgr_module does."""

    COMMANDS: ClassVar[dict[str, CLICommandBase]] = {}

    def __init__(self, prefix: str, perm: str) -> None:
        self.prefix, self.perm = prefix, perm
        self.desc = ""
        self.args: dict[str, Any] = {}
        self.func: Callable[..., Any] | None = None

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Register a method, and leave it as it is."""
        inner = inspect.unwrap(func)
        spec = inspect.getfullargspec(inner)
        assert "return" in spec.annotations, "mgr_module counts it when it looks for the first default"
        assert not spec.kwonlyargs, "mgr_module knows no keyword-only parameters"
        self.desc = (inspect.getdoc(inner) or "").replace("\n", " ")
        self.args = {name: spec.annotations[name] for name in spec.args if name not in ("self", "inbuf")}
        self.func = func
        self.COMMANDS[self.prefix] = self
        return func

    @classmethod
    def make_registry_subtype(cls, name: str) -> Any:
        """A registry for one module."""
        return type(name, (cls,), {"COMMANDS": {}})

    @classmethod
    def Read(cls, prefix: str) -> CLICommandBase:  # noqa: N802 - Ceph's name
        """Register a reading command."""
        return cls(prefix, "r")

    @classmethod
    def Write(cls, prefix: str) -> CLICommandBase:  # noqa: N802 - Ceph's name
        """Register a writing command."""
        return cls(prefix, "w")


class MgrModule:
    """Nothing but a place to inherit from."""


class MgrStandbyModule:
    """Likewise."""
