# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lunule (Wang et al., SC '21): when to balance, how much, which subtrees; and what it is compared with."""

from pathlib import Path
from typing import Final

NAME: Final = "lunule"


def report(out: Path) -> str:
    """Runs everything; pictures go to ``out``. The report, as Markdown."""
    from sim.papers.lunule import reporting

    return reporting.report(out)
