# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a Mantle policy decides.

The rules for a well-formed answer are those of Ceph's src/mds/Mantle.cc and mantle_prep_rebalance of
src/mds/MDBalancer.cc: a table with one number for each rank, keyed by rank from 0. Given anything else, an
MDS falls back to its own balancer. It ignores amounts under 10, so negative ones, too; but with one for its
own rank it dies (Migrator::export_dir asserts that the importer is another rank).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .child import LuaChild, plain
from .luatext import lua
from .refusals import PolicyError

SELECTIONS = (None, "heat", "mindex", {"type": "function"})
SHOWN = 60  # characters of a value in a message

Metrics = Sequence[Mapping[str, Any]]  # (ranks,): what mds[rank] is to be


@dataclass(frozen=True)
class Hooked:
    """What an MDS with our hook shows beyond the metrics (docs/mds-hook.md); its ``history`` is kept here."""

    epoch: int
    now: float  # Unix time, s
    rank_mask: tuple[int, ...]


@dataclass(frozen=True)
class PolicyAnswer:
    """What one rank decides in one beat."""

    targets: tuple[float, ...]  # (ranks,), popularity to send
    log: tuple[tuple[int, str], ...]  # level and line
    selection: str  # heat, mindex or function
    scores: tuple[float, ...] = ()  # of the subtrees that were given, by the function


class Sandbox:
    """A policy in a process of its own, ready for any number of beats; for one thread, as a context manager.

    Each decision begins in a new Lua world, as an MDS begins each beat. With the hook, ``history`` is kept
    for each rank. The first failure ends it.
    """

    def __init__(self, source: str) -> None:
        """:raises PolicyError: the source is not Lua 5.3. :raises SandboxError: lua5.3 is missing"""
        self._child, self._ranks = LuaChild(), 0
        self.load(source)

    def load(self, source: str) -> None:
        """Another policy in place of this one; histories are forgotten. :raises PolicyError: as above"""
        try:
            self._child.request("policy", source)
        except PolicyError as e:
            raise PolicyError(f"the policy is not Lua 5.3: {e}") from e

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.end()

    def see(self, metrics: Metrics) -> None:
        """The loads of the beats that follow."""
        self._ranks = len(metrics)
        self._child.request("case", f"return {lua(dict(enumerate(metrics)))}")

    def decide(
        self,
        whoami: int,
        hooked: Hooked | None = None,
        subtrees: Sequence[Mapping[str, float]] = (),
        files: bool = False,
    ) -> PolicyAnswer:
        """What rank ``whoami`` answers; with ``hooked``, also how its function scores each of the subtrees.

        :param files: offer ``loadfile`` and ``dofile`` as Mantle does; here they find nothing that is Lua
        :raises PolicyError: it fails, is malformed, or takes too long
        """
        wanted: dict[str, Any] = {"whoami": whoami, "ranks": self._ranks, "subtrees": list(subtrees)}
        wanted["files"] = files
        if hooked is not None:
            wanted["hook"] = {"epoch": hooked.epoch, "now": hooked.now, "rank_mask": list(hooked.rank_mask)}
        where = "" if hooked is None else ", on an MDS with the hook,"
        who = f"the policy on rank {whoami} of {self._ranks}{where}"
        try:
            found = self._child.request("run", f"return {lua(wanted)}")
        except PolicyError as e:
            raise PolicyError(f"{who} fails: {e}") from e
        targets = _targets(found, self._ranks, whoami, who)
        log = tuple((int(level), plain(line)) for level, line in found["log"])
        if hooked is None:
            return PolicyAnswer(targets, log, "heat")
        return PolicyAnswer(targets, log, _selection(found["selection"], who), _scores(found["scores"], who))

    def finish(self) -> None:
        """Let go what the policy left behind, histories too. :raises PolicyError: a finalizer of it fails"""
        try:
            self._child.request("finish", "")
        except PolicyError as e:
            raise PolicyError(f"the policy fails when its state is let go: {e}") from e


def decide(source: str, cases: Iterable[Metrics]) -> list[list[PolicyAnswer]]:
    """What every rank of each case answers, as stock MDSs run the policy."""
    answers = []
    with Sandbox(source) as sandbox:
        for metrics in cases:
            sandbox.see(metrics)
            answers.append([sandbox.decide(rank) for rank in range(len(metrics))])
    return answers


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"a {value['type']}"
    text = plain(json.dumps(value, ensure_ascii=False)) if isinstance(value, str) else json.dumps(value)
    text = {"null": "nil"}.get(text, text)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _targets(found: Mapping[str, Any], ranks: int, whoami: int, who: str) -> tuple[float, ...]:
    wanted = f"a table with a finite number for each of the {ranks} ranks, keyed from 0"
    if "returned" in found:
        raise PolicyError(f"{who} returns {_shown(found['returned'])}; allowed: {wanted}")
    for key, value in found["entries"] if "entries" in found else enumerate(found["targets"]):
        if type(key) is not int or not 0 <= key < ranks:
            raise PolicyError(f"{who} returns the key {_shown(key)}; allowed: {wanted}")
        if not _is_finite(value):
            raise PolicyError(f"{who} returns {_shown(value)} for rank {key}; allowed: {wanted}")
        if key == whoami and value > 0:
            raise PolicyError(
                f"{who} returns {_shown(value)} for rank {key}, which is itself; allowed: 0, "
                "as an MDS that exports to itself dies"
            )
    if "targets" not in found:
        raise PolicyError(f"{who} returns {len(found['entries'])} numbers; allowed: {wanted}")
    return tuple(map(float, found["targets"]))


def _selection(value: Any, who: str) -> str:
    if value not in SELECTIONS:
        raise PolicyError(
            f'{who} selects by {_shown(value)}; allowed as a second value: "heat", "mindex", or a function'
        )
    return "function" if isinstance(value, dict) else value or "heat"


def _scores(values: Sequence[Any], who: str) -> tuple[float, ...]:
    for value in values:
        if not _is_finite(value) or value < 0:
            raise PolicyError(
                f"{who} gives a subtree the score {_shown(value)}; allowed: finite numbers from 0 on"
            )
    return tuple(map(float, values))
