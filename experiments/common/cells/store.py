# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cells as files: compact JSON, gzipped, written whole or not at all: one that is there is finished."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common.cells.order import PROTOCOL, Order
from lab.errors import LabError

# A balancer's name, and what it was recorded as before: those cells keep their files and bytes.
_PINNING, _EARLIER = "subvolume-pinning", "line"
# What a key does not tell, and what it is in cells of before it was kept; None: not known.
_LENGTH = {"limit": None, "settled": 0.0}
_HOW = {**_LENGTH, "protocol": 1}


def path_of(out: Path, key: str) -> Path:
    """The file of a cell."""
    earlier = out / f"{key.replace(f'-{_PINNING}', f'-{_EARLIER}')}.json.gz"
    return earlier if earlier.exists() else out / f"{key}.json.gz"


def save(out: Path, cell: dict[str, Any]) -> None:
    """Write a cell under its key."""
    path = path_of(out, cell["key"])
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    # No time stamp in it, so that the same result is the same file.
    part.write_bytes(gzip.compress(json.dumps(cell, separators=(",", ":")).encode(), mtime=0))
    part.rename(path)


def load(out: Path, key: str) -> dict[str, Any]:
    """Read a cell, with today's name of its balancer."""
    cell: dict[str, Any] = json.loads(gzip.decompress(path_of(out, key).read_bytes()))
    kind, _, control = str(cell.get("balancer")).partition("-")
    if kind == _EARLIER:
        now = "-".join(filter(None, (_PINNING, control)))
        cell |= {"balancer": now, "key": cell["key"].replace(f"-{cell['balancer']}-", f"-{now}-")}
    if set(cell.get("spans", ())) == {"run"} and not cell.get("settled"):
        # In older cells the clock of clients without an end began when the last of them had begun.
        first = min(began for began, *_ in cell["done"].values())
        cell["spans"]["run"][0] = min(cell["spans"]["run"][0], round(first, 2))
    return cell


def load_of(out: Path, order: Order) -> dict[str, Any]:
    """Read what was ordered. :raises LabError: it is known to be of another length"""
    cell = load(out, order.key)
    _refuse(out, order, {name: cell[name] for name in _LENGTH if cell.get(name) is not None})
    return cell


def missing(out: Path, orders: Sequence[Order]) -> list[Order]:
    """What is not measured yet."""
    return [order for order in orders if not path_of(out, order.key).exists()]


def left(out: Path, orders: Sequence[Order]) -> list[Order]:
    """What is not measured yet, and may be beside what is. :raises LabError: that was measured otherwise"""
    found = missing(out, orders)
    for order in orders:
        if order not in found:
            cell = load_of(out, order)
            _refuse(out, order, {name: cell.get(name, of) for name, of in _HOW.items()} if found else {})
    return found


def _refuse(out: Path, order: Order, kept: dict[str, Any]) -> None:
    asked = {"limit": order.limit, "settled": order.settled, "protocol": PROTOCOL}
    other = [f"{name} {of}, not {asked[name]}" for name, of in kept.items() if of != asked[name]]
    if other:
        raise LabError(f"{path_of(out, order.key)} is of {', '.join(other)}: give another --out")


def mixed(cells: Sequence[dict[str, Any]]) -> str:
    """In what cells of a table were not measured alike; else nothing. A sentence for a table."""
    names = {"limit": "limits", "settled": "settled times", "protocol": "protocols"}
    several = [names[name] for name, of in _HOW.items() if len({cell.get(name, of) for cell in cells}) > 1]
    where = "experiments/common/cells/order.py"
    return f"Not comparable: the cells are of several {', '.join(several)} ({where})." if several else ""
