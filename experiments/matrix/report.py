# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables and pictures of the cells that there are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common.cells import store
from experiments.common.figures import compare, summary
from experiments.common.figures.figures import Cell
from experiments.common.provenance import age
from experiments.matrix import tables
from experiments.matrix.pictures import compared, throughputs
from lab.errors import LabError


def write(out: Path, pictures: Path, keys: Sequence[str]) -> None:
    """Tables beside the cells, pictures into a folder of their own."""
    pictures.mkdir(parents=True, exist_ok=True)
    cells = [store.load(out, key) for key in keys if store.path_of(out, key).exists()]
    if not cells:
        raise LabError(f"{out} has none of the cells that were asked for")
    for workload in dict.fromkeys(cell["workload"] for cell in cells):
        _workload([cell for cell in cells if cell["workload"] == workload], out, pictures)
    matrix = [cell for cell in cells if "run" in cell["spans"]]
    if matrix:
        _matrix(matrix, out, pictures)


def _about(cell: Cell) -> str:
    return f"{cell['ranks']} ranks at {cell['mds_cpu']} % of a core each, Ceph {cell['release']}"


def _hooked(cells: Sequence[Cell]) -> bool:
    return all(cell.get("hook") for cell in cells)


def _workload(cells: list[dict[str, Any]], out: Path, pictures: Path) -> None:
    first = cells[0]
    title = f"{first['workload']}: {_about(first)}{' with the hook' if _hooked(cells) else ''}"
    hook = "-hook" if _hooked(cells) else ""
    name = f"{first['workload']}-{first['release']}{hook}"
    notes = [age(cells), store.mixed(cells)]
    about = f"{title}.\nMedian (lowest to highest) of the runs that count."
    text = "\n\n".join([about, summary.table(cells), *filter(None, notes)]) + "\n"
    (out / f"{name}.md").write_text(text)
    compared(cells, title, pictures / f"{name}.png")
    print(f"\n{text}\npicture: {pictures / name}.png")


def _matrix(cells: list[dict[str, Any]], out: Path, pictures: Path) -> None:
    found = compare.rows(cells)
    (out / "cells.csv").write_text(tables.as_csv(found))
    text = tables.text(found)
    hooked = ", ".join(dict.fromkeys(cell["balancer"] for cell in cells if cell.get("hook")))
    which = f"With the hook: {hooked or 'none'}; the others are Debian's own MDSs."
    old = age(cells)
    text = f"{old}\n\n{text}" if old else text
    (out / "matrix.md").write_text(f"# {_about(cells[0])}\n\n{which}\n\n{text}")
    print(text)
    throughputs(cells, f"As Figure 7: throughput. {_about(cells[0])}", pictures / "fig07-throughput.png")
