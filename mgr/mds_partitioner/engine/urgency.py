# SPDX-License-Identifier: LGPL-2.1-or-later
"""The urgency of an imbalance (Lunule, section 3.2, equation 2), and what Lunule's constants are unless told
otherwise. Without numpy: the manager asks for them, too."""

import math

SMOOTHNESS = 0.2  # S, as the paper has it
THRESHOLD = 0.075  # of the factor: not in the paper; its authors ship it (README of github.com/mdbal-lunule)
ROLE_THRESHOLD = 0.01  # L of Algorithm 1 (roles.py): not in the paper


def urgency(peak: float, capacity: float, smoothness: float) -> float:
    """Equation 2: how much an imbalance hurts, in (0, 1); 0.5 where the busiest rank is at half its capacity.

    peak, capacity: req/s (peak above capacity is allowed); smoothness: the paper's S, above 0.
    """
    exponent = (1.0 - 2.0 * peak / capacity) / smoothness
    if exponent > 700.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(exponent))
