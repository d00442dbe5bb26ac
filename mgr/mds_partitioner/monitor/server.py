# SPDX-License-Identifier: LGPL-2.1-or-later
"""The HTTP server: cheroot, which ceph-mgr's own web modules run on, with bounds for a manager's sake.

A worker thread reads a request for at most 2 s and writes an answer for at most 10 s in all, however the
client drips; 16 workers, requests of at most 8 KiB, one request a connection. Once it is to stop it reads
none any more: who is connected and says nothing would hold up the fail-over of the managers.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from cheroot.makefile import MakeFile
from cheroot.server import HTTPConnection
from cheroot.wsgi import Server as WsgiServer

from .options import Address

THREADS = 16
BACKLOG = 128
LARGEST_HEADER = 8 * 1024  # bytes, request line included
LARGEST_BODY = 1  # byte: 0 would mean no limit
READ_TIME, WRITE_TIME = 2.0, 10.0  # s

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Deadline:
    """A socket whose calls together take so long at most, from the first one on; as long as is told then."""

    def __init__(self, sock: socket.socket, seconds: Callable[[], float]) -> None:
        self._sock, self._seconds = sock, seconds
        self._end: float | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def _arm(self) -> None:
        now = time.monotonic()
        if self._end is None:
            self._end = now + self._seconds()
        if now >= self._end:
            raise TimeoutError("timed out")  # the words by which cheroot knows it
        self._sock.settimeout(self._end - now)

    def recv_into(self, buffer: Any, *args: Any) -> int:
        self._arm()
        return self._sock.recv_into(buffer, *args)

    def send(self, data: bytes, *args: Any) -> int:
        self._arm()
        return self._sock.send(data, *args)


def bounded_file(server: Any, sock: socket.socket, mode: str, size: int) -> Any:
    """What a connection of this server is read from, or written to."""

    def seconds() -> float:
        return WRITE_TIME if "r" not in mode else READ_TIME if server.ready else 0.0

    return MakeFile(_Deadline(sock, seconds), mode, size)


class _Connection(HTTPConnection):
    def __init__(self, server: Any, sock: socket.socket, makefile: Any = None) -> None:
        super().__init__(server, sock, partial(bounded_file, server))


class Server(WsgiServer):
    ConnectionClass = _Connection
    max_request_header_size = LARGEST_HEADER
    max_request_body_size = LARGEST_BODY
    keep_alive_conn_limit = 0

    def __init__(self, at: Address, app: Wsgi, log: logging.Logger) -> None:
        self._log = log
        super().__init__(
            (at.host, at.port),
            app,
            numthreads=THREADS,
            server_name="ceph-mds-partitioner",
            request_queue_size=BACKLOG,
            timeout=int(READ_TIME),
            shutdown_timeout=1,
        )

    def clear_stats(self) -> None:
        """Without the entry by which cheroot keeps each server for ever, also one that cannot listen."""
        clear: Callable[[], None] = super().clear_stats
        clear()
        getattr(logging, "statistics", {}).pop(f"Cheroot HTTPServer {id(self)}", None)

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        """What clients do wrong is no news for the manager's log."""
        self._log.debug("http: %s", msg, exc_info=traceback)
