# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a command is declared: its method's signature and docstring *are* the command line and its help.

Both releases' registries (mgr_module) look through ``functools.wraps`` at the method itself. Reef reads types
in the form of ``typing.Optional`` only. What follows ``format`` or a bool is given by name only.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from mgr_module import HandleCommandResult

from ..analyzer import Analyzer
from ..balancer import Balancer
from ..ceph_compat import read_command, write_command
from ..errors import PartitionerError
from ..host import Host
from ..monitor.service import Monitor
from ..partitioner import Partitioner
from ..report.text import DEFAULT_FORMAT, TOP, check_format, check_top, render


class Services:
    """What a command needs of the module that it is a part of."""

    host: Host
    analyzer: Analyzer
    partitioner: Partitioner
    balancer: Balancer
    monitor: Monitor

    def wake(self) -> None:
        """Look at once whether there is work for the loop."""
        raise NotImplementedError


@dataclass(frozen=True)
class Answer:
    """What a command shows: plain data for programs, text for people."""

    value: Any
    text: str


P = ParamSpec("P")
S = TypeVar("S", bound=Services)
Body = Callable[Concatenate[S, P], Answer]
Command = Callable[Concatenate[S, P], HandleCommandResult]


def reads(prefix: str) -> Callable[[Body[S, P]], Command[S, P]]:
    """Declare a command that changes nothing: ``ceph mds_partitioner PREFIX``."""
    register = read_command(f"mds_partitioner {prefix}")
    return lambda body: register(_command(body))


def writes(prefix: str) -> Callable[[Body[S, P]], Command[S, P]]:
    """Declare a command that may change something: ``ceph mds_partitioner PREFIX``."""
    register = write_command(f"mds_partitioner {prefix}")
    return lambda body: register(_command(body))


def _command(body: Body[S, P]) -> Command[S, P]:
    @functools.wraps(body)
    def command(self: S, /, *args: P.args, **kwargs: P.kwargs) -> HandleCommandResult:
        given: dict[str, Any] = dict(kwargs)
        format_ = given.get("format", DEFAULT_FORMAT)
        try:
            # Before anything is done: a command that fails has changed nothing.
            check_format(format_)
            check_top(given.get("top", TOP))
            answer = body(self, *args, **kwargs)
            return HandleCommandResult(0, render(format_, answer.value, answer.text), "")
        except PartitionerError as e:
            return HandleCommandResult(-e.code, "", str(e))
        finally:
            self.wake()

    return command
