# SPDX-License-Identifier: LGPL-2.1-or-later
"""``python3 -m replay``: many histories, each from its seed; a failing one is cut down to what it needs."""

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from prettytable import PrettyTable
from rich.progress import track

from .player import Outcome, play
from .scenarios import SCENARIOS
from .script import ACTIONS, FAULTS, History, draw

NAMES = tuple(SCENARIOS)
EXAMPLES = 20  # of I/Os of a kind that are remembered
CHUNK = 50  # histories a worker takes at once
SHOWN = 5  # failing histories that are cut down and printed


def shrink(history: History) -> History:
    """The history with every event left out that the violation does not need."""
    while True:
        shorter = next((h for h in history.without() if play(h).violations), None)
        if shorter is None:
            return history
        history = shorter


def outcomes(seeds: Iterable[int], jobs: int) -> Iterator[Outcome]:
    """The histories of the seeds, played by ``jobs`` processes."""
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap_unordered(_of_seed, seeds, CHUNK)


def _of_seed(seed: int) -> Outcome:
    return play(draw(seed, NAMES))


@dataclass
class Sums:
    """What many histories amount to."""

    ios: list[int] = field(default_factory=list)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: list[Outcome] = field(default_factory=list)
    examples: dict[str, list[tuple[History, int]]] = field(default_factory=dict)  # I/Os of a kind

    def add(self, outcome: Outcome) -> None:
        """One more."""
        self.ios.append(outcome.ios)
        for pair, count in outcome.pairs:
            self.pairs[pair] += count
        for label, at in outcome.where:
            known = self.examples.setdefault(label, [])
            if len(known) < EXAMPLES:
                known.append((outcome.history, at))
        if outcome.violations:
            self.failed.append(outcome)

    def never(self) -> list[tuple[str, str]]:
        """Pairs of an I/O and an event that did not meet."""
        labels = {label for label, _ in self.pairs} | set(self.examples)
        return sorted((lab, e) for lab in labels for e in (*FAULTS, *ACTIONS) if not self.pairs[lab, e])

    def directed(self) -> int:
        """Histories that had an I/O of a rare kind, with the events at it that it never met; their number."""
        number = 0
        for label, event in self.never():
            for history, at in self.examples.get(label, ()):
                number += 1
                self.add(play(history.and_then(at, event)))
                if self.pairs[label, event]:
                    break
        return number


def pairs_table(pairs: Counter[tuple[str, str]]) -> PrettyTable:
    """A row a transition, a column a fault or an action: how often they met."""
    events = (*FAULTS, *ACTIONS)
    table = PrettyTable(["I/O", *events])
    table.align = "r"
    table.align["I/O"] = "l"
    for label in sorted({label for label, _ in pairs}):
        table.add_row([label, *(pairs[label, event] for event in events)])
    return table


def _failure(outcome: Outcome) -> str:
    small = shrink(outcome.history)
    lines = [f"seed {outcome.history.seed}: {small}", *(f"  {v}" for v in play(small).violations)]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="replay", description=__doc__)
    parser.epilog = "Fails when a history does, or when a kind of I/O and an event never met."
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first history")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.histories)
    began, sums = time.monotonic(), Sums()
    for outcome in track(
        outcomes(seeds, options.jobs), "replay", len(seeds), disable=not sys.stdout.isatty()
    ):
        sums.add(outcome)
    added = sums.directed()
    print(pairs_table(sums.pairs))
    never = [f"{label} / {event}" for label, event in sums.never()]
    print(f"pairs that never met: {', '.join(never) or 'none'}")
    ios, failed = sums.ios, sums.failed
    print(f"I/Os a history: median {statistics.median(ios):.0f}, least {min(ios)}, most {max(ios)}")
    if failed:
        print(f"failing seeds: {sorted(outcome.history.seed for outcome in failed)}")
    for outcome in failed[:SHOWN]:
        print(_failure(outcome))
    print(f"{time.monotonic() - began:.0f} s, seeds {seeds[0]} to {seeds[-1]}, {added} of them twice:")
    print("the second time with an event where it had not met an I/O of that kind before")
    print(f"{len(ios)} histories, {len(failed)} violations")
    return 1 if failed or never else 0


if __name__ == "__main__":
    sys.exit(main())
