# SPDX-License-Identifier: LGPL-2.1-or-later
"""What no plan can know: the load turns to other subvolumes, a rank becomes slower. The scheduler follows."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from demo import scene
from demo.console import DemoConsole
from demo.record import Record, Span
from demo.steps import START_S, until_working, watched
from demo.watch import Watch, for_seconds
from lab import module
from lab.api import Lab
from lab.clients.run import ClientRun
from lab.ranks import set_quota

TURN_S, SLOW_S = 60.0, 60.0
FIRST_S, LAST_S = 10.0, 20.0  # parts of these that are compared
SLOWER = 0.5  # of what the others have
SLOW_RANK = 1


@dataclass(frozen=True)
class Followed:
    """Right after each change, and in the end; and what the scheduler tells of it."""

    spans: Mapping[str, Span]
    history: dict[str, Any]

    @property
    def end(self) -> float:
        """Unix time, s."""
        return max(span.end for span in self.spans.values())


def follow(
    lab: Lab,
    heavy: ClientRun,
    paths: Mapping[str, str],
    limited: bool,
    console: DemoConsole,
    watch: Watch,
    record: Record,
) -> Followed:
    """From the plan on, whose heavy clients end."""
    console.heading("6. The load turns: ceph mds_partitioner scheduler start --mode act")
    module.text(lab, "scheduler start", mode="act")
    with console.step("the heavy clients end"):
        heavy.stop()
    load = scene.load(paths, scene.LATER)
    with lab.clients(load, on_line=record.add_line) as later:
        with console.step("others mount and start"):
            until_working(record, load, later.wait)
            record.marks["load turns"] = time.time()
            time.sleep(START_S)
        spans = _compared("turned", watched(console, watch, "it turned", for_seconds(TURN_S, "following")))
        console.say(module.text(lab, "scheduler status"))
        if limited:
            console.heading(f"7. Rank {SLOW_RANK} gets half of the others' CPU")
            spans |= _slow(lab, console, watch, record)
        console.say(module.text(lab, "scheduler history", top=12))
        history = module.ask(lab, "scheduler history")
        with console.step("clients unmount"):
            later.stop()
    return Followed(spans, history)


def _slow(lab: Lab, console: DemoConsole, watch: Watch, record: Record) -> dict[str, Span]:
    record.marks[f"rank {SLOW_RANK} slower"] = time.time()
    set_quota(lab, SLOW_RANK, round(scene.CPU_PERCENT * SLOWER))
    return _compared("slower", watched(console, watch, "it is slower", for_seconds(SLOW_S, "following")))


def _compared(what: str, span: Span) -> dict[str, Span]:
    return {
        f"{what}, at first": Span(span.start, span.start + FIRST_S),
        f"{what}, at last": Span(span.end - LAST_S, span.end),
    }
