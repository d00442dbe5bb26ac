# SPDX-License-Identifier: LGPL-2.1-or-later
"""The endpoint answers GET and HEAD of three paths, quickly, and nothing else, whatever is sent to it."""

from __future__ import annotations

import http.client
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from monitor_snapshots import snapshot

from mds_partitioner import module
from mds_partitioner.module import StandbyModule
from mds_partitioner.monitor import endpoint as endpoints
from mds_partitioner.monitor.app import SLACK, Once, active_app, standby_app
from mds_partitioner.monitor.endpoint import Endpoint
from mds_partitioner.monitor.health import ENDPOINT_DOWN, endpoint_down
from mds_partitioner.monitor.options import Address
from mds_partitioner.monitor.server import LARGEST_HEADER, THREADS, Server, bounded_file
from mds_partitioner.monitor.state import LATE, Snapshot

EPOCH = 10.0
PATIENCE = 60.0  # s, far beyond what the server waits for a client
LOG = logging.getLogger("test")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class Holder:
    """The newest snapshot, and by how much, s, the next is overdue."""

    late = 0.0

    def __init__(self) -> None:
        self.newest = replace(snapshot(), time=time.time())

    def __call__(self) -> Snapshot:
        return self.newest


@pytest.fixture
def holder() -> Holder:
    return Holder()


@pytest.fixture
def port(holder: Holder) -> Iterator[int]:
    endpoint = Endpoint(active_app(holder, lambda: EPOCH, lambda: holder.late), LOG)
    number = free_port()
    endpoint.apply(Address("127.0.0.1", number))
    yield number
    endpoint.shutdown()


