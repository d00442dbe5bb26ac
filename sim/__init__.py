# SPDX-License-Identifier: LGPL-2.1-or-later
"""A simulator in which the decisions that ship are run against modelled clusters (docs/simulator.md)."""

import sys
from pathlib import Path

_HOME = Path(__file__).resolve().parents[1]
# What ships imports Ceph's own Python modules, which only a manager has: the tests' stand in for them.
sys.path[:0] = [str(_HOME / part) for part in ("mgr", "tests/fakes") if str(_HOME / part) not in sys.path]
