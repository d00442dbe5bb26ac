# SPDX-License-Identifier: LGPL-2.1-or-later
"""The differences between Ceph releases, and nowhere else.

Reef (18.2) registers commands with module-level decorators and reads perf counters with ``get_counter``;
Tentacle (20.2) gives every module a command registry of its own and renamed the call to
``get_unlabeled_counter`` (Ceph's src/pybind/mgr/mgr_module.py of both releases).

An MDS with our hook (mds/ of this project) counts working sets and knows ``ceph.dir.bal.mask``; it answers
``dump mindex``, which any other MDS refuses.
"""

from __future__ import annotations

import errno
import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import cephfs
import mgr_module
from mgr_module import CommandResult, MgrModule

from ..errors import CephError, Unavailable

if hasattr(mgr_module, "CLICommandBase"):
    Commands: Any = mgr_module.CLICommandBase.make_registry_subtype("MdsPartitionerCLICommand")
    _read, _write = Commands.Read, Commands.Write
else:
    Commands = mgr_module.CLICommand
    _read, _write = mgr_module.CLIReadCommand, mgr_module.CLIWriteCommand

F = TypeVar("F", bound=Callable[..., Any])
TEXT_TIMEOUT = 2.0  # s: what Reef's manager has not handed over by then is asked for as bytes
GONE = 60.0  # s after its time that an answer comes no more
HOOK_COMMAND = "dump mindex"  # SubtreeStats::dump, in mds/patches
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


class Once:
    """What is opened on first use, which may hang: by one caller; those that come meanwhile get the same."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        self._open = opened
        self._lock = threading.Lock()  # of the future alone; never held while it is opened
        self._future: Future[Any] | None = None

    def get(self) -> Any:
        """It, or what opening it raised; the next caller tries again then."""
        with self._lock:
            mine = self._future is None
            future = self._future = self._future or Future()
        if mine:
            try:
                future.set_result(self._open())
            except BaseException as e:  # whatever it is, nobody may wait for ever
                self._future = None
                future.set_exception(e)
        return future.result()


class Connections:
    """The module's handles of librados and libcephfs, which it does not open safely from several threads.

    Callers are threads of a pool, which may be given up.
    """

    def __init__(self, module: MgrModule) -> None:
        self._module = module
        self._rados, self._cephfs = Once(lambda: module.rados), Once(self._open_cephfs)

    def rados(self) -> Any:
        """Of librados. :raises rados.Error: it cannot be opened"""
        return self._rados.get()

    def cephfs(self) -> Any:
        """Of libcephfs, with no file system mounted: Tentacle's mgr_module has one, Reef's has none.

        :raises cephfs.Error: it cannot be opened
        """
        return self._cephfs.get()

    def _open_cephfs(self) -> Any:
        connected = self.rados()  # Tentacle's own uses it, too
        if has_cephfs(self._module):
            return self._module.cephfs
        client = cephfs.LibCephFS(rados_inst=connected)
        client.init()
        return client


def has_cephfs(module: MgrModule) -> bool:
    """Is this Tentacle, whose libcephfs has a call that does not wait for an MDS's answer?"""
    return hasattr(type(module), "cephfs")


class MdsAnswer:
    """An MDS's answer to a command. Whoever has it calls ``complete``; a second answer is not looked at."""

    def __init__(self) -> None:
        self.there = threading.Event()
        self.code, self.out, self.message = 0, "", ""
        self._lock = threading.Lock()

    def complete(self, code: int, out: str | bytes, message: str | bytes) -> None:
        """Keep the answer; bytes that are not UTF-8 become surrogates, as in paths."""
        with self._lock:
            if not self.there.is_set():
                self.code, self.out, self.message = code, _decoded(out), _decoded(message)
                self.there.set()


@dataclass(frozen=True)
class Question:
    """A command to send as bytes. ``ends``: until when its answer is waited for, monotonic, s."""

    answer: MdsAnswer
    prefix: str
    text: str
    ends: float

    def awaited(self, now: float) -> bool:
        """Is its answer still waited for, and not there? ``now``: as ``ends``"""
        return now < self.ends and not self.answer.there.is_set()


@dataclass
class Turn:
    """Of a thread that asks an MDS one question after the other.

    :ivar ends: until when the answer to what it asks now is waited for, monotonic, s
    :ivar lost: threads before it that got none, and wait for ever
    """

    left: deque[Question] = field(default_factory=deque)
    ends: float = math.inf
    lost: int = 0

    def is_lost(self, now: float) -> bool:
        """Has it waited for so long that another one takes over? Twice as long each time: it may hang."""
        return now - self.ends > GONE * 2.0**self.lost


