# SPDX-License-Identifier: LGPL-2.1-or-later
"""``python3 -m replay.on_lab``: histories on the model and on a lab at once, which must say the same."""

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator

from prettytable import PrettyTable
from rich.progress import track

from experiments.common.measurement import exit_status
from lab import releases
from lab.api import Lab
from lab.progress import ConsoleProgress

from .operator import Operator
from .player import Outcome, Player
from .scenarios import SCENARIOS, build
from .script import History, draw
from .twin import RANKS, Twin, TwinWorld

# One file system of stock Ceph, which stays and keeps its name (`make chaos` renames it).
NAMES = tuple(name for name, s in SCENARIOS.items() if s.filesystems == 1 and not s.hooked)
ELSEWHERE = {"fs renamed", "fs removed"}
CONF = {"mds_tick_interval": "1"}


class OnLab(Player):
    """A history on both."""

    def __init__(self, history: History, twin: Twin) -> None:
        (fs,) = build(SCENARIOS[history.scenario]).filesystems.values()
        self.both = TwinWorld(fs, twin, f"/replay-{history.seed}")
        super().__init__(history, self.both, Operator(self.both, history.seed))

    def play(self) -> Outcome:
        """See Player."""
        try:
            return super().play()
        finally:
            self.both.end()

    def _check_done(self) -> None:
        super()._check_done()
        self.both.check_arrived()

    def _check_restored(self) -> None:
        super()._check_restored()
        self.both.check_arrived()


def histories(seed: int) -> Iterator[History]:
    """Those from a seed on that a lab can play."""
    for number in itertools.count(seed):
        history = draw(number, NAMES)
        if not {action for _, action in history.actions} & ELSEWHERE:
            yield history


def measure(release: str, number: int, seed: int) -> list[tuple[History, Outcome, int]]:
    """Histories, what came of them, and how many answers were compared."""
    found = []
    name = f"replay-{os.getpid()}"
    with Lab.up(name=name, release=release, mds=RANKS, mgr=1, conf=CONF, progress=ConsoleProgress()) as lab:
        twin = Twin(lab)
        try:
            for history in track(
                itertools.islice(histories(seed), number), "replay", number, disable=not sys.stdout.isatty()
            ):
                player = OnLab(history, twin)
                outcome = player.play()
                found.append((history, outcome, player.both.compared))
                for violation in outcome.violations:
                    print(f"seed {history.seed}: {violation}", flush=True)
        finally:
            twin.end()
    return found


def report(found: list[tuple[History, Outcome, int]]) -> PrettyTable:
    """A row a scenario."""
    table = PrettyTable(["Scenario", "Histories", "Events", "I/Os", "Compared", "Violations"])
    table.align = "r"
    table.align["Scenario"] = "l"
    rows: dict[str, Counter[str]] = {}
    for history, outcome, compared in found:
        events = len(history.faults) + len(history.actions)
        rows.setdefault(history.scenario, Counter()).update(
            n=1, events=events, ios=outcome.ios, compared=compared, wrong=len(outcome.violations)
        )
    for scenario, row in sorted(rows.items()):
        table.add_row([scenario, *(row[c] for c in ("n", "events", "ios", "compared", "wrong"))])
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="replay.on_lab", description=__doc__)
    parser.add_argument("--histories", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the first history")
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    options = parser.parse_args()
    began = time.monotonic()
    found: list[tuple[History, Outcome, int]] = []
    status = exit_status(
        "replay", lambda: found.extend(measure(options.release, options.histories, options.seed))
    )
    wrong = sum(bool(outcome.violations) for _, outcome, _ in found)
    print(report(found))
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{len(found)} histories on {options.release}, {wrong} of them not alike")
    return status or int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
