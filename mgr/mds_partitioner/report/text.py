# SPDX-License-Identifier: LGPL-2.1-or-later
"""Values as text: tables for people, JSON and YAML for programs."""

import json
from collections.abc import Sequence
from typing import Any

import yaml
from prettytable import PrettyTable

from ..errors import BadInput

TABLE, JSON, YAML = "table", "json", "yaml"
# The ceph command line itself refuses "--format table"; what it calls a table is "plain".
DEFAULT_FORMAT = TABLE
FORMATS = {TABLE: TABLE, "plain": TABLE, JSON: JSON, "json-pretty": JSON, YAML: YAML}


def printable(text: str) -> str:
    """A path or name on one line of valid UTF-8: control characters and stray bytes are escaped."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in clean)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], left: Sequence[str] = ("Name",)) -> str:
    """A table like ``ceph fs status``: numbers to the right, the columns in ``left`` to the left."""
    drawn = PrettyTable(list(columns), border=False)
    drawn.left_padding_width, drawn.right_padding_width = 0, 2
    for column in columns:
        drawn.align[column] = "l" if column in left else "r"
    for row in rows:
        drawn.add_row([printable(str(cell)) for cell in row])
    return "\n".join(line.rstrip() for line in str(drawn.get_string()).splitlines())


def check_format(format_: str) -> None:
    """:raises BadInput: an unknown format."""
    if format_ not in FORMATS:
        raise BadInput(f"'{format_}' is not a format: use table (plain), json or yaml")


def render(format_: str, value: Any, text: str) -> str:
    """``value`` as JSON or YAML, or ``text`` for people. ``format_``: one of FORMATS."""
    kind = FORMATS[format_]
    if kind == JSON:
        return json.dumps(value, indent=2 if format_ == "json-pretty" else None)
    if kind == YAML:
        return str(yaml.safe_dump(json.loads(json.dumps(value)), sort_keys=False))
    return text


def count(number: float) -> str:
    """A whole number with thousands separators, as in LINE's table."""
    return f"{number:,.0f}"
