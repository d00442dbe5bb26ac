# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables and pictures of the cells that there are."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common.cells import store
from experiments.common.figures import compare, paper, summary
from experiments.common.figures.figures import Cell
from experiments.common.plots import bars, completion, over_time, ranks
from experiments.common.plots import comparison as plot
from experiments.common.provenance import age
from experiments.common.workloads import WORKLOADS
from lab.clients import weblog
from lab.errors import LabError


def write(out: Path, keys: Sequence[str]) -> None:
    """Everything into one directory."""
    cells = [store.load(out, key) for key in keys if store.path_of(out, key).exists()]
    if not cells:
        raise LabError(f"{out} has none of the cells that were asked for")
    for workload in dict.fromkeys(cell["workload"] for cell in cells):
        _workload([cell for cell in cells if cell["workload"] == workload], out)
    matrix = [cell for cell in cells if "run" in cell["spans"]]
    if matrix:
        _matrix(matrix, out)


def _about(cell: Cell) -> str:
    return f"{cell['ranks']} ranks at {cell['mds_cpu']} % of a core each, Ceph {cell['release']}"


def _hooked(cells: Sequence[Cell]) -> bool:
    return all(cell.get("hook") for cell in cells)


def _workload(cells: list[dict[str, Any]], out: Path) -> None:
    first = cells[0]
    title = f"{first['workload']}: {_about(first)}{' with the hook' if _hooked(cells) else ''}"
    hook = "-hook" if _hooked(cells) else ""
    name = f"{first['workload']}-{first['release']}{hook}"
    notes = [age(cells)]
    if len({cell.get("protocol", 1) for cell in cells}) > 1:
        notes.append("Not comparable: the cells are of several protocols (experiments/common/cells/cell.py).")
    about = f"{title}; median (lowest to highest) of the runs that count"
    text = "\n\n".join([about, summary.table(cells), *filter(None, notes)]) + "\n"
    (out / f"{name}.md").write_text(text)
    plot.draw(cells, title, out / f"{name}.png")
    print(f"\n{text}\npicture: {out / name}.png")


def _matrix(cells: list[dict[str, Any]], out: Path) -> None:
    found = compare.rows(cells)
    (out / "cells.csv").write_text(compare.as_csv(found))
    text = compare.text(found)
    hooked = ", ".join(dict.fromkeys(cell["balancer"] for cell in cells if cell.get("hook")))
    which = f"With the hook: {hooked or 'none'}; the others are Debian's own MDSs."
    old = age(cells)
    text = f"{old}\n\n{text}" if old else text
    (out / "matrix.md").write_text(f"# {_about(cells[0])}\n\n{which}\n\n{text}")
    print(text)
    about = _about(cells[0])
    over_time.draw(
        cells, over_time.imbalance, "imbalance factor", f"As Figure 6: IF. {about}", out / "fig06-if.png"
    )
    over_time.draw(
        cells,
        over_time.throughput,
        "op/s, mean of 10 s",
        f"As Figure 7: throughput. {about}",
        out / "fig07-throughput.png",
    )
    mix = [cell for cell in cells if cell["workload"] == "mix"]
    if mix:
        _mix(mix, out)
    web = [cell for cell in cells if cell["workload"] == "web"]
    if web:
        _web(web, found, out)


def _mix(cells: list[dict[str, Any]], out: Path) -> None:
    over_time.draw(
        cells, over_time.imbalance, "imbalance factor", "As Figure 9: IF, mix", out / "fig09-mix-if.png"
    )
    shown = [cell for cell in cells if cell["run"] == 1 and cell["balancer"] != "none"]
    if shown:
        ranks.draw(shown, "As Figure 10: requests by rank, mix, run 1", out / "fig10-mix-ranks.png")
    completion.draw(cells, "As Figure 11: completion times, mix", out / "fig11-mix-completion.png")


def _web(cells: list[dict[str, Any]], found: compare.Rows, out: Path) -> None:
    names = dict.fromkeys(cell["balancer"] for cell in cells)
    bars.throughputs(
        {name: compare.values(found, "web", name, paper.OPS) for name in names},
        "As Figure 13b: web",
        out / "fig13b-web.png",
    )
    hashed = [cell for cell in cells if cell["balancer"] == "dir-hash"]
    if hashed:
        files = _web_files(hashed[0])
        bars.hashed(hashed[0], files, "As Figure 14: web with directory hashing", out / "fig14-dir-hash.png")


def _web_files(cell: Cell) -> dict[str, float]:
    """How many files each directory has, by its path in the file system, which the cell knows."""
    (text,) = WORKLOADS["web"].inputs().values()
    counts = Counter(path.rpartition("/")[0] for path in weblog.files(text.splitlines()))
    return {cell["paths"]["web"] + place: float(count) for place, count in counts.items()}
