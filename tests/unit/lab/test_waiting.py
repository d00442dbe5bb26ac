# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waiting ends with the first answer, or with an error that says what is missing."""

import pytest

from lab.errors import LabError
from lab.waiting import until


def test_the_first_answer_that_there_is_ends_it() -> None:
    answers = iter([None, False, 0, 1])
    assert until(lambda: next(answers), 5, "an answer", every=0.0) == 0, "nought is an answer"


def test_what_is_missing_is_told() -> None:
    with pytest.raises(LabError, match=r"^not within 0 s: rain$"):
        until(lambda: None, 0, "rain", every=0.0)
    asked: list[int] = []
    with pytest.raises(LabError, match=r"^not within 0.01 s: the \d+th$"):
        until(lambda: asked.append(1), 0.01, lambda: f"the {len(asked)}th", every=0.001)
