# SPDX-License-Identifier: LGPL-2.1-or-later
"""Steps, what they are doing, and the time each took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Records the steps; shows nothing."""

    times: dict[str, float] = field(default_factory=dict)
    """Seconds each finished step took."""

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """One timed step; its time is recorded only when it succeeds."""
        started = time.monotonic()
        with self._showing(title):
            yield
        self.times[title] = time.monotonic() - started
        self._finished(title, self.times[title])

    def detail(self, text: str) -> None:
        """What the current step is doing right now."""

    def note(self, text: str) -> None:
        """A sentence that the user must see."""

    @contextmanager
    def _showing(self, title: str) -> Iterator[None]:
        yield

    def _finished(self, title: str, seconds: float) -> None:
        pass


class ConsoleProgress(Progress):
    """Shows the steps on standard error: a spinner on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.status import Status

        self._console = Console(file=sys.stderr, highlight=False)
        self._status: Status | None = None
        self._title = ""

    def detail(self, text: str) -> None:
        if self._status is not None:
            from rich.markup import escape

            self._status.update(f"{self._title} [dim]{escape(text[-100:])}[/dim]")

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    @contextmanager
    def _showing(self, title: str) -> Iterator[None]:
        self._title = title
        with self._console.status(title) as self._status:
            yield
        self._status = None

    def _finished(self, title: str, seconds: float) -> None:
        self._console.print(f"{seconds:6.1f} s  {title}", markup=False, soft_wrap=True)
