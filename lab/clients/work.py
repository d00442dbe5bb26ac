# SPDX-License-Identifier: LGPL-2.1-or-later
"""The run: workers that take their job's operations one by one, and a line about them each second."""

import os
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import cephfs

from lab.clients.jobs.base import Job, Stopped
from lab.clients.jobs.churn import Churn
from lab.clients.jobs.dbench import Dbench
from lab.clients.jobs.mix import Mix
from lab.clients.jobs.programs import Programs
from lab.clients.jobs.scan import Scan
from lab.clients.jobs.weblog import WebLog
from lab.clients.latency import Recorder
from lab.clients.lines import say
from lab.clients.pace import Pace
from lab.clients.spec import JOBS, ClientSpec
from lab.clients.threads import join, start

_AFTER_ERROR_S = 0.05
_JOBS: tuple[type[Job], ...] = (Mix, Scan, WebLog, Dbench, Churn, Programs)
_KINDS = {job.__name__.lower(): job for job in _JOBS}
assert set(_KINDS) == set(JOBS)


def _reason(error: Any) -> str:
    """Why an operation failed, without its path: reasons are counted."""
    number = getattr(error, "errno", None)
    return os.strerror(abs(number)) if number else type(error).__name__


class Run:
    """One client's run."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int, stop: threading.Event) -> None:
        self._client = client
        self._stop = stop
        self._seed = seed
        self._recorder = Recorder()
        self._new_job: Callable[[], Job] = partial(_KINDS[client.job], fs, client, seed)
        self._job = self._new_job()
        self._began = time.monotonic()
        self._threads: list[threading.Thread] = []

    def run(self, seconds: float | None) -> bool:
        """Work until the job is done, the time is over, or stopped; False if a worker would not end."""
        self._job.begin()
        began, self._began = time.time(), time.monotonic()
        self._threads = start(self._work, self._client.workers)
        done = threading.Event()
        last = threading.Thread(target=self._finish, args=(done,), daemon=True)
        last.start()
        self._report(seconds, last)
        self._stop.set()
        complete = join([*self._threads, last], self._stop)
        ended = round(time.time(), 3) if done.is_set() else None
        say({"client": self._client.name, "began": round(began, 3), "ended": ended, **self._recorder.total()})
        return complete

    def _finish(self, done: threading.Event) -> None:
        while True:
            for thread in self._threads:
                thread.join()
            if self._stop.is_set():
                return
            for op, act in self._job.last():
                self._one(op, act)
            if not self._client.repeat:
                break
            self._job = self._new_job()
            self._job.begin()
            self._threads = start(self._work, self._client.workers)
        done.set()

    def _report(self, seconds: float | None, last: threading.Thread) -> None:
        started = previous = time.monotonic()
        end = None if seconds is None else started + seconds
        tick, over = 0, False
        while not over:
            tick += 1
            due = started + tick if end is None else min(started + tick, end)
            # Woken early by the end of the work: that is the completion time.
            while last.is_alive() and not self._stop.is_set() and time.monotonic() < due:
                last.join(min(0.1, max(0.0, due - time.monotonic())))
            # What was done until it was over has a line, too.
            now = time.monotonic()
            over = self._stop.is_set() or not last.is_alive() or (end is not None and now >= end)
            say(
                {
                    "client": self._client.name,
                    "t": round(time.time(), 3),
                    "seconds": round(now - previous, 3),
                    **self._recorder.take(),
                }
            )
            previous = now

    def _work(self, number: int) -> None:
        pace = Pace(self._client, self._began, random.Random(self._seed * 1_000_033 + number))
        for op, act in self._job.steps(number):
            if not pace.wait(self._stop):
                return
            self._one(op, act)

    def _one(self, op: str, act: Callable[[], object]) -> None:
        started = time.monotonic()
        try:
            act()
        except Stopped:
            return
        except cephfs.Error as e:
            self._recorder.failed(op, _reason(e))
            self._stop.wait(_AFTER_ERROR_S)
        else:
            self._recorder.done(op, time.monotonic() - started)
