# SPDX-License-Identifier: LGPL-2.1-or-later
"""Heavy, moderate and light subvolumes (LINE, "Our Idea: Combine Two Approaches"; DESIGN.md section 4)."""

import numpy as np

from .arrays import Bools, Floats

HEAVY, MODERATE, LIGHT = "heavy", "moderate", "light"
MODERATE_SHARE = 0.1


def fair_share(points: Floats, ranks: int) -> float:
    """One usable rank's part of all the workload, in workload points."""
    return float(points.sum()) / ranks


def is_heavy(points: Floats, fair: float) -> Bools:
    """More than one rank's fair share; the margin keeps rounding from making a lone subvolume heavy."""
    return np.asarray(points > fair * (1.0 + 1e-9))


def classes(points: Floats, fair: float) -> list[str]:
    """The class of each subvolume: heavy above the fair share, moderate from a tenth of it, else light.

    points: (subvolumes,), workload points.
    """
    moderate = (points >= MODERATE_SHARE * fair) & (points > 0.0)
    names: list[str] = np.where(is_heavy(points, fair), HEAVY, np.where(moderate, MODERATE, LIGHT)).tolist()
    return names
