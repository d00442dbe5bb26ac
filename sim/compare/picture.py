# SPDX-License-Identifier: LGPL-2.1-or-later
"""Throughput beside cost, a point for each policy."""

from pathlib import Path

from matplotlib.ticker import FormatStrFormatter

from experiments.common.pictures import RANK_COLOURS, canvas
from sim.compare.scores import Score, Scores, summary

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
FEW = 0.1  # times the oracle's inodes: below, the axis is linear, so that 0 has a place
TICKS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def draw(scores: Scores, path: Path) -> None:
    """Write the picture."""
    with canvas(1, 1, "Throughput and cost, all scenarios", path) as axes:
        panel = axes[0][0]
        panel.figure.set_size_inches(8.5, 5.0)
        for number, ((cost, part), names) in enumerate(points(scores).items()):
            turn, colour = divmod(number, len(RANK_COLOURS))
            panel.plot(
                cost,
                part,
                MARKERS[(number + turn) % len(MARKERS)],
                color=RANK_COLOURS[colour],
                fillstyle="none" if turn % 2 else "full",
                label=", ".join(names),
                linestyle="none",
            )
        panel.set_xscale("symlog", linthresh=FEW)
        panel.set_xticks([tick for tick in TICKS if tick <= 2.0 * panel.get_xlim()[1]])
        panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        panel.set_xlim(left=-FEW / 5)
        panel.set_xlabel("inodes moved, times the oracle's")
        panel.set_ylabel("throughput, parts of the oracle's")
        panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def points(scores: Scores) -> dict[tuple[float, float], list[str]]:
    """Cost and throughput as the table has them, and the policies that they are of."""
    found: dict[tuple[float, float], list[str]] = {}
    for policy in next(iter(scores.values())):
        one = summary(scores, policy)
        if isinstance(one, Score) and one.cost is not None:
            found.setdefault((round(one.cost, 2), round(one.part, 2)), []).append(policy)
    return found
