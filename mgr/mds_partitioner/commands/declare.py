# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a command is declared: its method's signature and docstring *are* the command line and its help.

Both releases' registries (mgr_module) look through ``functools.wraps`` at the method itself. Reef reads types
in the form of ``typing.Optional`` only. What follows ``format`` or a bool is given by name only.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mgr_module import HandleCommandResult

from ..analyzer import Analyzer
from ..ceph.compat import read_command, write_command
from ..ceph.host import Host
from ..desk import CHANGE, LOOK, UNDO, Desk, Line
from ..errors import PartitionerError
from ..model import FsState
from ..monitor.service import Monitor
from ..partitioner import Partitioner
from ..planning import Planning
from ..policy.balancer import Balancer
from ..ranks import Ranks
from ..report.text import DEFAULT_FORMAT, TOP, check_format, check_top, render
from ..schedule.ledger import Ledger
from ..scheduling import Scheduling


class Services:
    """What a command needs of the module that it is a part of."""

    desk: Desk
    host: Host
    analyzer: Analyzer
    ranks: Ranks
    planning: Planning
    partitioner: Partitioner
    balancer: Balancer
    scheduling: Scheduling
    ledger: Ledger
    monitor: Monitor
    wake: Callable[[], None]  # look at once whether there is work for the loop


Of = Callable[[Services, Mapping[str, Any]], int]


@dataclass(frozen=True)
class Answer:
    """What a command shows: plain data for programs, text for people."""

    value: Any
    text: str


if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec  # Python 3.10

    P = ParamSpec("P")
    S = TypeVar("S", bound=Services)
    Body = Callable[Concatenate[S, P], Answer]
    Command = Callable[Concatenate[S, P], HandleCommandResult]


def of_fs(self: Services, given: Mapping[str, Any]) -> int:
    """The file system that a command is given. :raises PartitionerError: there is none"""
    return self.host.fs(given.get("fs")).fscid


def meant(self: Services, fs: str | None, plan: str | None) -> tuple[FsState, str | None]:
    """The file system and the plan that are given. A plan's name alone will do: no two have the same.

    :raises PartitionerError: there is no such file system
    """
    if plan is None and fs is not None and fs not in (there.name for there in self.host.file_systems()):
        runs = (run for run in self.partitioner.plans.known() if run.plan.name == fs)
        found = next((self.host.fs_by_id(run.plan.fscid) for run in runs), None)
        if found is not None:
            return found, fs
    return self.host.fs(fs), plan


def of_meant(self: Services, given: Mapping[str, Any]) -> int:
    """The file system that a command is given, or that of its plan. Errors as ``meant``."""
    return meant(self, given.get("fs"), given.get("plan"))[0].fscid


def of_plan(self: Services, given: Mapping[str, Any]) -> int:
    """That of its plan. :raises PartitionerError: there is none, or it cannot be read"""
    return self.partitioner.plans.named(None, given["plan"]).plan.fscid


def reads(prefix: str, line: Line = LOOK) -> Callable[[Body[S, P]], Command[S, P]]:
    """Declare a command that changes nothing: ``ceph mds_partitioner PREFIX``."""
    register = read_command(f"mds_partitioner {prefix}")
    return lambda body: register(_command(prefix, body, line, keep=False))


def writes(prefix: str, line: Line = CHANGE, of: Of = of_fs) -> Callable[[Body[S, P]], Command[S, P]]:
    """Declare a command that may change something: ``ceph mds_partitioner PREFIX``.

    :param of: what it changes: others of its line that change that wait for it
    """
    register = write_command(f"mds_partitioner {prefix}")
    return lambda body: register(_command(prefix, body, line, of, keep=True))


def _command(prefix: str, body: Body[S, P], line: Line, of: Of = of_fs, *, keep: bool) -> Command[S, P]:
    signature = inspect.signature(body)

    @functools.wraps(body)
    def command(self: S, /, *args: P.args, **kwargs: P.kwargs) -> HandleCommandResult:
        given = (prefix, repr(args), repr(sorted(kwargs.items())))
        work = functools.partial(_answer, self, body, args, kwargs)
        # What undoes something begins that: what was stopped before is not stopped any more.
        order = UNDO if kwargs.get("rollback") else line

        def where() -> int | None:
            try:
                return of(self, signature.bind(self, *args, **kwargs).arguments)
            except PartitionerError:
                return None  # the command says why

        return self.desk.run(prefix, given, work, order, keep=keep, where=where)

    return command


def _answer(
    self: S, body: Callable[..., Answer], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> HandleCommandResult:
    format_ = kwargs.get("format", DEFAULT_FORMAT)
    try:
        # Before anything is done: a command that fails has changed nothing.
        check_format(format_)
        check_top(kwargs.get("top", TOP))
        answer = body(self, *args, **kwargs)
        return HandleCommandResult(0, _utf8(render(format_, answer.value, answer.text)), "")
    except PartitionerError as e:
        return HandleCommandResult(-e.code, "", _utf8(str(e)))
    finally:
        self.wake()


def _utf8(text: str) -> str:
    """Without bytes that are not UTF-8: a manager shows nothing at all of an answer that has some."""
    return text.encode("utf-8", "backslashreplace").decode()
