# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan request that cannot be is refused by the name of the bad value."""

from typing import Any

import pytest
from engine_plans import answer, arguments

from mds_partitioner.engine.bad_input import BadInputError


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"ranks": []}, "ranks"),
        ({"ranks": [5]}, "ranks holds 5"),
        ({"all_ranks": "all"}, "all_ranks"),
        ({"cache_inodes": 0}, "cache_inodes"),
        ({"heavy_mode": "both"}, "heavy_mode"),
        ({"capacity": 0}, "capacity"),
        ({"min_gain": -0.1}, "min_gain"),
        ({"current_mask": 3}, "current_mask"),
        ({"wss": [1, 2, 3, -4]}, r"subvolumes\.wss\[3\]"),
        ({"wss": [1, 2, 3]}, "subvolumes"),
        ({"reqs": [1, 2, 3, "4"]}, r"subvolumes\.reqs\[3\]"),
        ({"rentries": [1, None, 3, 4]}, r"subvolumes\.rentries\[1\]"),
        ({"current": [[0], [1], [2], 2]}, r"subvolumes\.current\[3\]"),
        ({"current": [[0], ["1"], [2], [2]]}, r"subvolumes\.current\[1\]"),
        ({"current": [[0]]}, r"subvolumes\.current"),
        ({"fixed": [None, None, None, 1]}, r"subvolumes\.fixed"),
        ({"fixed": [None]}, r"subvolumes\.fixed"),
        ({"children": {"4": {"weights": [], "current": []}}}, "children"),
        ({"children": {"first": {"weights": [], "current": []}}}, "children"),
        ({"children": {"0": [1, 2]}}, r"children\.0"),
        ({"children": {"0": {"weights": [1], "current": [], "staying": 0}}}, r"children\.0\.current"),
    ],
)
def test_bad_input_is_refused_by_name_with_what_is_allowed(changes: dict[str, Any], named: str) -> None:
    args = arguments(**{"current": [[0], [1], [2], [2]]} | changes)
    with pytest.raises(BadInputError, match=f"{named}.*allowed"):
        answer(args)
