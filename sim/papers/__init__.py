# SPDX-License-Identifier: LGPL-2.1-or-later
"""The systems of the papers, one package each, with a report that puts the paper's numbers beside ours."""

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol

from sim.errors import SimError


class Paper(Protocol):
    """What a package in this folder offers."""

    NAME: str

    def report(self, out: Path) -> str:
        """Run the paper's systems; pictures go to ``out``. The report, as Markdown."""


def names() -> tuple[str, ...]:
    """Every paper, sorted. None is loaded."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> Paper:
    """One paper. :raises SimError: there is none of that name"""
    if name not in names():
        raise SimError(f"'{name}' is no paper; allowed: {', '.join(names()) or 'none is there'}")
    paper: Paper = importlib.import_module(f"{__name__}.{name}")
    return paper
