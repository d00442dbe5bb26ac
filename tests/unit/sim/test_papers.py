# SPDX-License-Identifier: LGPL-2.1-or-later
"""Papers are found by name."""

import pytest

from sim import papers
from sim.errors import SimError


def test_an_unknown_paper_is_named_with_those_there_are() -> None:
    with pytest.raises(SimError, match=r"'nosuch' is no paper; allowed: "):
        papers.load("nosuch")


def test_every_paper_has_its_own_name() -> None:
    for name in papers.names():
        assert name == papers.load(name).NAME
