# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cache in front of ten namenodes: TPPS and PARC (Sun et al.), and what they are compared with."""

from pathlib import Path

NAME = "tpps"


def report(out: Path) -> str:
    """Some two minutes on one core; pictures go to ``out``."""
    from sim.papers.tpps.pictures import draw
    from sim.papers.tpps.setting import Setting
    from sim.papers.tpps.study import study
    from sim.papers.tpps.text import text

    found = study(Setting())
    return text(found, draw(found, out))
