# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures of what is claimed show all that there is, and can be read."""

import pytest

from docs.claims import pictures
from docs.claims.pictures import PICTURES, Picture
from docs.claims.results import Results
from experiments.common.figures.compare import BASE, LIMIT
from experiments.conditions.tables import OURS
from lab.sandbox import checkout

RESULTS = Results(checkout() / pictures.HOME)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.place)
def test_each_ratio_is_within_the_axis_and_has_its_balancer_told(picture: Picture) -> None:
    panels = [dots(RESULTS) for dots in picture.panels.values()]
    found = [dot for panel in panels for dots in panel.values() for dot in dots]
    assert all(any(panel.values()) for panel in panels)
    assert all(0.8 * min(picture.ticks) < dot.ratio < 1.25 * max(picture.ticks) for dot in found)
    assert all(-1.0 <= dot.up <= 1.0 for dot in found)
    told = {dot.balancer for dot in found}
    assert told == set(picture.legend) if picture.legend else told & {OURS, LIMIT} and BASE not in told


def test_the_newest_block_alone_is_filled() -> None:
    (panel, *_) = PICTURES[0].panels.values()
    for dots in panel(RESULTS).values():
        assert {dot.up for dot in dots if dot.filled} <= {1.0}


def test_the_greatest_loss_by_what_a_rank_serves_is_drawn() -> None:
    (panel, *_) = PICTURES[0].panels.values()
    assert min((dot.ratio, dot.mark) for dot in panel(RESULTS)["dbench"]) == (
        pytest.approx(0.81, abs=0.01),
        "D",
    )


def test_what_may_be_chance_is_the_loads_own() -> None:
    chance = PICTURES[0].chance(RESULTS)
    assert chance("mix") > chance("nlp")
