# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the files of mantle/ as Mantle would."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mds_partitioner.policy.sandbox.decide import Hooked, PolicyAnswer, Sandbox

MANTLE = Path(__file__).resolve().parents[3] / "mantle"
POPULARITY = 7.0  # for each req/s

Metrics = list[dict[str, Any]]


def metrics(loads: Sequence[Any], popularity: float = POPULARITY) -> Metrics:
    """What Mantle shows of ranks with these loads, req/s."""
    return [
        {
            "auth.meta_load": popularity * load,
            "all.meta_load": popularity * load,
            "req_rate": load,
            "queue_len": 0.0,
            "cpu_load_avg": load / 10,
        }
        for load in loads
    ]


def lua(value: Any) -> str:
    """A value in Lua; ranks as keys."""
    if isinstance(value, Mapping):
        parts = (f"[{k}] = {lua(v)}" if isinstance(k, int) else f"{k} = {lua(v)}" for k, v in value.items())
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(lua, value)) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "math.huge", -math.inf: "-math.huge"}.get(value, "(0/0)")
    return repr(value)


def source(policy: str, hints: Mapping[str, Any] | None = None) -> str:
    """The shipped file, with the module's header above it."""
    header = "" if hints is None else f"hints = {lua(hints)}\n"
    return header + (MANTLE / f"{policy}.lua").read_text()


class Lua:
    """One process for all that the tests try, and a new one after a failure."""

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None

    def answers(self, text: str, beats: Sequence[tuple[int, Metrics, Hooked | None]]) -> list[PolicyAnswer]:
        """What a policy answers as rank ``whoami`` to the loads, beat by beat: (whoami, loads, hook) each."""
        sandbox = self._ready(text)
        found = []
        try:
            for whoami, seen, hooked in beats:
                sandbox.see(seen)
                found.append(sandbox.decide(whoami, hooked))
        except Exception:
            self._sandbox = None
            raise
        return found

    def _ready(self, text: str) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = Sandbox(text)
        else:
            self._sandbox.load(text)
        return self._sandbox


LUA = Lua()


def run(text: str, seen: Metrics, whoami: int = 0) -> PolicyAnswer:
    """One rank's answer to a beat, on a stock MDS."""
    return LUA.answers(text, [(whoami, seen, None)])[0]


def decide(
    policy: str, seen: Metrics, whoami: int = 0, hints: Mapping[str, Any] | None = None
) -> tuple[list[float], str]:
    """One rank's answer, in popularity, and what it logged."""
    answer = run(source(policy, hints), seen, whoami)
    assert len(answer.log) == 1, "every decision is one line"
    return list(answer.targets), answer.log[0][1]


def matrix(seen: Metrics, hints: Mapping[str, Any] | None = None) -> list[list[float]]:
    """What all ranks of a cluster would send by lunule.lua at once, as MDSs with our hook do, req/s: (ranks,
    ranks)."""
    everywhere = Hooked(1, 0.0, tuple((hints or {}).get("mask", range(len(seen)))))
    answers = LUA.answers(source("lunule", hints), [(rank, seen, everywhere) for rank in range(len(seen))])
    rows = []
    for mine, answer in zip(seen, answers):
        scale = mine["auth.meta_load"] / mine["req_rate"] if mine["req_rate"] else 1.0
        rows.append([amount / scale for amount in answer.targets])
    return rows
