# SPDX-License-Identifier: LGPL-2.1-or-later
# What the module uses of Ceph's src/pybind/mgr/mgr_module.py, Reef and Tentacle.
import logging
import threading
from enum import Enum, IntEnum
from typing import Any, NamedTuple

class NotifyType(Enum):
    fs_map = "fs_map"

class OptionLevel(IntEnum):
    BASIC = 0
    ADVANCED = 1
    DEV = 2

class Option(dict[str, Any]):
    def __init__(
        self,
        name: str,
        level: OptionLevel = ...,
        default: Any = ...,
        type: str = ...,
        desc: str | None = ...,
        min: Any = ...,
        max: Any = ...,
        runtime: bool = ...,
    ) -> None: ...

class CommandResult:
    ev: threading.Event
    def __init__(self, tag: str | None = ...) -> None: ...
    def wait(self) -> tuple[int, str, str]: ...

class HandleCommandResult(NamedTuple):
    retval: int = ...
    stdout: str = ...
    stderr: str = ...

class CLICommandBase:
    @classmethod
    def make_registry_subtype(cls, name: str) -> Any: ...

CLICommand: Any  # Reef only, as the next two
CLIReadCommand: Any
CLIWriteCommand: Any

class MgrModule:
    module_name: str
    log: logging.Logger
    cephfs: Any
    rados: Any
    def __init__(self, module_name: str, py_modules_ptr: object, this_ptr: object) -> None: ...
    def get(self, data_name: str) -> Any: ...
    def get_counter(self, svc_type: str, svc_name: str, path: str) -> dict[str, list[Any]]: ...
    def get_unlabeled_counter(self, svc_type: str, svc_name: str, path: str) -> dict[str, list[Any]]: ...
    def get_module_option(self, key: str, default: Any = ...) -> Any: ...
    def mon_command(self, cmd_dict: dict[str, Any], inbuf: str | None = ...) -> tuple[int, str, str]: ...
    def send_command(
        self, result: CommandResult, svc_type: str, svc_id: str, command: str, tag: str
    ) -> None: ...
    def set_health_checks(self, checks: dict[str, Any]) -> None: ...
    def remote(self, module_name: str, method_name: str, *args: Any, **kwargs: Any) -> Any: ...

class MgrStandbyModule:
    log: logging.Logger
    def __init__(self, module_name: str, capsule: Any) -> None: ...