class MdsCommands:
    """``ceph tell mds.NAME COMMAND``, of which the command and the answer may hold names that are not UTF-8.

    mgr_module's ``send_command`` (Tentacle) and ceph_send_command in BaseMgrModule.cc (Reef) decode an answer
    strictly and lose one that is not UTF-8: the caller would wait for ever. libcephfs hands over bytes.
    Reef's libcephfs has the call that waits only, which leaves a thread behind when an MDS hangs. So it is
    used there for what an MDS has not answered for 2 s otherwise, and by one thread an MDS, which asks one
    question after the other. When an MDS dies the call never ends, though another one of its name has come
    since: then a new thread takes over.
    """

    def __init__(self, module: MgrModule, connections: Connections) -> None:
        self._module, self._connections = module, connections
        self._lock = threading.Lock()
        self._turns: dict[str, Turn] = {}  # by MDS that a thread asks
        self._bytes: set[tuple[str, str]] = set()  # (MDS, prefix) whose last answer was not UTF-8

    def tell(self, mds: str, command: dict[str, Any], timeout: float) -> str:
        """Send a command and wait for its output; bytes that are not UTF-8 are surrogates in both.

        :param timeout: seconds
        :raises Unavailable: no answer in time
        :raises CephError: the MDS refused the command
        """
        answer = MdsAnswer()
        ends = time.monotonic() + timeout
        # Ceph takes the two halves of a character above U+FFFF (\ud83d\udc0d) for two: so no such escapes.
        text = json.dumps(command, ensure_ascii=False)
        try:
            if has_cephfs(self._module):
                self._send_to_tentacle(answer, mds, text)
            else:
                self._send_to_reef(mds, Question(answer, str(command["prefix"]), text, ends))
        except (cephfs.Error, RuntimeError) as e:  # Tentacle raises the first, Reef the second
            raise Unavailable(f"mds.{mds} cannot be asked: {e}") from e
        if not answer.there.wait(max(0.0, ends - time.monotonic())):
            raise Unavailable(f"mds.{mds} did not answer '{command['prefix']}' within {timeout:g} s")
        if answer.code:
            said = (answer.message or answer.out).encode("utf-8", "backslashreplace").decode()
            raise CephError(f"mds.{mds}: {command['prefix']}: {said or answer.code}", abs(answer.code))
        return answer.out

    def _send_to_tentacle(self, answer: MdsAnswer, mds: str, text: str) -> None:
        self._connections.cephfs().mds_command2(answer, mds, _encoded(text))

    def _send_to_reef(self, mds: str, question: Question) -> None:
        if (mds, question.prefix) not in self._bytes and _is_utf8(_encoded(question.text)):
            self._module.send_command(question.answer, "mds", mds, question.text, "")
            if question.answer.there.wait(TEXT_TIMEOUT):
                return
        now = time.monotonic()
        with self._lock:
            old = self._turns.get(mds)
            # Behind an MDS that hangs there are never more than those that somebody waits for.
            left = [other for other in (old.left if old else ()) if other.awaited(now)]
            turn = old
            if turn is None or turn.is_lost(now):
                turn = self._turns[mds] = Turn(lost=0 if old is None else old.lost + 1)
                threading.Thread(target=self._ask_in_turn, args=(mds, turn), daemon=True).start()
            turn.left = deque([*left, question])

    def _ask_in_turn(self, mds: str, turn: Turn) -> None:
        while (question := self._next(mds, turn)) is not None:
            self._ask(mds, question)

    def _next(self, mds: str, turn: Turn) -> Question | None:
        """What is to be asked; None: nothing, or another thread asks, and who wants to know something begins
        anew."""
        now = time.monotonic()
        with self._lock:
            if self._turns.get(mds) is not turn:
                return None
            while turn.left:
                question = turn.left.popleft()
                if question.awaited(now):
                    turn.ends = question.ends
                    return question
            del self._turns[mds]
            return None

    def _ask(self, mds: str, question: Question) -> None:
        try:
            code, out, message = self._connections.cephfs().mds_command(mds, _encoded(question.text), b"")
            if _is_utf8(out):
                self._bytes.discard((mds, question.prefix))
            else:
                self._bytes.add((mds, question.prefix))
            question.answer.complete(code, out, message)
        except Exception as e:  # whatever it is, others wait for their turn
            question.answer.complete(-errno.EIO, "", str(e))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
