# SPDX-License-Identifier: LGPL-2.1-or-later
"""Array types shared by the engine's modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt  # numpy 1.21
    from typing_extensions import TypeAlias  # Python 3.10

# What they stand for is read by type checkers alone.
Floats: TypeAlias = "npt.NDArray[np.float64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"
