# SPDX-License-Identifier: LGPL-2.1-or-later
"""Create against the way to the OSD, stat against capability revocation (Kim, DGIST 2021)."""

from pathlib import Path

from sim.papers.dgist.lab import measured
from sim.papers.dgist.pictures import draw
from sim.papers.dgist.setting import Setting
from sim.papers.dgist.text import text

NAME = "dgist"


def report(out: Path) -> str:
    """Seconds; pictures go to ``out``."""
    setting = Setting()
    return text(setting, measured(), draw(setting, out))
