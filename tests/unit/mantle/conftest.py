# SPDX-License-Identifier: LGPL-2.1-or-later
"""The policies run in the module's own sandbox: Lua 5.3, with what Mantle offers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "mgr" / "mds_partitioner"))
