# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs inside a lab: clients of the endpoint, well-behaved and not, for a while; counts on standard output.

python3 hammer.py PORT SECONDS SCRAPERS PAUSE HOSTILE: so many scrapers, each with so many seconds between two
scrapes; so many hostile clients of each kind. Loopback only, and it ends by itself.
"""

import collections
import http.client
import json
import socket
import sys
import threading
import time
from collections.abc import Callable

ADDRESS = "127.0.0.1"


class Hammer:
    """The clients and what they saw."""

    def __init__(self, port: int, seconds: float) -> None:
        self.port, self.end = port, time.monotonic() + seconds
        self.counts: collections.Counter[str] = collections.Counter()
        self.times: list[float] = []
        self._lock = threading.Lock()

    def seen(self, what: str, seconds: float | None = None) -> None:
        """Count an outcome, and how long a good scrape took."""
        with self._lock:
            self.counts[what] += 1
            if seconds is not None:
                self.times.append(seconds)

    def until_the_end(self, act: Callable[[], None], kind: str, pause: float) -> None:
        """Act again and again."""
        while time.monotonic() < self.end:
            try:
                act()
            except (OSError, http.client.HTTPException) as e:
                self.seen(f"{kind}: {type(e).__name__}")
            time.sleep(pause)

    def ask(self, kind: str, method: str, path: str, body: bytes | None = None) -> None:
        """One request and its answer."""
        started = time.monotonic()
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=30)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            answer.read()
        finally:
            connection.close()
        good = kind == "scrape" and answer.status == 200
        self.seen(f"{kind}: {answer.status}", time.monotonic() - started if good else None)

    def scrape(self) -> None:
        """What Prometheus does."""
        self.ask("scrape", "GET", "/metrics")

    def drip(self) -> None:
        """A byte of a request every half second."""
        with socket.create_connection((ADDRESS, self.port), timeout=30) as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\n")
            try:
                for _ in range(60):
                    sock.sendall(b"X")
                    time.sleep(0.5)
            except OSError:
                self.seen("drip: cut off")

    def large(self) -> None:
        """A megabyte of header."""
        with socket.create_connection((ADDRESS, self.port), timeout=30) as sock:
            try:
                sock.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * (1 << 20))
                first = sock.recv(64).split(b"\r\n")[0].decode(errors="replace")
            except OSError:
                first = "cut off"
            self.seen(f"large: {first}")

    def unknown(self) -> None:
        """A path that is not there."""
        self.ask("unknown path", "GET", "/admin/../etc/passwd")

    def post(self) -> None:
        """A method that changes things elsewhere."""
        self.ask("post", "POST", "/metrics", b"x" * 1000)

    def silent(self) -> None:
        """Connected, and no word."""
        with socket.create_connection((ADDRESS, self.port), timeout=30) as sock:
            sock.recv(100)
        self.seen("silent: closed")


def main() -> None:
    """Run everybody."""
    port, seconds, scrapers, pause, hostile = (float(text) for text in sys.argv[1:6])
    hammer = Hammer(int(port), seconds)
    kinds: list[tuple[Callable[[], None], str, float]] = [(hammer.scrape, "scrape", pause)] * int(scrapers)
    for act in (hammer.drip, hammer.large, hammer.unknown, hammer.post, hammer.silent):
        kinds += [(act, act.__name__, 0.2)] * int(hostile)
    threads = [threading.Thread(target=hammer.until_the_end, args=kind) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"counts": dict(sorted(hammer.counts.items())), "scrape_seconds": hammer.times}))


main()
