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

from prettytable import PrettyTable
from rich.progress import track

from .course import Outcome, play
from .scenarios import SCENARIOS
from .script import ACTIONS, FAULTS, History, draw

NAMES = tuple(SCENARIOS)
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
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first history")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.histories)
    began, ios, failed = time.monotonic(), [], []
    pairs: Counter[tuple[str, str]] = Counter()
    for outcome in track(
        outcomes(seeds, options.jobs), "replay", len(seeds), disable=not sys.stdout.isatty()
    ):
        ios.append(outcome.ios)
        for pair, count in outcome.pairs:
            pairs[pair] += count
        if outcome.violations:
            failed.append(outcome)
    print(pairs_table(pairs))
    never = sorted(
        f"{label} / {e}"
        for label in {p[0] for p in pairs}
        for e in (*FAULTS, *ACTIONS)
        if not pairs[label, e]
    )
    print(f"pairs that never met: {', '.join(never) or 'none'}")
    print(f"I/Os a history: median {statistics.median(ios):.0f}, least {min(ios)}, most {max(ios)}")
    if failed:
        print(f"failing seeds: {sorted(outcome.history.seed for outcome in failed)}")
    for outcome in failed[:SHOWN]:
        print(_failure(outcome))
    print(f"{time.monotonic() - began:.0f} s, seeds {seeds[0]} to {seeds[-1]}")
    print(f"{len(seeds)} histories, {len(failed)} violations")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
