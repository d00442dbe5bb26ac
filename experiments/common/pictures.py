# SPDX-License-Identifier: LGPL-2.1-or-later
"""What all pictures have in common."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Okabe and Ito's colours, which colour-blind readers can tell apart; a balancer always has the same one.
COLOURS = {
    "none": "#999999",
    "builtin": "#d55e00",
    "builtin-to-auth": "#e69f00",
    "scheduler": "#a6003a",
    "greedyspill": "#cc79a7",
    "dir-hash": "#f0e442",
    "dir-hash-cold": "#b8a800",
    "subvolume-pinning": "#56b4e9",
    "subvolume-pinning-replicas": "#9ecae1",
    "subvolume-pinning-mask": "#3182bd",
    "lunule": "#0072b2",
    "lunule-to-auth": "#00429d",
    "lunule-heat": "#7f7fff",
    "lunule-mindex": "#009e73",
    "oracle": "#000000",
}
RANK_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#000000")

PICTURES = Path("out/bench")
"""Where they go; one that a page shows is copied to docs/results."""
_TITLE = 9  # letters an inch


@contextmanager
def canvas(rows: int, columns: int, title: str, path: Path, **more: Any) -> Iterator[Any]:
    """Axes to draw on; the picture is written at the end of the block. more: of `pyplot.subplots`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shape = {"figsize": (4.2 * columns + 1.0, 3.2 * rows + 0.6), "layout": "constrained", **more}
    figure, axes = pyplot.subplots(rows, columns, squeeze=False, **shape)
    try:
        yield axes
        for one in axes.flat:
            one.grid(alpha=0.25)
            one.set_axisbelow(True)
            one.spines[["top", "right"]].set_visible(False)
        figure.suptitle(textwrap.fill(title, round(_TITLE * figure.get_figwidth())))
        figure.savefig(path, dpi=110)
    finally:
        pyplot.close(figure)
