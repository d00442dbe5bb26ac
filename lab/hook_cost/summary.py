# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is concluded: medians, and how the hook differs from the stock program."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from lab.hook_cost.bed import IDLE, RANKS, RECORDING, STOCK, VARIANTS
from lab.hook_cost.course import MDS_CPU, TREES
from lab.hook_cost.sampled import of_the_hook

OTHERS = (IDLE, RECORDING)
Round = Sequence[Mapping[str, Any]]
"""The windows in which every variant was on every rank once."""


def summary(
    memory: Mapping[str, Any],
    wire: Mapping[str, Any],
    rates: Mapping[str, Any],
    instructions: Mapping[str, Any],
    samples: Mapping[str, Any],
) -> dict[str, Any]:
    """Of all parts, each as ``Course`` returned it."""
    return {
        **of_instructions(instructions["rounds"]),
        "time_in_the_hook_percent": round(sum(of_the_hook(samples["percent"]).values()), 2),
        **of_rates(rates["rounds"]),
        **of_memory(memory),
        "bytes_a_beat": {v: round(statistics.median(x)) for v, x in wire["bytes_a_beat"].items()},
    }


def of_instructions(rounds: Sequence[Round]) -> dict[str, Any]:
    """As of_rates."""
    a_reply = {v: [_a_reply(one, v, "instructions") for one in rounds] for v in VARIANTS}
    return {
        "instructions_a_reply": {v: round(statistics.median(x)) for v, x in a_reply.items()},
        "instructions_against_stock_percent": _against_stock(a_reply),
    }


def of_rates(rounds: Sequence[Round]) -> dict[str, Any]:
    """Each round gives a figure a variant; the variants are compared within rounds.

    Differences from the stock program are in percent: median, lowest, highest of the rounds; their mean and
    its standard error.
    """
    op_s = {v: [_op_s(one, v) for one in rounds] for v in VARIANTS}
    cpu_us = {v: [1e6 * _a_reply(one, v, "cpu_s") for one in rounds] for v in VARIANTS}
    windows = [window for one in rounds for window in one]
    return {
        "op_s": {v: round(statistics.median(x), 1) for v, x in op_s.items()},
        "op_s_against_stock_percent": _against_stock(op_s),
        "cpu_us_a_reply": {v: round(statistics.median(x), 1) for v, x in cpu_us.items()},
        "cpu_against_stock_percent": _against_stock(cpu_us),
        "least_part_of_the_quota_used": round(min(map(_quota_used, windows)), 3),
    }


def _of(one: Round, variant: str, what: str) -> float:
    """Sum over a round of what a variant did."""
    return float(sum(rank[what] for window in one for rank in window["ranks"] if rank["variant"] == variant))


def _op_s(one: Round, variant: str) -> float:
    """Replies a second of a variant on a rank, the mean over all ranks."""
    return _of(one, variant, "replies") / sum(float(window["seconds"]) for window in one)


def _a_reply(one: Round, variant: str, what: str) -> float:
    return _of(one, variant, what) / _of(one, variant, "replies")


def _quota_used(window: Mapping[str, Any]) -> float:
    """1: every rank of a window was saturated."""
    used = sum(rank["cpu_s"] for rank in window["ranks"]) / RANKS
    return float(used / window["seconds"] / (MDS_CPU / 100))


def _against_stock(figures: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    def percents(variant: str) -> list[float]:
        pairs = zip(figures[STOCK], figures[variant], strict=True)
        return [round(100 * (mine / stock - 1), 2) for stock, mine in pairs]

    return {variant: _spread(percents(variant)) for variant in OTHERS}


def _spread(percents: Sequence[float]) -> dict[str, float]:
    found = {
        "median": round(statistics.median(percents), 2),
        "lowest": min(percents),
        "highest": max(percents),
    }
    if len(percents) > 1:
        found["mean"] = round(statistics.mean(percents), 2)
        found["standard_error"] = round(statistics.stdev(percents) / math.sqrt(len(percents)), 2)
    return found


def of_memory(memories: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes: resident; and what recording has allocated for an inode and for a dirfrag."""

    def median(tree: str, variant: str, what: str) -> float:
        return float(statistics.median(m[what] for m in memories[tree][variant]))

    def grown(tree: str) -> float:
        return median(tree, RECORDING, "in_use") - median(tree, IDLE, "in_use")

    an_inode = grown("large") / median("large", RECORDING, "recorded_inodes")
    of_inodes = an_inode * median("wide", RECORDING, "recorded_inodes")
    rss = {variant: median("large", variant, "rss") for variant in VARIANTS}
    return {
        "rss": rss,
        "rss_against_stock_percent": {v: round(100 * (rss[v] / rss[STOCK] - 1), 2) for v in OTHERS},
        "in_use_idle_against_stock_percent": round(
            100 * (median("large", IDLE, "in_use") / median("large", STOCK, "in_use") - 1), 2
        ),
        "bytes_a_recorded_inode": round(an_inode, 1),
        "bytes_a_recorded_dirfrag": round((grown("wide") - of_inodes) / TREES["wide"][0], 1),
    }
