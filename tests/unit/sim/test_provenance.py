# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every parameter of a paper's system says where it is from."""

import pytest

import sim.papers.dgist.setting as dgist
import sim.papers.tpps.setting as tpps
from sim.provenance import ASSUMED, PAPER, rows


@pytest.mark.parametrize("setting", [tpps.Setting(), dgist.Setting()])
def test_every_parameter_says_where_it_is_from(setting):
    found = rows(setting)
    assert {origin for _, _, origin, _ in found} == {PAPER, ASSUMED}
    assert all(why for _, _, _, why in found)
