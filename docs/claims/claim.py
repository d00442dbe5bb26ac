# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a document says, and of which results; how ratios are written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from docs.claims.results import Result, Results
from experiments.common.provenance import age
from lab.errors import LabError

_NOT = "does not count"
_WIDTH = 100  # columns of a line


@dataclass(frozen=True)
class Claim:
    """What a document says."""

    text: str
    made_of: Sequence[Result]
    table: bool = True  # else a figure within a line

    def __str__(self) -> str:
        """As it stands in the document; a table says of which versions it is."""
        old = age(self.made_of) if self.table else ""
        return f"{self.text}\n\n{fill(old, _WIDTH)}" if old else self.text


Claims = Mapping[str, Callable[[Results], Claim]]
"""How each is rendered, by name."""


def shown(ratio: float | None) -> str:
    """None: a cell does not count."""
    return _NOT if ratio is None else f"{ratio:.2f}"


def span(values: Iterable[float], form: str, what: str) -> str:
    """The least to the most. :raises LabError: there are none"""
    known = list(values)
    if not known:
        raise LabError(f"no block of {what} counts")
    least, most = (f"{value:{form}}" for value in (min(known), max(known)))
    return least if least == most else f"{least} to {most}"
