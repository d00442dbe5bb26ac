# SPDX-License-Identifier: LGPL-2.1-or-later
"""``ceph tell mds.NAME``: names need not be UTF-8, and neither release hands such an answer to a module."""

from __future__ import annotations

import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cephfs
import pytest

from mds_partitioner.ceph import compat
from mds_partitioner.ceph.compat import Connections, MdsCommands
from mds_partitioner.errors import CephError, Unavailable
from mds_partitioner.observe.sessions import parse_sessions

ROOT = b"/volumes/_nogroup/\xff\xe9"
TEXT = "/volumes/_nogroup/\udcff\udce9"
SESSION = b'[{"id": 7, "entity": {"addr": {"addr": "1.2.3.4:0", "nonce": 1}}, "num_caps": 3, '
SESSION += b'"request_load_avg": 2, "uptime": 60.5, "client_metadata": {"root": "' + ROOT + b'"}}]'


class Mds:
    """What MDSs answer, in bytes; ``hang``: nothing, until it is over."""

    def __init__(self, out: bytes = SESSION, code: int = 0, message: bytes = b"") -> None:
        self.code, self.out, self.message = code, out, message
        self.asked: list[bytes] = []
        self.hang: threading.Event | None = None

    def answer(self, command: bytes) -> tuple[int, bytes, bytes]:
        self.asked.append(command)
        return self.code, self.out, self.message


class Tentacle:
    """Its mgr_module has an unmounted libcephfs, whose completions get bytes."""

    rados = object()

    def __init__(self, mds: Mds) -> None:
        self._mds = mds

    @property
    def cephfs(self) -> Tentacle:
        return self

    def mds_command2(self, result: Any, mds: str, command: bytes) -> None:
        if self._mds.hang is None:
            result.complete(*self._mds.answer(command))


class Reef:
    """Its C++ makes text of an answer; with one that is not UTF-8 the completion is never called."""

    rados = object()

    def __init__(self, mds: Mds) -> None:
        self.mds, self.as_text = mds, 0

    def send_command(self, result: Any, kind: str, name: str, command: str, tag: str) -> None:
        self.as_text += 1
        if self.mds.hang is not None:
            return
        code, out, message = self.mds.answer(command.encode())
        with contextlib.suppress(UnicodeDecodeError):
            result.complete(code, out.decode(), message.decode())


@pytest.fixture
def mds() -> Mds:
    return Mds()


@pytest.fixture
def reef(mds: Mds, monkeypatch: pytest.MonkeyPatch) -> Reef:
    class LibCephFS:
        """Unmounted; waits for the answer."""

        def __init__(self, rados_inst: object) -> None:
            assert rados_inst is Reef.rados

        def init(self) -> None: ...

        def mds_command(self, name: str, command: bytes, inbuf: bytes) -> tuple[int, bytes, str]:
            if mds.hang is not None:
                assert mds.hang.wait(60)
            code, out, message = mds.answer(command)
            return code, out, message.decode()

    monkeypatch.setattr(cephfs, "LibCephFS", LibCephFS, raising=False)
    monkeypatch.setattr(compat, "TEXT_TIMEOUT", 0.0)
    return Reef(mds)


def of(module: Any) -> MdsCommands:
    return MdsCommands(module, Connections(module))


@pytest.fixture(params=["tentacle", "reef"])
def commands(request: pytest.FixtureRequest, mds: Mds, reef: Reef) -> MdsCommands:
    return of(reef if request.param == "reef" else Tentacle(mds))


def test_a_session_mounted_at_a_path_that_is_not_utf8_is_read(commands: MdsCommands) -> None:
    answer = commands.tell("a", {"prefix": "session ls"}, 60)
    (session,) = parse_sessions(0, json.loads(answer), ())
    assert (session.root, session.caps) == (TEXT, 3)


def test_a_path_that_is_not_utf8_is_sent_as_its_bytes(commands: MdsCommands, mds: Mds) -> None:
    commands.tell("a", {"prefix": "dump dir", "path": TEXT}, 60)
    assert mds.asked == [b'{"prefix": "dump dir", "path": "' + ROOT + b'"}']


def test_a_character_above_the_16_bits_is_sent_as_it_is(commands: MdsCommands, mds: Mds) -> None:
    mds.out = b"[]"
    commands.tell("a", {"prefix": "dump dir", "path": "/\U0001f40d"}, 60)
    assert mds.asked == ['{"prefix": "dump dir", "path": "/\U0001f40d"}'.encode()]


def test_a_refusal_comes_with_the_mdss_words(commands: MdsCommands, mds: Mds) -> None:
    mds.code, mds.out, mds.message = -2, b"", b"dir not found"
    with pytest.raises(CephError, match=r"mds\.a: dump dir: dir not found") as caught:
        commands.tell("a", {"prefix": "dump dir", "path": "/x"}, 60)
    assert caught.value.code == 2


