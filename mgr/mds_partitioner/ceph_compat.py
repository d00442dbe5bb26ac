# SPDX-License-Identifier: LGPL-2.1-or-later
"""The differences between Ceph releases, and nowhere else.

Reef (18.2) registers commands with module-level decorators and reads perf counters with ``get_counter``;
Tentacle (20.2) gives every module a command registry of its own and renamed the call to
``get_unlabeled_counter`` (Ceph's src/pybind/mgr/mgr_module.py of both releases).

An MDS with our hook (mds/ of this project) counts working sets and knows ``ceph.dir.bal.mask``; it answers
``dump mindex``, which any other MDS refuses.
"""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import cephfs
import mgr_module
from mgr_module import CommandResult, MgrModule

from .errors import CephError, Unavailable

if hasattr(mgr_module, "CLICommandBase"):
    Commands: Any = mgr_module.CLICommandBase.make_registry_subtype("MdsPartitionerCLICommand")
    _read, _write = Commands.Read, Commands.Write
else:
    Commands = mgr_module.CLICommand
    _read, _write = mgr_module.CLIReadCommand, mgr_module.CLIWriteCommand

F = TypeVar("F", bound=Callable[..., Any])
_connecting = threading.Lock()
HOOK_COMMAND = "dump mindex"  # SubtreeStats::dump, mds/src/SubtreeStats.cc
Point = tuple[float, ...]  # (seconds since the epoch, value) or, for averages, (seconds, sum, count)


def read_command(prefix: str) -> Callable[[F], F]:
    """Register a method as a command that changes nothing."""
    decorator: Callable[[F], F] = _read(prefix)
    return decorator


def write_command(prefix: str) -> Callable[[F], F]:
    """Register a method as a command that may change something."""
    decorator: Callable[[F], F] = _write(prefix)
    return decorator


def counter(module: MgrModule, mds: str, path: str) -> list[Point]:
    """The manager's recent points of one perf counter of an MDS, oldest first; empty when it has none."""
    if hasattr(module, "get_unlabeled_counter"):
        points = module.get_unlabeled_counter("mds", mds, path)
    else:
        points = module.get_counter("mds", mds, path)
    return [tuple(point) for point in points.get(path, [])]


def send_to_mon(module: MgrModule, result: CommandResult, command: Mapping[str, Any]) -> None:
    """Send a mon command and return; ``result.ev`` is set when its answer is there.

    mgr_module's own ``mon_command`` waits for ever.
    """
    module.send_command(result, "mon", "", json.dumps(command), "")


def tell_mds(module: MgrModule, mds: str, command: dict[str, Any], timeout: float) -> str:
    """Send a ``ceph tell mds.NAME`` command and wait for its output.

    mgr_module's own ``tell_command`` waits for ever, which a dead MDS would turn into a stuck manager thread.

    :param timeout: seconds
    :raises Unavailable: no answer in time
    :raises CephError: the MDS refused the command
    """
    result = CommandResult()
    try:
        if hasattr(type(module), "cephfs"):
            # Tentacle opens the connection for commands on first use, and not safely from several threads.
            with _connecting:
                _ = module.cephfs
        module.send_command(result, "mds", mds, _command_text(command), "")
    except (cephfs.Error, RuntimeError) as e:  # Tentacle raises the first, Reef the second
        raise Unavailable(f"mds.{mds} cannot be asked: {e}") from e
    event: threading.Event = result.ev
    if not event.wait(timeout):
        raise Unavailable(f"mds.{mds} did not answer '{command['prefix']}' within {timeout:g} s")
    code, out, message = result.wait()
    if code:
        raise CephError(f"mds.{mds}: {command['prefix']}: {message or out or code}", abs(code))
    return out


def rados_of(module: MgrModule) -> Any:
    """The module's librados handle, opened on first use, and not safely from several threads."""
    with _connecting:
        return module.rados


def _command_text(command: dict[str, Any]) -> str:
    r"""JSON as Ceph reads it: it takes the two halves of a character above U+FFFF (\ud83d\udc0d) for two."""
    text = json.dumps(command, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(command)  # a path that is not UTF-8 cannot be sent at all: no MDS will find it
    return text
