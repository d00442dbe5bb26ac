# SPDX-License-Identifier: LGPL-2.1-or-later
"""Values as text: tables for people, JSON and YAML for programs."""

import json
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, groupby, takewhile
from typing import Any, TypeVar

import yaml
from prettytable import PrettyTable
from wcwidth import wcwidth  # what prettytable measures with

from ..errors import BadInput
from ..plan.ranks import format_ranks

T = TypeVar("T")
TABLE, JSON, YAML = "table", "json", "yaml"
# The ceph command line itself refuses "--format table"; what it calls a table is "plain".
DEFAULT_FORMAT = TABLE
FORMATS = {TABLE: TABLE, "plain": TABLE, JSON: JSON, "json-pretty": JSON, YAML: YAML}

NAME_WIDTH, RANKS_WIDTH = 32, 16  # cells of a terminal
GAP = 2  # cells between two columns
MIDDLE = "…"  # of what is cut
TOP = 20  # rows that a table shows unless told otherwise
LARGEST = 3  # amounts that are named where there may be one for each rank
NO_BREAK = "\xa0"  # a blank that no line is broken at; of what is printable none has it
QUOTED = re.compile(r"(?<!\w)'[^']{1,90}'")  # and fits on a line; no genitive begins it


def printable(text: str) -> str:
    """A path or name on one line of valid UTF-8: control characters and stray bytes are escaped."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in clean)


def cut(text: str, width: int = NAME_WIDTH) -> str:
    """``text`` on one line in at most so many cells of a terminal; what is too long loses its middle."""
    clean = printable(text)
    if _cells(clean) <= width:
        return clean
    return f"{_begin(clean, width // 2)}{MIDDLE}{_begin(clean[::-1], (width - 1) // 2)[::-1]}"


def wrapped(text: str, width: int) -> list[str]:
    """``text`` in lines of at most so many columns. What is quoted stays whole: it may be typed."""
    kept = QUOTED.sub(lambda quoted: quoted[0].replace(" ", NO_BREAK), printable(text))
    lines = textwrap.wrap(kept, width, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _cells(text: str) -> int:
    return sum(max(wcwidth(char), 0) for char in text)


def _begin(text: str, width: int) -> str:
    taken = accumulate(max(wcwidth(char), 0) for char in text)
    return text[: sum(1 for _ in takewhile(lambda cells: cells <= width, taken))]


def ranks_cell(ranks: Sequence[int]) -> str:
    """Ranks in a column: as a list, or shorter where there are many: ``0-35``, or how many."""
    for told in (format_ranks(ranks), _runs(sorted(set(ranks)))):
        if len(told) <= RANKS_WIDTH:
            return told
    return f"{len(set(ranks))} ranks"


def _runs(ranks: Sequence[int]) -> str:
    runs = [[rank for _, rank in run] for _, run in groupby(enumerate(ranks), lambda at: at[1] - at[0])]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def check_top(top: int) -> None:
    """:raises BadInput: not a number of rows."""
    if top < 0:
        raise BadInput(f"--top {top} is not allowed: give a number of rows, or 0 for all")


def topmost(items: Sequence[T], top: int) -> Sequence[T]:
    """The first ``top`` (0: all)."""
    return items if top == 0 else items[:top]


def first(lines: Sequence[str], top: int) -> list[str]:
    """The first ``top`` lines (0: all), and how many more there are."""
    shown = [*topmost(lines, top)]
    return [*shown, *rest(lines, shown)]


def rest(items: Sequence[Any], shown: Sequence[Any]) -> list[str]:
    """The line on how many more there are than are shown; none where all are."""
    left = len(items) - len(shown)
    return [f"... and {left:,} more (--top 0 shows all)"] if left else []


def and_more(kinds: Sequence[str]) -> str:
    """The line below a table on the rows that it leaves out, by kind; none are left out: nothing."""
    if not kinds:
        return ""
    counted = ", ".join(f"{number:,} {kind}" for kind, number in Counter(kinds).most_common())
    return f"\n... and {len(kinds):,} more: {counted} (--top 0 shows all; so does --format json)"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], left: Sequence[str] = ("Name",)) -> str:
    """A table like ``ceph fs status``: numbers to the right, the columns in ``left`` to the left."""
    drawn = PrettyTable(list(columns), border=False)
    drawn.left_padding_width, drawn.right_padding_width = 0, GAP
    for column in columns:
        drawn.align[column] = "l" if column in left else "r"
    for row in rows:
        drawn.add_row([printable(str(cell)) for cell in row])
    return "\n".join(line.rstrip() for line in str(drawn.get_string()).splitlines())


def check_format(format_: str) -> None:
    """:raises BadInput: an unknown format."""
    if format_ not in FORMATS:
        known = (name for name in FORMATS if name != TABLE)  # the ceph tool takes that for none itself
        raise BadInput(f"'{format_}' is not a format: use {', '.join(known)}")


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


def largest(amounts: Sequence[tuple[float, str]]) -> str:
    """The largest amounts, each with its words, and how many more: ``9 to 3, 5 to 2, 4 to 0 and 2 more``."""
    order = sorted(amounts, key=lambda told: -told[0])
    named = ", ".join(f"{count(amount)} {words}" for amount, words in order[:LARGEST])
    return named + (f" and {len(order) - LARGEST} more" if len(order) > LARGEST else "")
