# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine is its own top-level package, as in its process (`python3 -m engine`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "mgr" / "mds_partitioner"))
