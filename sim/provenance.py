# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a parameter of a paper's system is from: stated with its value, printed by the report."""

from dataclasses import field, fields
from typing import Any

PAPER = "paper"
ASSUMED = "assumed"


def given(value: Any, where: str) -> Any:
    """A dataclass's field that the paper gives. where: its section, table or figure."""
    return field(default=value, metadata={"from": PAPER, "why": where})


def assumed(value: Any, why: str) -> Any:
    """A dataclass's field that the paper does not give."""
    return field(default=value, metadata={"from": ASSUMED, "why": why})


def rows(setting: Any) -> list[tuple[str, str, str, str]]:
    """Name, value, paper or assumed, why: of a dataclass whose fields are all made by the two above."""
    return [
        (one.name, f"{getattr(setting, one.name):,.6g}", one.metadata["from"], one.metadata["why"])
        for one in fields(setting)
    ]
