# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the engine can be asked, by name."""

from .analyze import analyze
from .capacities import capacities
from .classes import classify
from .judge import judge
from .order import order
from .ping import ping
from .plan_answer import plan

CALLS = {
    "ping": ping,
    "judge": judge,
    "capacities": capacities,
    "analyze": analyze,
    "classify": classify,
    "plan": plan,
    "order": order,
}
