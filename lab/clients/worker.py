# SPDX-License-Identifier: LGPL-2.1-or-later
"""One client, inside the sandbox: mounts, prepares or runs its load, and always unmounts.

Standard input: one JSON line {"client", "fs", "seed", "seconds", "prepare"}; its end is an order to stop.
Standard output: a JSON line a second (a run) or one (a preparation).
"""

import contextlib
import itertools
import json
import math
import os
import random
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import cephfs

from lab.clients.latency import Recorder
from lab.clients.popularity import Popularity
from lab.clients.spec import OPS, ClientSpec

_PREPARERS = 8
_STOP_S = 30.0
_UNMOUNT_S = 20.0
_WORKER = "worker-"
_AFTER_ERROR_S = 0.05


def directory(number: int) -> str:
    """Path of a prepared directory below the mount."""
    return f"/d{number:04d}"


def path_of(client: ClientSpec, number: int) -> str:
    """Path of a prepared file below the mount: neighbours by number are in different directories."""
    return f"{directory(number % client.dirs)}/f{number // client.dirs:05d}"


def path_in_scan(client: ClientSpec, turn: int) -> str:
    """Path of the file whose turn it is when one directory is read after the other."""
    return path_of(client, turn % client.files * client.dirs + turn // client.files)


def _say(line: dict[str, Any]) -> None:
    # One write a line: all clients of a set share the pipe, and short writes do not mix.
    # When nobody reads any more, there is still an unmount to come to.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(line).encode() + b"\n")


def _reason(error: Any) -> str:
    """Why an operation failed, without its path: reasons are counted."""
    number = getattr(error, "errno", None)
    return os.strerror(abs(number)) if number else type(error).__name__


def _start(work: Callable[[int], None], count: int) -> list[threading.Thread]:
    """Start workers, each with its number."""
    threads = [
        threading.Thread(target=work, args=(k,), name=f"{_WORKER}{k}", daemon=True) for k in range(count)
    ]
    for thread in threads:
        thread.start()
    return threads


def _join(threads: list[threading.Thread], stop: threading.Event) -> bool:
    """Wait for workers, but not for ever once they were told to stop; False if one is stuck."""
    deadline = math.inf
    for thread in threads:
        while thread.is_alive():
            if stop.is_set():
                deadline = min(deadline, time.monotonic() + _STOP_S)
            if time.monotonic() > deadline:
                return False
            thread.join(0.1)
    return True


class Prepare:
    """Makes the client's tree."""

    def __init__(self, fs: Any, client: ClientSpec, stop: threading.Event) -> None:
        self._fs = fs
        self._client = client
        self._stop = stop
        self._failures: list[str] = []

    def run(self) -> bool:
        """Make what is missing; False when stopped or failed."""
        started = time.monotonic()
        for number in range(self._client.dirs):
            with contextlib.suppress(cephfs.ObjectExists):
                self._fs.mkdir(directory(number), 0o755)
        complete = _join(_start(self._fill, _PREPARERS), self._stop)
        total = self._client.dirs * self._client.files
        line = {
            "client": self._client.name,
            "prepared": total,
            "seconds": round(time.monotonic() - started, 3),
        }
        _say({**line, "errors": self._failures} if self._failures else line)
        return complete and not self._failures and not self._stop.is_set()

    def _fill(self, start: int) -> None:
        content = self._content()
        for number in range(start, self._client.dirs * self._client.files, _PREPARERS):
            if self._stop.is_set():
                return
            try:
                fd = self._fs.open(path_of(self._client, number), os.O_CREAT | os.O_WRONLY, 0o644)
                if content:
                    self._fs.write(fd, content, 0)
                self._fs.close(fd)
            except cephfs.Error as e:
                self._failures.append(str(e))
                return

    def _content(self) -> bytes:
        return random.Random(self._client.name).randbytes(self._client.size)


class _ScannedError(Exception):
    """Every file has been read."""


class Run:
    """The load: closed-loop workers."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int, stop: threading.Event) -> None:
        self._fs = fs
        self._client = client
        self._seed = seed
        self._stop = stop
        self._recorder = Recorder()
        self._popularity = Popularity(client.dirs * client.files, client.used_files, client.zipf, seed)
        self._turns = itertools.count()
        self._ops: dict[str, Callable[[random.Random, deque[str], str], None]] = {
            "create": self._create,
            "stat": self._stat,
            "open": self._open,
            "readdir": self._readdir,
            "unlink": self._unlink,
            "scan": self._scan,
        }

    def run(self, seconds: float | None) -> bool:
        """Work until stopped or the time is over; False if a worker would not end."""
        threads = _start(self._work, self._client.workers)
        self._report(seconds, threads)
        self._stop.set()
        return _join(threads, self._stop)

    def _report(self, seconds: float | None, threads: list[threading.Thread]) -> None:
        started = last = time.monotonic()
        end = None if seconds is None else started + seconds
        tick = 0
        while not self._stop.is_set() and (end is None or last < end) and any(t.is_alive() for t in threads):
            tick += 1
            due = started + tick if end is None else min(started + tick, end)
            self._stop.wait(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            _say(
                {
                    "client": self._client.name,
                    "t": round(time.time(), 3),
                    "seconds": round(now - last, 3),
                    **self._recorder.take(),
                }
            )
            last = now

    def _work(self, number: int) -> None:
        rng = random.Random(self._seed * 1_000_003 + number)
        mix = [(op, weight) for op, weight in self._client.mix.items() if weight > 0]
        names, weights = [op for op, _ in mix], [weight for _, weight in mix]
        made: deque[str] = deque()
        # The process id keeps the names of an earlier run's files out of the way.
        prefix = f"n{os.getpid()}-{number}"
        pace = Pace(self._client.rate, self._client.workers, rng)
        while pace.wait(self._stop):
            op = rng.choices(names, weights)[0]
            if op == "unlink" and not made:
                if "create" not in names:
                    return
                op = "create"
            try:
                self._one(op, rng, made, prefix)
            except _ScannedError:
                return

    def _one(self, op: str, rng: random.Random, made: deque[str], prefix: str) -> None:
        started = time.monotonic()
        try:
            self._ops[op](rng, made, prefix)
        except cephfs.Error as e:
            self._recorder.failed(op, _reason(e))
            self._stop.wait(_AFTER_ERROR_S)
        else:
            self._recorder.done(op, time.monotonic() - started)

    def _pick(self, rng: random.Random) -> str:
        return path_of(self._client, self._popularity.draw(rng))

    def _create(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        path = f"{directory(rng.randrange(self._client.dirs))}/{prefix}-{rng.getrandbits(48):012x}"
        self._fs.close(self._fs.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        made.append(path)

    def _stat(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        self._fs.stat(self._pick(rng))

    def _open(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        self._fs.close(self._fs.open(self._pick(rng), os.O_RDONLY, 0o644))

    def _scan(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        turn = next(self._turns)
        if turn >= self._client.dirs * self._client.files:
            raise _ScannedError
        self._fs.close(self._fs.open(path_in_scan(self._client, turn), os.O_RDONLY, 0o644))

    def _readdir(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        handle = self._fs.opendir(self._pick(rng).rpartition("/")[0])
        try:
            while self._fs.readdir(handle) is not None:
                pass
        finally:
            self._fs.closedir(handle)

    def _unlink(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        path = made.popleft()
        try:
            self._fs.unlink(path)
        except cephfs.ObjectNotFound:
            raise
        except cephfs.Error:
            made.append(path)
            raise


class Pace:
    """Keeps one of several workers at its share of a rate."""

    def __init__(self, rate: float | None, workers: int, rng: random.Random) -> None:
        self._gap = 0.0 if rate is None else workers / rate
        self._next = time.monotonic() + rng.random() * self._gap

    def wait(self, stop: threading.Event) -> bool:
        """Wait until the next operation is due; False when it is time to stop."""
        if self._gap:
            # Time lost to slow answers is not made up for by a burst.
            self._next = max(self._next + self._gap, time.monotonic())
            stop.wait(self._next - time.monotonic())
        return not stop.is_set()


def _mount(order: dict[str, Any], client: ClientSpec) -> Any:
    fs = cephfs.LibCephFS(auth_id="load", conffile="/etc/ceph/ceph.conf")
    fs.conf_set("client_cache_size", str(client.cached))
    fs.mount(mount_root=client.path.encode(), filesystem_name=order["fs"].encode())
    return fs


def _unmount(fs: Any) -> bool:
    """Unmount, unless an MDS that does not answer makes that impossible."""
    if any(thread.name.startswith(_WORKER) and thread.is_alive() for thread in threading.enumerate()):
        return False
    unmount = threading.Thread(target=fs.shutdown, daemon=True)
    unmount.start()
    unmount.join(_UNMOUNT_S)
    return not unmount.is_alive()


def _watch_input(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


def main() -> int:
    """Run one client; the exit status."""
    stop = threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: stop.set())
    order = json.loads(sys.stdin.readline())
    client = ClientSpec(**order["client"])
    threading.Thread(target=_watch_input, args=(stop,), daemon=True).start()
    try:
        fs = _mount(order, client)
    except cephfs.Error as e:
        _say({"client": client.name, "failed": f"mount of {client.path}: {e}"})
        return 1
    fine = False
    try:
        if order["prepare"]:
            fine = Prepare(fs, client, stop).run()
        else:
            fine = Run(fs, client, client.seed_in(order["seed"]), stop).run(order["seconds"])
    except cephfs.Error as e:
        _say({"client": client.name, "failed": str(e)})
    if not _unmount(fs):
        _say({"client": client.name, "failed": "the file system does not answer, so it is not unmounted"})
        # Threads are stuck in the library: an orderly exit would wait for them.
        os._exit(1)
    return 0 if fine else 1


assert set(OPS) == {"create", "stat", "open", "readdir", "unlink", "scan"}

if __name__ == "__main__":
    sys.exit(main())
