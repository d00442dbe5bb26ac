# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `lab.bench.calm` makes of a run's samples."""

from typing import Any

import pytest

from lab.bench.calm import row, table

SECONDS = 60


def cell(even_from: int, uneven_again: int = SECONDS + 1) -> dict[str, Any]:
    """Two ranks, 400 req/s; all on rank 0 but between two seconds."""
    served, samples = [0.0, 0.0], []
    for second in range(-15, SECONDS + 1):
        even = even_from <= second < uneven_again
        served = [served[0] + (200 if even else 400), served[1] + (200 if even else 0)]
        exported = 500 if second >= even_from else 0
        ranks = {
            str(rank): {"requests": n, "forwards": 0, "exported_inodes": exported * (1 - rank)}
            for rank, n in enumerate(served)
        }
        samples.append({"t": float(second), "ranks": ranks})
    clients = [[float(second), 400.0] for second in range(1, SECONDS + 1)]
    return {
        "balancer": "now",
        "run": 1,
        "ranks": 2,
        "capacity": 400.0,
        "spans": {"read": [0.0, float(SECONDS)]},
        "samples": samples,
        "clients": clients,
    }


def test_beats_are_counted_until_the_factor_stays_low() -> None:
    found = row(cell(even_from=20))
    assert found["beats_until_first_export"] == pytest.approx(2.0)
    assert 2.0 < found["beats_until_calm"] <= 3.0, "the factor is of ten seconds"
    assert found["inodes_migrated"] == 500
    assert found["ops_per_s"] == 400


def test_a_run_that_is_uneven_at_its_end_was_never_calm() -> None:
    found = row(cell(even_from=20, uneven_again=45))
    assert found["beats_until_calm"] is None
    text = table({"command": "python3 -m lab.bench.calm", "runs": [found]})
    assert "| now, run 1 | never | 2.0 | 500 | 400 |" in text
