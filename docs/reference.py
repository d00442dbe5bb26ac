# SPDX-License-Identifier: LGPL-2.1-or-later
"""Write the tables of docs/commands.md from the module's own declarations: `make docs`.

A command's text is its docstring, an option's its ``desc``, a check's what ``health.MEANINGS`` says: what an
operator reads in ``ceph mds_partitioner ... -h`` and ``ceph config help`` is what the page says.
"""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mgr_module import Option

from experiments.common.figures.markdown import table
from mds_partitioner.ceph.compat import Commands
from mds_partitioner.module import ALL_OPTIONS, Module
from mds_partitioner.monitor.health import MEANINGS
from mds_partitioner.options import MOST

PAGE = Path(__file__).with_name("commands.md")
POSITIONAL = ("fs", "plan")
FILE, FORMAT = "inbuf", "format"


def command_rows() -> list[tuple[str, str]]:
    """What to type, and what it does."""
    ours = [c for c in Commands.COMMANDS.values() if getattr(Module, c.func.__name__, None) is c.func]
    ours.sort(key=lambda c: c.prefix.count(" ") > 1)  # those without a group first
    return [(f"`{_usage(c.prefix, parameters(c.func))}`", c.desc) for c in ours]


def parameters(func: Any) -> list[inspect.Parameter]:
    """Of a command's method, without ``self``."""
    return list(inspect.signature(inspect.unwrap(func)).parameters.values())[1:]


def _usage(prefix: str, taken: Sequence[inspect.Parameter]) -> str:
    return " ".join([f"ceph {prefix}", *(_argument(p) for p in taken if p.name != FORMAT)])


def _argument(parameter: inspect.Parameter) -> str:
    word = parameter.name.upper()
    if parameter.name == FILE:
        return "[-i FILE]"
    if parameter.annotation is not bool and parameter.name not in POSITIONAL:
        word = f"--{_flag(parameter)} {word}"
    elif parameter.annotation is bool:
        word = f"--{_flag(parameter)}"
    return word if parameter.default is inspect.Parameter.empty else f"[{word}]"


def _flag(parameter: inspect.Parameter) -> str:
    return parameter.name.replace("_", "-")


def option_rows() -> list[tuple[str, str, str, str]]:
    """Name, default, what is allowed, meaning; in the order of declaration."""
    return [(f"`{o['name']}`", _value(o, o["default"]), _allowed(o), o["desc"]) for o in ALL_OPTIONS]


def _value(option: Option, value: Any) -> str:
    if option["type"] == "secs":
        return f"{value} s"
    if option["type"] == "size":
        return f"{value >> 20} MiB"
    if option["type"] == "bool":
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _allowed(option: Option) -> str:
    if option.get("enum_allowed"):
        return ", ".join(option["enum_allowed"])
    low, high = option.get("min"), option.get("max")
    if low is None:
        return ""
    return (
        f"at least {_value(option, low)}"
        if high == MOST[option["type"]]
        else f"{low} to {_value(option, high)}"
    )


def check_rows() -> list[tuple[str, str]]:
    """Code and meaning; in the order of declaration."""
    return [(f"`{code}`", text) for code, text in MEANINGS.items()]


def tables() -> dict[str, str]:
    """The tables, by the name of their markers."""
    return {
        "commands": table(("command", "what it does"), command_rows(), left=2),
        "options": table(("option", "default", "allowed", "meaning"), option_rows(), left=4),
        "health checks": table(("check", "meaning"), check_rows(), left=2),
    }


def filled(text: str, made: Mapping[str, str]) -> str:
    """A page with what is between its markers made anew.

    :raises ValueError: a table has no pair of markers in the page
    """
    for name, lines in made.items():
        begin, end = f"<!-- {name}: made by `make docs` -->", f"<!-- end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"the page needs '{begin}' and '{end}' once each")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{lines}\n{end}{rest.partition(end)[2]}"
    return text


def main() -> None:
    """Write the page."""
    PAGE.write_text(filled(PAGE.read_text(), tables()))


if __name__ == "__main__":
    main()
