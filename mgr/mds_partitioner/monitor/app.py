# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the endpoint answers: GET and HEAD of three paths, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .metrics import CONTENT_TYPE, active_metric, exposition, families
from .page import page, standby_page
from .state import LATE, Snapshot
from .stylesheet import STYLE

HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
METHODS = ("GET", "HEAD")
SLACK = 60.0  # s that an epoch may be overdue beside two more, where these are short

_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = (
    (
        "Content-Security-Policy",
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    ("Connection", "close"),
)


@dataclass(frozen=True)
class Response:
    """An answer without the headers that all have."""

    status: str
    kind: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def plain(status: str, text: str, *headers: tuple[str, str]) -> Response:
    """A line of text."""
    return Response(status, TEXT, f"{text}\n".encode(), headers)


Pages = Mapping[str, Callable[[], Response]]


class App:
    """A WSGI application over a few pages that take no arguments."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """WSGI (PEP 3333)."""
        response = self._answer(environ)
        start_response(
            response.status,
            [
                ("Content-Type", response.kind),
                ("Content-Length", str(len(response.body))),
                *response.headers,
                *HEADERS,
            ],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.body]

    def _answer(self, environ: Mapping[str, Any]) -> Response:
        if environ["REQUEST_METHOD"] not in METHODS:
            allowed = ", ".join(METHODS)
            return plain("405 Method Not Allowed", f"only {allowed}", ("Allow", allowed))
        if environ.get("CONTENT_LENGTH") not in (None, "", "0") or environ.get("HTTP_TRANSFER_ENCODING"):
            return plain("413 Content Too Large", "a request has no body here")
        make = self._pages.get(environ["PATH_INFO"])
        if make is None:
            return plain("404 Not Found", f"there is {', '.join(self._pages)}")
        return make()


class Once:
    """Renders each snapshot once, and once more when it is old, however many ask for it."""

    def __init__(
        self,
        newest: Callable[[], Snapshot],
        old: Callable[[], bool],
        render: Callable[[Snapshot, bool], bytes],
    ) -> None:
        self._newest, self._is_old, self._render = newest, old, render
        self._lock = threading.Lock()
        self._of: tuple[Snapshot, bool] | None = None
        self._made = b""

    def __call__(self) -> bytes:
        """The newest snapshot, rendered."""
        snapshot, old = self._newest(), self._is_old()
        with self._lock:
            if self._of is None or snapshot is not self._of[0] or old != self._of[1]:
                self._made, self._of = self._render(snapshot, old), (snapshot, old)
            return self._made


def active_app(newest: Callable[[], Snapshot], epoch: Callable[[], float], late: Callable[[], float]) -> App:
    """The active manager's answers. ``epoch``, and by how much the next is overdue, in seconds."""

    def old() -> bool:
        return late() > min(SLACK + 2 * epoch(), LATE)

    metrics = Once(newest, old, lambda snapshot, _: exposition(families(snapshot)))
    status = Once(newest, old, lambda snapshot, old: page(snapshot, epoch(), old=old).encode())

    def health() -> Response:
        if not newest().time or old():
            return plain("503 Service Unavailable", "no new snapshot")
        return plain("200 OK", "ok")

    return App(
        {
            "/": lambda: Response("200 OK", HTML, status()),
            "/metrics": lambda: Response("200 OK", CONTENT_TYPE, metrics()),
            "/healthz": health,
        }
    )


def standby_app(active_uri: Callable[[], str]) -> App:
    """A standby's answers: it knows nothing but where the active manager is."""
    idle = exposition([active_metric(False)])
    return App(
        {
            "/": lambda: Response("200 OK", HTML, standby_page(active_uri()).encode()),
            "/metrics": lambda: Response("200 OK", CONTENT_TYPE, idle),
            "/healthz": lambda: plain("200 OK", "standby"),
        }
    )