def ask(port: int, method: str, path: str, **more: object) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, **more)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def raw(port: int, data: bytes, seconds: float = PATIENCE) -> bytes:
    """What comes back for these bytes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as sock:
        sock.sendall(data)
        parts = []
        while part := sock.recv(65536):
            parts.append(part)
        return b"".join(parts)


def test_the_three_paths_answer_get_and_head(port: int) -> None:
    for path, kind in (("/", "text/html"), ("/metrics", "text/plain"), ("/healthz", "text/plain")):
        status, headers, body = ask(port, "GET", path)
        assert (status, headers["content-type"].split(";")[0]) == (200, kind)
        assert len(body) == int(headers["content-length"]) > 0
        status, head, nothing = ask(port, "HEAD", path)
        assert (status, nothing, head["content-length"]) == (200, b"", headers["content-length"])


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "FOO"])
@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/nothing"])
def test_no_other_method_is_answered(port: int, method: str, path: str) -> None:
    answer = raw(port, f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ")[1] in (b"405", b"400"), answer[:200]


@pytest.mark.parametrize("path", ["/x", "/metrics/", "/../etc/passwd", "/%2e%2e/etc/passwd", "/metrics%00"])
def test_no_other_path_is_answered(port: int, path: str) -> None:
    assert ask(port, "GET", path)[0] in (400, 404)


def test_what_is_too_large_is_refused(port: int) -> None:
    assert ask(port, "GET", "/metrics", headers={"X": "a" * 2 * LARGEST_HEADER})[0] == 413
    assert ask(port, "GET", "/" + "a" * 2 * LARGEST_HEADER)[0] in (413, 414)
    assert ask(port, "GET", "/metrics", body=b"a" * 100_000)[0] == 413
    chunked = (
        b"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"5\r\naaaaa\r\n" * 100
    )
    assert b" 413 " in raw(port, chunked).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "garbage",
    [b"\x00" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n"],
)
def test_what_is_not_http_gets_an_error_and_the_next_client_its_answer(port: int, garbage: bytes) -> None:
    answer = raw(port, garbage)
    assert not answer.startswith(b"HTTP/1.1 200")
    assert ask(port, "GET", "/metrics")[0] == 200


def test_a_client_that_drips_is_cut_off(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n")
        closed = threading.Event()

        def drip() -> None:
            while not closed.wait(0.2):
                try:
                    sock.sendall(b"X")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            answer = sock.recv(65536)  # without a deadline of the server's it would drip for ever
        finally:
            closed.set()
            thread.join()
    assert b" 200 " not in answer[:20]


def test_slow_clients_do_not_keep_a_scrape_waiting_for_long(port: int) -> None:
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(2 * THREADS)]
    try:
        # All threads are taken: it can be answered only because the silent ones are given up.
        assert ask(port, "GET", "/metrics")[0] == 200
    finally:
        for sock in silent:
            sock.close()


@pytest.mark.parametrize("ready", [True, False])
def test_a_server_that_is_to_stop_reads_no_request_any_more(ready: bool) -> None:
    """Of those that connected and wait for a worker each would be waited for."""
    client, sock = socket.socketpair()
    with client, sock:
        client.sendall(b"GET")
        file = bounded_file(SimpleNamespace(ready=ready), sock, "rb", 3)
        if ready:
            assert file.read(3) == b"GET"
        else:
            with pytest.raises(TimeoutError):
                file.read(3)


def test_many_scrapes_at_once_get_the_same_answer(port: int) -> None:
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: ask(port, "GET", "/metrics"), range(200)))
    assert {status for status, _, _ in answers} == {200}
    assert len({body for _, _, body in answers}) == 1


def test_a_snapshot_is_rendered_once(holder: Holder) -> None:
    rendered: list[tuple[Snapshot, bool]] = []

    def render(one: Snapshot, old: bool) -> bytes:
        rendered.append((one, old))
        return b"x"

    once = Once(holder, lambda: holder.late > 0.0, render)
    once(), once()
    assert len(rendered) == 1
    holder.newest = replace(holder.newest, time=1.0)
    once()
    assert len(rendered) == 2
    holder.late = 1.0
    once(), once()
    assert [old for _, old in rendered] == [False, False, True]


def test_every_answer_forbids_scripts_and_outside_resources(port: int) -> None:
    for path in ("/", "/metrics", "/healthz", "/nothing"):
        _, headers, _ = ask(port, "GET", path)
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_health_tells_when_the_snapshots_stop(port: int, holder: Holder) -> None:
    assert ask(port, "GET", "/healthz")[0] == 200
    assert b"These numbers are old" not in ask(port, "GET", "/")[2]
    holder.late = SLACK + 2 * EPOCH + 1
    assert ask(port, "GET", "/healthz")[0] == 503
    assert b"These numbers are old" in ask(port, "GET", "/")[2]
    holder.late, holder.newest = 0.0, replace(holder.newest, time=0.0)
    assert ask(port, "GET", "/healthz")[0] == 503, "the first has not ended"


@pytest.mark.parametrize("epoch", [120.0, 800.0, 86_400.0])
def test_health_does_not_wait_for_more_epochs_where_these_are_long(holder: Holder, epoch: float) -> None:
    app, started = active_app(holder, lambda: epoch, lambda: holder.late), list[str]()
    for holder.late in (LATE, LATE + 1):
        app({"REQUEST_METHOD": "GET", "PATH_INFO": "/healthz"}, lambda status, _: started.append(status))
    assert [status[:3] for status in started] == ["200", "503"]


def test_the_endpoint_moves_and_stops_with_the_options() -> None:
    endpoint = Endpoint(standby_app(lambda: "http://active:9927/"), LOG)
    first, second = Address("127.0.0.1", free_port()), Address("127.0.0.1", free_port())
    assert endpoint.apply(first) and not endpoint.apply(first)
    assert ask(first.port, "GET", "/healthz")[2] == b"standby\n"
    assert endpoint.apply(second)
    assert b"http://active:9927/" in ask(second.port, "GET", "/")[2]
    with pytest.raises(OSError):
        ask(first.port, "GET", "/")
    assert endpoint.apply(None) and endpoint.address is None
    with pytest.raises(OSError):
        ask(second.port, "GET", "/")
    endpoint.shutdown()
    assert not endpoint.apply(first)


def test_a_port_in_use_is_told_and_tried_again() -> None:
    endpoint = Endpoint(standby_app(lambda: ""), LOG)
    with socket.create_server(("127.0.0.1", 0)) as other:
        wanted = Address("127.0.0.1", int(other.getsockname()[1]))
        endpoint.apply(wanted)
        assert endpoint.address is None
        assert endpoint.failed is not None and endpoint.failed.at == wanted
        (check,) = endpoint_down(endpoint.failed, "x")
        assert check.code == ENDPOINT_DOWN
        assert f"mgr.x cannot listen on 127.0.0.1 port {wanted.port}" in check.detail[0]
        assert "Address already in use" in check.detail[0]
        assert "ceph config set mgr mgr/mds_partitioner/x/server_port" in check.detail[0]
    assert endpoint.apply(wanted) and endpoint.address == wanted
    assert endpoint_down(endpoint.failed, "x") == []
    endpoint.shutdown()


@pytest.mark.parametrize(
    ("host", "port"),
    [("192.0.2.1", 9927), ("no such host", 9927), ("10.0.0..1", 9927), ("a" * 64, 9927), ("::1", 99270)],
)
def test_an_address_that_is_not_here_is_told_until_the_endpoint_is_switched_off(host: str, port: int) -> None:
    endpoint = Endpoint(standby_app(lambda: ""), LOG)
    endpoint.apply(Address(host, port))
    assert endpoint.failed is not None and endpoint.failed.why
    endpoint.apply(None)
    assert endpoint.failed is None
    endpoint.shutdown()


def test_an_end_does_not_wait_for_the_name_of_a_host_and_nothing_listens_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, answered, calls = threading.Event(), threading.Event(), list[str]()

    class Server:
        """A name server is silent."""

        def __init__(self, *_: object) -> None:
            pass

        def prepare(self) -> None:
            asked.set()
            assert answered.wait(PATIENCE)

        def serve(self) -> None:
            calls.append("serve")

        def stop(self) -> None:
            calls.append("stop")

    monkeypatch.setattr(endpoints, "Server", Server)
    endpoint = Endpoint(standby_app(lambda: ""), LOG)
    with ThreadPoolExecutor(2) as pool:
        try:
            begun = pool.submit(endpoint.apply, Address("slow.example", 9927))
            assert asked.wait(PATIENCE)
            pool.submit(endpoint.shutdown).result(PATIENCE / 3)
        finally:
            answered.set()
        assert begun.result(PATIENCE)
    assert (calls, endpoint.address) == (["stop"], None)


def test_a_standby_goes_on_whatever_becomes_of_its_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    standby, ended, tried = StandbyModule.__new__(StandbyModule), threading.Event(), list[int]()

    class Broken:
        def apply(self, wanted: object) -> bool:
            """The second time it is over."""
            tried.append(1)
            if len(tried) > 1:
                ended.set()
            raise KeyError("nobody expected it")

    monkeypatch.setattr(module, "STANDBY_TICK", 0.001)
    monkeypatch.setattr(Address, "read", lambda _: None)
    made: Any = {"_ended": ended, "endpoint": Broken(), "log": LOG}
    vars(standby).update(made)
    standby.serve()
    assert len(tried) == 2


WITHOUT_ITS_PACKAGES = """
import logging, sys
sys.modules["cheroot"] = sys.modules["prometheus_client"] = None
from mds_partitioner.module import Module, StandbyModule
from mds_partitioner.monitor import endpoint
from mds_partitioner.monitor.health import endpoint_down
from mds_partitioner.monitor.options import Address
assert Module.can_run() == (True, ""), Module.can_run()
ours = endpoint.of_active(lambda: None, lambda: 5.0, lambda: 0.0, logging.getLogger())
assert ours.apply(Address("::", 9927)) and ours.address is None
print(endpoint_down(ours.failed, "x")[0].detail[0])
endpoint.of_standby(lambda: "", logging.getLogger()).apply(None)
"""


def test_without_its_packages_the_module_works_and_says_what_to_install() -> None:
    code = WITHOUT_ITS_PACKAGES
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "install python3-cheroot python3-prometheus-client (Debian's names; elsewhere see" in done.stdout
    assert "mgr/mds_partitioner/metrics false" in done.stdout


def test_no_server_is_kept_that_is_not_used_any_more() -> None:
    """cheroot remembers each in logging.statistics."""
    kept = getattr(logging, "statistics", {})
    before = {name for name in kept if name.startswith("Cheroot")}
    servers = [Server(Address("127.0.0.1", 0), lambda *_: [], logging.getLogger("test")) for _ in range(3)]
    known = {name for name in getattr(logging, "statistics", {}) if name.startswith("Cheroot")}
    assert known == before and len(servers) == 3
