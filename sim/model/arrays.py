# SPDX-License-Identifier: LGPL-2.1-or-later
"""Short names for arrays."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]


def sums(at: Ints, values: Floats, size: int) -> Floats:
    """(size,): the sum of the values at each index. at, values: of one length."""
    return np.asarray(np.bincount(at, weights=values, minlength=size), dtype=np.float64)
