# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the run with a masked directory concludes from the maps of subtrees."""

from typing import Any

import pytest

from lab.hook_mask import fine, held, ranks_of

MASKED = "/v/m0"


@pytest.mark.parametrize(
    ("subtrees", "ranks"),
    [
        ({"/": 0}, {0}),
        ({"/": 0, "/v": 2}, {2}),
        ({"/": 0, "/v/m0": 1}, {1}),
        ({"/": 0, "/v/m0/d": 3}, {0, 3}),
        ({"/": 0, "/v/m0#0*": 1, "/v/m0#1*": 2}, {1, 2}),
        ({"/": 0, "/v/m0": 1, "/v/m01": 3}, {1}),
    ],
)
def test_a_directory_is_on_its_own_ranks_and_on_those_of_what_is_below(
    subtrees: dict[str, int], ranks: set[int]
) -> None:
    assert ranks_of(subtrees, MASKED) == ranks


def samples(*maps: dict[str, int] | None) -> list[dict[str, Any]]:
    return [{"t": float(t), "subtrees": subtrees} for t, subtrees in enumerate(maps)]


def test_a_map_with_the_directory_elsewhere_is_counted() -> None:
    seen = samples({"/": 0, MASKED: 1}, None, {"/": 0, MASKED: 3}, {"/": 0, MASKED: 3})
    assert held(seen, (0.0, 2.5), MASKED, {1, 2})["maps_with_it_elsewhere"] == 1


def test_moves_of_the_masked_directory_are_not_those_of_others() -> None:
    seen = samples({"/": 0, MASKED: 1, "/v/m1": 0}, {"/": 0, MASKED: 2, "/v/m1": 3})
    assert held(seen, (0.0, 9.0), MASKED, {1, 2})["moves_of_others"] == 1


def turn(moves: int = 1, elsewhere: int = 0, maps: int = 5) -> dict[str, Any]:
    look = {"maps": maps, "maps_with_it_elsewhere": elsewhere, "moves_of_others": moves}
    return {**look, "after_restarts": look}


def test_a_mask_held_when_others_moved_and_it_never_did() -> None:
    assert fine(turn())
    assert not fine(turn(moves=0))
    assert not fine(turn(elsewhere=1))
    assert not fine(turn(maps=0))
