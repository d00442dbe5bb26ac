# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cells as files: compact JSON, gzipped, written whole or not at all: one that is there is finished."""

import gzip
import json
from pathlib import Path
from typing import Any

# A balancer's name, and what it was recorded as before: those cells keep their files and bytes.
_PINNING, _EARLIER = "subvolume-pinning", "line"


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
