# SPDX-License-Identifier: LGPL-2.1-or-later
"""What pins had run by run, where a median tells too little, and beside the option without pins."""

from collections.abc import Callable, Sequence

from docs.claims import blocks
from docs.claims.blocks import TO_AUTH
from docs.claims.claim import Claim, Claims
from docs.claims.results import Result, Results
from experiments.common.figures import figures, run_figures
from experiments.common.figures.compare import BASE, LIMIT
from experiments.common.figures.figures import Cell
from experiments.conditions import tables
from lab.errors import LabError

_OURS = "subvolume-pinning"


def _run(results: Results, load: str, balancer: str, run: int) -> Cell:
    return _only(results.matrix, workload=load, balancer=balancer, run=run)


def _only(cells: Sequence[Cell], **has: object) -> Cell:
    """The one cell of these. :raises LabError: there is none"""
    for cell in cells:
        if all(cell[name] == value for name, value in has.items()):
            return cell
    raise LabError(f"no cell of {has} is there")


_RUNS = (1, 2, 3)


def _each_run(load: str, against: str) -> Callable[[Results], Claim]:
    """op/s of runs 1 to 3, of the same number, whether they count or not."""

    def claim(results: Results) -> Claim:
        pairs = [(_run(results, load, _OURS, run), _run(results, load, against, run)) for run in _RUNS]
        text = ", ".join(f"{tables.whole(ours) / tables.whole(other):.2f}" for ours, other in pairs)
        return Claim(text, [cell for pair in pairs for cell in pair], table=False)

    return claim


def _settled(load: str, against: str) -> Callable[[Results], Claim]:
    """Of 30 s, when each had the load for half a minute."""

    def claim(results: Results) -> Claim:
        cells = results.cells(f"quick/{load}-*")
        ours, other = (_only(cells, balancer=name) for name in (_OURS, against))
        return Claim(f"{tables.whole(ours) / tables.whole(other):.2f}", [ours, other], table=False)

    return claim


def _lasted(results: Results) -> Claim:
    """Of the block of zipf that counts, s."""
    cell = _run(results, "zipf", _OURS, 2)
    began, ended = cell["spans"]["run"]
    return Claim(f"{ended - began:.0f}", [cell], table=False)


def _split(results: Results) -> Claim:
    """Of the block of zipf that counts: what its ratio of op/s is the product of: MDS CPU in use, and
    requests an operation and MDS CPU a request, the built-in balancer's over the pins'."""
    made_of = _zipf(results)
    ours, base = ([_mds(cell), _requests(cell) / _mds(cell), 1 / _an_operation(cell)] for cell in made_of)
    used, served, needed = (mine / its for mine, its in zip(ours, base, strict=True))
    return Claim(f"{used:.2f}, {needed:.2f} and {served:.2f}", made_of, table=False)


def _zipf(results: Results) -> list[Result]:
    """The block of it that counts."""
    return [_run(results, "zipf", name, 2) for name in (_OURS, BASE)]


def _by_c(results: Results) -> Claim:
    """op/s / C of its pins."""
    pins, _ = _zipf(results)
    return Claim(f"{blocks.ranks_worth(pins):.1f}", [pins], table=False)


def _mds(cell: Cell) -> float:
    """Cores."""
    return sum(run_figures.cores(cell, who) for who in cell["cpu"][-1]["used"] if who.startswith("mds."))


def _requests(cell: Cell) -> float:
    """A second, forwarded ones too."""
    began, ended = cell["spans"]["run"]
    return float(figures.total(cell, "requests", (began, ended)) / (ended - began))


def _an_operation(cell: Cell) -> float:
    return _requests(cell) / tables.whole(cell)


CLAIMS: Claims = {
    "pinning-zipf-runs": _each_run("zipf", BASE),
    "pinning-zipf-runs-oracle": _each_run("zipf", LIMIT),
    "pinning-mix-runs": _each_run("mix", BASE),
    "pinning-mix-runs-oracle": _each_run("mix", LIMIT),
    "pinning-zipf-lasted": _lasted,
    "pinning-zipf-split": _split,
    "pinning-zipf-by-c": _by_c,
    "settled-zipf-pinning-over-to-auth": _settled("zipf", TO_AUTH),
    "settled-cnn-pinning-over-builtin": _settled("cnn", BASE),
}
