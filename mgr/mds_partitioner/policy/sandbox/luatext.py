# SPDX-License-Identifier: LGPL-2.1-or-later
"""Python values as Lua source."""

import math
from collections.abc import Mapping, Sequence
from typing import Union

Value = Union[None, bool, int, float, str, "Sequence[Value]", "Mapping[str, Value]", "Mapping[int, Value]"]


def lua(value: Value) -> str:
    """A literal. Sequences count from 1, as Lua's do; mappings have text or whole numbers as keys."""
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return '"' + "".join(f"\\{byte:03d}" for byte in value.encode("utf-8", "surrogateescape")) + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"[{lua(key)}] = {lua(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "{" + ", ".join(map(lua, value)) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return "(0/0)" if math.isnan(value) else "(1/0)" if value > 0 else "(-1/0)"
    return repr(value)