def test_an_mds_that_hangs_is_given_up(commands: MdsCommands, mds: Mds) -> None:
    mds.hang = threading.Event()
    with pytest.raises(Unavailable, match=r"mds\.a did not answer 'session ls' within 0 s"):
        commands.tell("a", {"prefix": "session ls"}, 0)
    mds.hang.set()


def test_on_reef_a_hung_mds_holds_one_thread_however_often_it_is_asked(reef: Reef, mds: Mds) -> None:
    commands = of(reef)
    mds.hang = threading.Event()
    before = threading.active_count()
    for _ in range(5):
        with pytest.raises(Unavailable):
            commands.tell("a", {"prefix": "session ls"}, 0)
    assert threading.active_count() <= before + 1
    mds.hang.set()


def test_on_reef_an_answer_that_was_not_utf8_is_asked_for_as_bytes_the_next_time(
    reef: Reef, mds: Mds
) -> None:
    commands = of(reef)
    for _ in range(3):
        commands.tell("a", {"prefix": "session ls"}, 60)
    assert reef.as_text == 1
    mds.out = b"[]"
    for _ in range(3):
        commands.tell("a", {"prefix": "session ls"}, 60)
    assert reef.as_text == 3


def test_on_reef_questions_in_bytes_to_one_mds_take_turns(
    reef: Reef, mds: Mds, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands, waiting = of(reef), threading.Semaphore(0)

    class Awaited(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waiting.release()
            return super().wait(timeout)

    class Answer(compat.MdsAnswer):
        def __init__(self) -> None:
            super().__init__()
            self.there = Awaited()

    monkeypatch.setattr(compat, "MdsAnswer", Answer)
    mds.hang = threading.Event()
    with ThreadPoolExecutor(3) as pool:
        futures = [
            pool.submit(commands.tell, "a", {"prefix": "dump dir", "path": f"{TEXT}{i}"}, 10)
            for i in range(3)
        ]
        for _ in futures:
            assert waiting.acquire(timeout=60)
        mds.hang.set()
        assert [future.result(60) for future in futures] == [SESSION.decode(errors="surrogateescape")] * 3
    assert len(mds.asked) == 3


def test_on_reef_what_nobody_waits_for_any_more_is_not_asked(reef: Reef, mds: Mds) -> None:
    commands = of(reef)
    mds.hang = threading.Event()
    for path in "abc":
        with pytest.raises(Unavailable):
            commands.tell("a", {"prefix": "dump dir", "path": TEXT + path}, 0.01)
    mds.hang.set()
    commands.tell("a", {"prefix": "dump dir", "path": TEXT}, 60)
    assert mds.asked[-1].endswith(b'\xe9"}') and len(mds.asked) <= 2


def test_on_reef_an_mds_that_has_died_is_asked_when_one_of_its_name_is_there(
    reef: Reef, mds: Mds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libcephfs never gives up what it has asked the one before."""
    asked = threading.Event()

    class Died(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            asked.set()
            return super().wait()

    commands, died = of(reef), Died()
    mds.hang = died
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(commands.tell, "a", {"prefix": "dump dir", "path": TEXT}, 600)
        assert asked.wait(60)
        mds.hang = None
        try:
            with pytest.raises(Unavailable):
                commands.tell("a", {"prefix": "dump dir", "path": TEXT}, 0.01)
            monkeypatch.setattr(compat, "GONE", -1000.0)
            assert commands.tell("a", {"prefix": "dump dir", "path": TEXT}, 60)
        finally:
            died.set()
        assert first.result(60)


class Opening:
    """A module whose librados hangs until it is let, and fails as often as it is told to."""

    def __init__(self, fails: int = 0) -> None:
        self.begun, self.go = threading.Semaphore(0), threading.Event()
        self.times, self.fails = 0, fails

    @property
    def rados(self) -> int:
        self.times += 1
        self.begun.release()
        assert self.go.wait(60)
        if self.times <= self.fails:
            raise cephfs.Error("no mon")
        return self.times


def test_a_handle_is_opened_once_by_whoever_comes_first() -> None:
    module: Any = Opening()
    connections = Connections(module)
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(connections.rados) for _ in range(4)]
        assert module.begun.acquire(timeout=60)
        module.go.set()
        assert [future.result(60) for future in futures] == [1] * 4


def test_a_handle_that_cannot_be_opened_is_tried_again_by_the_next() -> None:
    module: Any = Opening(fails=1)
    module.go.set()
    connections = Connections(module)
    with pytest.raises(cephfs.Error):
        connections.rados()
    assert connections.rados() == connections.rados() == 2


def test_no_module_waits_for_another_ones_handle() -> None:
    hangs: Any = Opening()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(Connections(hangs).rados)
        assert hangs.begun.acquire(timeout=60)
        other: Any = Opening()
        other.go.set()
        assert Connections(other).rados() == 1
        hangs.go.set()
