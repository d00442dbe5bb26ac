# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the story's chapters have in common."""

import time
from collections.abc import Callable
from typing import Any

from demo.console import DemoConsole
from demo.record import Record, Span
from demo.watch import News, Watch
from lab import module
from lab.api import Lab
from lab.clients.spec import LoadSpec
from lab.errors import LabError
from lab.waiting import until

START_S = 8.0
_POLL_S = 2.0


def until_working(record: Record, load: LoadSpec, wait: Callable[[float], Any]) -> None:
    """Return when every client of a load has done something; LabError if they end before."""
    names = {client.name for client in load.clients}

    def working() -> bool:
        now = time.time()
        return names <= {line["client"] for line in record.lines(Span(now - 60, now))}

    try:
        until(working, 60, "every client works")
    except LabError:
        wait(0.1)
        raise


def watched(console: DemoConsole, watch: Watch, title: str, news: News) -> Span:
    started = time.time()
    with console.shown(title):
        watch.until(news)
    return Span(started, time.time())


def poll(
    lab: Lab, command: str, while_state: str, patience: float, say: Callable[[dict[str, Any]], str]
) -> News:
    """Watch until the state that a command tells is another one, or patience is at its end."""
    deadline = time.monotonic() + patience
    asked = 0.0
    last = ("asking", False)

    def news() -> tuple[str, bool]:
        nonlocal asked, last
        if time.monotonic() - asked >= _POLL_S:
            asked = time.monotonic()
            answer = module.ask_or_none(lab, command)
            if answer is not None:
                # A plan may pause itself, and goes on by itself.
                last = (say(answer), answer["state"] not in (while_state, "paused"))
        return last[0], last[1] or time.monotonic() > deadline

    return news
