# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `policy` call: what a Mantle policy decides, in a sandbox that offers what Mantle offers.

The rules for a well-formed answer are those of Ceph's src/mds/Mantle.cc and mantle_prep_rebalance of
src/mds/MDBalancer.cc: a table with one number for each rank, keyed by rank from 0. Given anything else, an
MDS falls back to its own balancer.
"""

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .errors import BadInputError
from .inputs import Args, Json, array, check_names, is_number, mapping, required, shown

INSTRUCTIONS = 20_000_000  # of Lua's machine: an MDS answers nobody while its policy runs
MEMORY = 64 << 20  # bytes
# Lua's libraries that Mantle does not open, and functions of the base library that read the host's files.
ABSENT = ("io", "os", "debug", "package", "require", "dofile", "loadfile", "python")
METRICS = ("auth.meta_load", "all.meta_load", "req_rate", "queue_len", "cpu_load_avg")

# Once over the limit the hook raises at every instruction, so that no pcall of the policy outlives it. A
# coroutine has no hook: one that never ends meets the engine's deadline.
_SETUP = """
local sethook, limit, absent = debug.sethook, ...
for name in absent:gmatch("%a+") do _G[name] = nil end
local function over()
  sethook(over, "", 1)
  error("it runs for too long", 0)
end
return function(chunk)
  sethook(over, "", limit)
  local answer = table.pack(pcall(chunk))
  sethook()
  return table.unpack(answer, 1, answer.n)
end
"""


class Sandbox:
    """One Lua 5.3 state with a policy in it, as an MDS has for one beat."""

    def __init__(self, source: str) -> None:
        """:raises BadInputError: the source is not Lua 5.3, or lupa is missing"""
        try:
            lua53 = import_module("lupa.lua53")
        except ImportError as e:
            raise BadInputError(
                f"the engine has no Lua 5.3 to try a policy in ({e}): install lupa for the interpreter of "
                "the option engine_python on the hosts of the managers"
            ) from None
        self._errors: tuple[type[Exception], ...] = (lua53.LuaError, MemoryError)
        self._lua: Any = lua53.LuaRuntime(
            register_eval=False, register_builtins=False, unpack_returned_tuples=True, max_memory=MEMORY
        )
        self._table: Any = self._lua.globals()
        self.log: list[list[Json]] = []
        self._table["BAL_LOG"] = self._logged
        self._guarded: Any = self._lua.execute(_SETUP, INSTRUCTIONS, " ".join(ABSENT))
        try:
            # In text mode: byte code can do what the language cannot.
            self._chunk: Any = self._lua.eval("function(s) return load(s, '=policy', 't') end")(source)
        except self._errors as e:
            raise BadInputError(f"the policy is not Lua 5.3: {e}") from None
        if isinstance(self._chunk, tuple):
            raise BadInputError(f"the policy is not Lua 5.3: {self._chunk[1]}")

    def decide(self, whoami: int, metrics: Sequence[dict[str, float]]) -> list[float]:
        """The answer of rank ``whoami``: (ranks,), in popularity. :raises BadInputError: it is malformed."""
        self._table["whoami"] = whoami
        mds = self._lua.table()
        for rank, values in enumerate(metrics):
            mds[rank] = self._lua.table_from(values)
        self._table["mds"] = mds
        who = f"the policy on rank {whoami} of {len(metrics)}"
        try:
            found = self._guarded(self._chunk)
        except self._errors as e:
            raise BadInputError(f"{who} fails: {e}") from None
        ok, *answer = found if isinstance(found, tuple) else (found,)
        if not ok:
            raise BadInputError(f"{who} fails: {answer[0] if answer else 'no reason given'}")
        return _targets(answer[0] if answer else None, len(metrics), who, self._lua)

    def _logged(self, level: Json, *words: Json) -> None:
        if not isinstance(level, int) or not all(isinstance(w, (str, int, float)) for w in words):
            raise ValueError("BAL_LOG takes a level (a whole number) and strings or numbers")
        self.log.append([level, "".join(map(str, words))])


def _targets(answer: Any, ranks: int, who: str, lua: Any) -> list[float]:
    wanted = f"a table with a finite number for each of the {ranks} ranks, keyed from 0"
    if type(answer) is not type(lua.table()):
        raise BadInputError(f"{who} returns {shown(answer)}; allowed: {wanted}")
    found = dict(answer.items())
    for key, value in found.items():
        if not isinstance(key, int) or not 0 <= key < ranks:
            raise BadInputError(f"{who} returns the key {shown(key)}; allowed: {wanted}")
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
            raise BadInputError(f"{who} returns {shown(value)} for rank {key}; allowed: {wanted}")
    if len(found) != ranks:
        raise BadInputError(f"{who} returns {len(found)} numbers; allowed: {wanted}")
    return [float(found[rank]) for rank in range(ranks)]


def _metrics(value: Json, name: str) -> list[dict[str, float]]:
    rows = []
    for rank, row in enumerate(array(value, name)):
        values = mapping({"row": row}, "row")
        for key, number in values.items():
            if key not in METRICS or not is_number(number):
                raise BadInputError(
                    f"{name}[{rank}].{key} is {shown(number)}; allowed: numbers named {', '.join(METRICS)}"
                )
        rows.append(
            {key: float(number) for key, number in values.items() if isinstance(number, (int, float))}
        )
    return rows


def policy(args: Args) -> dict[str, Json]:
    """Run a policy as every rank, on each of the cases.

    args: {"source": Lua, "cases": [[{metric: value} a rank] ...]}. Returns {"answers": [[{"rank", "targets":
    (ranks,) popularity to send, "log": [[level, line] ...]} a rank] a case]}.
    """
    check_names(args, ("source", "cases"))
    source = required(args, "source")
    if not isinstance(source, str):
        raise BadInputError(f"source is {shown(source)}; allowed: a policy's text")
    cases = [_metrics(c, f"cases[{i}]") for i, c in enumerate(array(required(args, "cases"), "cases"))]
    return {"answers": [[_answer(source, rank, case) for rank in range(len(case))] for case in cases]}


def _answer(source: str, rank: int, case: Sequence[dict[str, float]]) -> Json:
    sandbox = Sandbox(source)  # Mantle's state is new in every beat, too
    return {"rank": rank, "targets": sandbox.decide(rank, case), "log": sandbox.log}
