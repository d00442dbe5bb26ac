# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs everything, draws, and writes the text."""

from pathlib import Path

from sim.papers.lunule.document import text
from sim.papers.lunule.figures import draw
from sim.papers.lunule.setting import Setting
from sim.papers.lunule.study import study


def report(out: Path) -> str:
    """The Markdown text; pictures go to ``out``, which must be there."""
    found = study(Setting())
    return text(found, draw(found, out))
