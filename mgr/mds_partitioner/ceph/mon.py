# SPDX-License-Identifier: LGPL-2.1-or-later
"""The mon: its commands, each with a deadline, and its key/value store."""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

import rados
from mgr_module import CommandResult, MgrModule

from ..errors import CephError, InDoubt, JournalError, Unavailable
from ..workers import GivenUp, Workers
from . import compat

MON_TIMEOUT = 20.0  # s: without a quorum a mon answers after the next election, which takes 5 to 10 s
SENDERS = 2  # threads; the answers are waited for elsewhere


class Mon:
    """Commands to the mon, each with a deadline."""

    def __init__(self, module: MgrModule, connections: compat.Connections) -> None:
        self._module, self._connections = module, connections
        self._senders = Workers("mon commands", SENDERS)
        self._askers = Workers("questions to the mon", SENDERS)
        self._lock = threading.Lock()  # of the list alone
        self._late: list[tuple[Mapping[str, str], CommandResult]] = []  # that were given up

    def run(self, command: Mapping[str, str]) -> tuple[int, str, str]:
        """Send a command; the mon's errno, output and message.

        The mon takes the commands of one manager in the order in which they were sent, also those that it is
        sent again after it was away: one that was given up never undoes a later one.

        :raises InDoubt: no answer within 20 s; the command may still be carried out, see ``in_flight``
        """
        result = CommandResult()
        try:
            return self._answer(command, result)
        except InDoubt:
            what = {name: value for name, value in command.items() if name != "val"}  # which may be long
            with self._lock:
                self._late = [*self._unanswered(), (what, result)]
            raise

    def _answer(self, command: Mapping[str, str], result: CommandResult) -> tuple[int, str, str]:
        what = f"the mon and '{command['prefix']}'"
        ends = time.monotonic() + MON_TIMEOUT
        try:
            self._senders.run(what, MON_TIMEOUT, lambda: compat.send_to_mon(self._module, result, command))
        except GivenUp as e:
            raise InDoubt(str(e)) from e
        if not result.ev.wait(max(0.0, ends - time.monotonic())):
            raise InDoubt(f"the mon did not answer '{command['prefix']}' within {MON_TIMEOUT:g} s")
        return result.wait()

    def ask(self, command: Mapping[str, Any]) -> tuple[int, str, str]:
        """As ``run``, for a command that changes nothing and may be answered with names that are not UTF-8:
        the manager hands over no such answer (MonCommandCompletion::finish), librados does.

        :raises CephError: librados cannot be used
        :raises Unavailable: no answer within 20 s
        """
        what = f"the mon and '{command['prefix']}'"
        return self._askers.run(what, MON_TIMEOUT, lambda: self._asked(json.dumps(command)))

    def _asked(self, command: str) -> tuple[int, str, str]:
        try:
            code, out, message = self._connections.rados().mon_command(command, b"")
        except rados.Error as e:
            raise CephError(f"the mon cannot be asked: {e}") from e
        return code, out.decode("utf-8", "replace"), message

    def in_flight(self, **arguments: str) -> bool:
        """Is there a command with these arguments that was given up, and that the mon has not answered yet?

        As long as there is one, what is read may be from before it.
        """
        with self._lock:
            return any(arguments.items() <= command.items() for command, _ in self._unanswered())

    def _unanswered(self) -> list[tuple[Mapping[str, str], CommandResult]]:
        """Of those that were given up. The lock is held."""
        return [(command, result) for command, result in self._late if not result.ev.is_set()]

    def shutdown(self) -> None:
        """Send no more."""
        self._senders.shutdown()
        self._askers.shutdown()


class KeyValue:
    """The module's part of the mon's key/value store, with the mon's word that a write arrived.

    ``MgrModule.set_store`` only logs a failed write; a journal must know, so this sends the commands itself.
    A write that was not answered in time is a JournalError, too, and may still arrive: of two writes to a key
    the later one stays.
    """

    def __init__(self, module: MgrModule, mon: Mon) -> None:
        self._mon = mon
        self._prefix = f"mgr/{module.module_name}/"

    def put(self, key: str, value: str) -> None:
        """Store ``value`` durably. :raises JournalError: the mon did not take it."""
        self._command({"prefix": "config-key set", "key": self._prefix + key, "val": value})

    def delete(self, key: str) -> None:
        """Remove a key; one that is not there is no error. :raises JournalError: as above."""
        self._command({"prefix": "config-key rm", "key": self._prefix + key})

    def items(self, prefix: str) -> dict[str, str]:
        """Every key that begins with ``prefix``, and its value."""
        out = self._command({"prefix": "config-key dump", "key": self._prefix + prefix, "format": "json"})
        found = json.loads(out or "{}")
        return {key.removeprefix(self._prefix): str(value) for key, value in found.items()}

    def _command(self, command: dict[str, str]) -> str:
        try:
            code, out, message = self._mon.run(command)
        except Unavailable as e:
            raise JournalError(str(e), e.code) from e
        if code:
            raise JournalError(f"the mon refused '{command['prefix']}': {message}", abs(code))
        return out
