# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jang, Han, Park, Yang (ISPA 2005): a dispatcher with an Indirect Lookup Table, beside Vesta and LH3."""

from pathlib import Path
from typing import Final

NAME: Final = "ilt"


def report(out: Path) -> str:
    """Runs everything; pictures go to `out`. The report, as Markdown."""
    from sim.papers.ilt import reporting

    return reporting.report(out)
