# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's blocks, beside the model."""

import pytest

from sim.cold import CELLS, block, measured, simulated
from sim.fit import requests_of


def test_a_block_is_what_its_cells_say() -> None:
    found = measured(block(CELLS / "cold", 12, "nlp"))
    assert set(found) == {"builtin", "builtin-to-auth", "scheduler", "oracle"}
    # docs/results/cold/nlp-figures.md
    assert found["scheduler"].speed / found["builtin-to-auth"].speed == pytest.approx(2.32, abs=0.01)
    assert found["builtin-to-auth"].forwards == pytest.approx(308_663 / (1_261 * 300), rel=0.01)


def test_the_option_slows_a_scan_and_the_scheduler_does_not_share_that() -> None:
    able, requests = 1058.0, {"cnn": requests_of("cnn")}
    names = ("builtin", "builtin-to-auth", "scheduler")
    found = {name: simulated("cnn", name, requests, able, 1) for name in names}
    assert found["builtin-to-auth"].forwards == pytest.approx(0.8, abs=0.1)
    assert found["scheduler"].forwards < 0.1
    assert found["builtin-to-auth"].speed < 0.9 * found["builtin"].speed
    assert found["scheduler"].speed > 1.5 * found["builtin-to-auth"].speed
