# SPDX-License-Identifier: LGPL-2.1-or-later
"""The steps of the demo on the terminal, with the time of each."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from lab.progress import ConsoleProgress


class DemoConsole(ConsoleProgress):
    """The lab's progress, and steps that show something of their own meanwhile."""

    @property
    def rich(self) -> Console:
        """Where everything is shown."""
        return self._console

    def say(self, text: str) -> None:
        """Text as it is, with its line breaks."""
        self._console.print(Text(text), soft_wrap=True)

    def heading(self, text: str) -> None:
        """What comes next."""
        self._console.print()
        self._console.print(Text(text, style="bold cyan"))

    @contextmanager
    def shown(self, title: str) -> Iterator[None]:
        """A timed step without a spinner, for one that has a live display."""
        started = time.monotonic()
        yield
        self.times[title] = time.monotonic() - started
        self._finished(title, self.times[title])
