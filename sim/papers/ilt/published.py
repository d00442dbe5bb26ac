# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's own results, and what they say together. Times in ms, rates in requests/ms."""

from typing import Final

from sim.papers.ilt.parameters import Design

WAITING: Final = {"Vesta": 2.11, "LH3": 4.35, "ILT": 3.13}  # Table 2
VARIANCE: Final = {"Vesta": 10.56, "LH3": 95.10, "ILT": 0.14}  # Table 2
RESPONSE: Final = {"Vesta": 11.93, "LH3": 32.04, "ILT": 6.39}  # Table 3
BREAK_EVEN_TIME: Final = 0.8  # 1/C up to which the dispatcher pays (Figure 6)


def rate_by_little(system: str) -> float:
    """Arrivals at all servers, if those that wait were all that respond slowly (N = lambda R)."""
    return WAITING[system] * Design().servers / RESPONSE[system]


def dispatcher_response(time: float, rate: float) -> float:
    """R = 1 / (C - lambda), with `time` = 1/C; infinite when lambda is not below C."""
    return 1 / (1 / time - rate) if time * rate < 1 else float("inf")


def deterministic_response(time: float, rate: float) -> float:
    """The same if each request takes the dispatcher the same time (M/D/1)."""
    load = time * rate
    return time * (1 + load / (2 * (1 - load))) if load < 1 else float("inf")
