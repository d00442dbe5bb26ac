# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `ping` call: versions and memory; it loads every library, so that the next call need not."""

import os
import platform
from pathlib import Path

import numpy as np

from .inputs import Args, Json, check_names


def resident_bytes() -> int:
    """This process's resident memory, bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def ping(args: Args) -> dict[str, Json]:
    """{"python", "numpy", "sklearn", "scipy": versions, "pid", "rss": bytes}."""
    check_names(args, ())
    import scipy
    import scipy.optimize
    import sklearn
    import sklearn.linear_model

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sklearn": sklearn.__version__,
        "scipy": scipy.__version__,
        "pid": os.getpid(),
        "rss": resident_bytes(),
    }
