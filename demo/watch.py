# SPDX-License-Identifier: LGPL-2.1-or-later
"""The live display: IF, and op/s and load of each rank, from the module's own command."""

import time
from collections.abc import Callable
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from demo.record import Moment, Record, Span, moment
from experiments.common.figures.factor import THRESHOLD
from lab import module
from lab.api import Lab

_TICK_S = 0.5
_ASK_S = 2.0
_LINE_S = 5.0
_RECENT_S = 3.0
_BAR = 40


class News(Protocol):
    """What else there is to show, and whether the watching is over."""

    def __call__(self) -> tuple[str, bool]:
        """A sentence, and True at the end."""


def for_seconds(seconds: float, what: str) -> News:
    """Watch for so long."""
    end = time.monotonic() + seconds

    def news() -> tuple[str, bool]:
        left = max(0.0, end - time.monotonic())
        return f"{what}, {left:.0f} s left", left == 0.0

    return news


def _factor(moment: Moment) -> str:
    return "unknown" if moment.factor is None else f"{moment.factor:.3f}"


class Watch:
    """Samples the ranks and shows them: a table on a terminal, a line now and then elsewhere."""

    def __init__(self, lab: Lab, record: Record, console: Console) -> None:
        self._lab, self._record, self._console = lab, record, console

    def until(self, news: News) -> None:
        """Watch until news says that it is over."""
        if self._console.is_terminal:
            with Live(console=self._console, auto_refresh=False, transient=True) as live:
                self._loop(news, lambda text: live.update(self._table(text), refresh=True), 0.0)
            self._console.print(self._table(""))
        else:
            self._loop(
                news, lambda text: self._console.print(Text(self._line(text)), soft_wrap=True), _LINE_S
            )

    def _loop(self, news: News, show: Callable[[str], None], gap: float) -> None:
        asked = shown = 0.0
        while True:
            if time.monotonic() - asked >= _ASK_S:
                asked = time.monotonic()
                self._sample()
            text, over = news()
            if over or time.monotonic() - shown >= gap:
                shown = time.monotonic()
                show(text)
            if over:
                return
            time.sleep(_TICK_S)

    def _sample(self) -> None:
        answer = module.ask_or_none(self._lab, "imbalance")
        if answer is not None:
            self._record.add_moment(moment(time.time(), answer))

    def _throughput(self) -> float:
        # A second's lines come when it is over, so the newest one is not complete.
        now = time.time() - 1.0
        return self._record.throughput(Span(now - _RECENT_S, now))

    def _line(self, text: str) -> str:
        if not self._record.moments:
            return text
        last = self._record.moments[-1]
        loads = "  ".join(f"{rank}:{load:5.0f}" for rank, load in enumerate(last.loads))
        return (
            f"         IF {_factor(last)}   clients {self._throughput():5.0f} op/s   req/s by rank {loads}"
            f"   {text}"
        )

    def _table(self, text: str) -> Group:
        moments = self._record.moments
        if not moments:
            return Group(Text(text))
        last = moments[-1]
        table = Table(box=None, pad_edge=False)
        for column in ("rank", "req/s", "latency", "inodes"):
            table.add_column(column, justify="right")
        table.add_column("")
        top = max(1.0, *(load for m in moments for load in m.loads))
        for number, rank in enumerate(last.ranks):
            bar = "█" * round(_BAR * rank.requests / top)
            table.add_row(
                str(number),
                f"{rank.requests:,.0f}",
                f"{rank.latency * 1000:.1f} ms",
                f"{rank.inodes:,}",
                Text(bar, style="cyan"),
            )
        return Group(self._headline(last), table, Text(text, style="dim"))

    def _headline(self, last: Moment) -> Text:
        return Text.assemble(
            "imbalance factor ",
            (_factor(last), "bold red" if (last.factor or 0.0) > THRESHOLD else "bold green"),
            "   clients together ",
            (f"{self._throughput():,.0f} op/s", "bold"),
        )
