# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every policy and every system of the papers on the same scenarios."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import Template

from sim import scenario
from sim.compare.picture import draw
from sim.compare.scores import Scores, scored, seen
from sim.compare.tables import LEGEND, of_all, of_scenario
from sim.parallel import each
from sim.policies import POLICIES
from sim.policies.service import Placed
from sim.scenario import Scenario
from sim.stamp import stamp

SCENARIOS = (
    "one-hot-rank",
    "zipf-uneven",
    "line-evaluation",
    "hot-set-jumps-2min",
    "flash-crowd",
    "churn-distributed",
    "scan",
    "rank-slower",
    "rank-dies",
    "line-36x3000",
    "day-and-night",
)
FORWARDED = "one-hot-rank-forwards"  # the one in which ranks are set as they come
FORWARDS = f"""`mds_forward_all_requests_to_auth` is set, for all policies alike, in every scenario but
`{FORWARDED}`, where only `plan`, `scheduler` and `ephemeral` set it, as they always do."""
AS_IT_IS = "`mds_forward_all_requests_to_auth` is as each scenario has it, unless a policy sets it."
SEEDS = (1,)
WIDTH = 100  # of a terminal


def compare(names: Sequence[str], seeds: Sequence[int], workers: int, out: Path) -> str:
    """Run all, write ``all.md`` and its picture to ``out``. The tables, for a terminal.

    :param names: of scenarios, as they are; ``standard`` without one
    :param workers: runs at once; 0: one a core
    """
    scenarios = scenario.find(list(names)) if names else standard()
    wanted = [(one, (policy, seed)) for one in scenarios for policy in POLICIES for seed in seeds]
    scores = scored(scenarios, tuple(POLICIES), seeds, each(wanted, seen, workers))
    out.mkdir(parents=True, exist_ok=True)
    draw(scores, out / "all.png")
    (out / "all.md").write_text(_page(scenarios, seeds, scores, AS_IT_IS if names else FORWARDS))
    titled = [(f"{one.name}: {one.about}", of_scenario(scores[one.name], False)) for one in scenarios]
    tables = [f"{textwrap.fill(title, WIDTH)}\n{table}" for title, table in titled]
    return "\n\n".join([*tables, f"All scenarios\n{of_all(scores, False)}", textwrap.fill(LEGEND, WIDTH)])


def standard() -> list[Scenario]:
    """``SCENARIOS`` with mds_forward_all_requests_to_auth set, so that decisions are compared and not
    forwards, which some policies turn off and others do not; and one that tells what forwards do."""
    found = scenario.find(list(SCENARIOS))
    quiet = [replace(one, ranks=replace(one.ranks, to_auth=True)) for one in found]
    return [*quiet, *scenario.find([FORWARDED])]


def _page(scenarios: Sequence[Scenario], seeds: Sequence[int], scores: Scores, forwards: str) -> str:
    return Template(Path(__file__).with_name("all.md.in").read_text()).substitute(
        count=len(scenarios),
        seeds=", ".join(map(str, seeds)),
        forwards=forwards,
        services=", ".join(f"`{name}`" for name, policy in POLICIES.items() if issubclass(policy, Placed)),
        summary=of_all(scores, True),
        stamp=textwrap.fill(stamp(), WIDTH, break_on_hyphens=False),
        scenarios="\n\n".join(
            f"## {one.name}\n\n{textwrap.fill(one.about, WIDTH)}\n\n{of_scenario(scores[one.name], True)}"
            for one in scenarios
        ),
    )
