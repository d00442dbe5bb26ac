# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where metrics and the status page are served: at the address that the options say, or nowhere.

The packages that they are made with may be missing: then nothing is served, and everything else works.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .options import Address
from .state import Snapshot

NEEDS = {"cheroot": "python3-cheroot", "prometheus_client": "python3-prometheus-client"}
LACKING = tuple(package for name, package in NEEDS.items() if importlib.util.find_spec(name) is None)

# Here, not when they are needed: what modules share is imported before this interpreter is kept apart.
if not LACKING:
    from .app import active_app, standby_app
    from .server import Server

if TYPE_CHECKING:
    from .server import Wsgi


@dataclass(frozen=True)
class Failed:
    """Where the endpoint was to listen, why it does not, and which packages it would need."""

    at: Address
    why: str
    lacks: tuple[str, ...] = ()


class Endpoint:
    """Listens where it is told to, or nowhere. Called from one thread; ``shutdown`` from any."""

    def __init__(self, app: Wsgi | None, log: logging.Logger) -> None:
        """``app``: what to answer with; None where packages are missing."""
        self._app, self._log = app, log
        self._server: Any = None
        self._wanted: Address | None = None
        self._failed: Failed | None = None
        self._lock = threading.Lock()  # of the server and the end; never held while one starts or stops
        self._ended = False

    @property
    def address(self) -> Address | None:
        """Where it listens now."""
        return self._wanted if self._server is not None else None

    @property
    def failed(self) -> Failed | None:
        """Why it does not listen where it is told to; None when it does."""
        return self._failed

    def apply(self, wanted: Address | None) -> bool:
        """Listen there; has anything changed? A port in use is tried again with the next call."""
        if self._ended or (wanted == self.address and self._failed is None):
            return False
        self._stop()
        self._wanted = wanted
        self._failed = None if wanted is None else self._start(wanted)
        return True

    def shutdown(self) -> None:
        """Stop listening for good. What is just about to listen, and waits for a name server perhaps, is not
        waited for: it stops by itself."""
        with self._lock:
            self._ended = True
        self._stop()

    def _start(self, at: Address) -> Failed | None:
        if self._app is None:
            return self._tell(Failed(at, f"this host lacks {', '.join(LACKING)}", LACKING))
        server = Server(at, self._app, self._log)
        try:
            server.prepare()
        # A name that cannot be one is a UnicodeError, a port that cannot, an OverflowError.
        except (OSError, ValueError, OverflowError) as e:
            return self._tell(Failed(at, str(e)))
        with self._lock:
            listens = not self._ended
            self._server = server if listens else None
        if not listens:
            server.stop()
            return None
        threading.Thread(target=server.serve, name="mds_partitioner-http", daemon=True).start()
        self._log.info("serving metrics on %s port %d", at.host, at.port)
        return None

    def _tell(self, failed: Failed) -> Failed:
        if failed != self._failed:
            at = failed.at
            self._log.error("cannot serve metrics on %s port %d: %s", at.host, at.port, failed.why)
        return failed

    def _stop(self) -> None:
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.stop()


def of_active(
    newest: Callable[[], Snapshot],
    epoch: Callable[[], float],
    late: Callable[[], float],
    log: logging.Logger,
) -> Endpoint:
    """The active manager's. ``epoch``, and by how much the next is overdue, in seconds."""
    return Endpoint(None if LACKING else active_app(newest, epoch, late), log)


def of_standby(active_uri: Callable[[], str], log: logging.Logger) -> Endpoint:
    """A standby's, which shows the way to the active manager."""
    return Endpoint(None if LACKING else standby_app(active_uri), log)
