# SPDX-License-Identifier: LGPL-2.1-or-later
"""A trial with directories that are made and deleted all the time, in pairs of runs."""

from collections.abc import Sequence

from docs.claims.blocks import TO_AUTH
from docs.claims.claim import Claim
from docs.claims.results import Result, Results
from experiments.common.figures.compare import BASE
from experiments.conditions.tables import OURS
from lab.errors import LabError


def pairs(results: Results) -> Claim:
    """The scheduler's op/s to the built-in balancer's, without and with the option; the smaller first."""
    (trial,) = results.json("scheduler/churn-trial.json")
    runs = trial["runs"]
    of = {way: [run for run in runs if run["way"] == way] for way in (BASE, TO_AUTH, OURS)}
    if not of[OURS] or len(of[OURS]) != len(of[BASE]):
        raise LabError("the churn trial has no pairs of runs of the scheduler and the built-in balancer")
    found = zip(of[OURS], of[BASE], strict=True)
    told = sorted((_ratio(ours, base), _with_option(ours, of[TO_AUTH])) for ours, base in found)
    return Claim(" and ".join(f"{ratio:.1f} ({beside})" for ratio, beside in told), runs, table=False)


def _with_option(ours: Result, others: Sequence[Result]) -> str:
    """To the run with it by the same command."""
    ratios = [f"{_ratio(ours, other):.1f}" for other in others if other["date"] == ours["date"]]
    return ", ".join(ratios) or "no such run"


def _ratio(ours: Result, other: Result) -> float:
    return float(ours["ops"] / other["ops"])
