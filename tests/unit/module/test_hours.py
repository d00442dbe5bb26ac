# SPDX-License-Identifier: LGPL-2.1-or-later
"""When the scheduler may act: windows that go over midnight or the end of the week."""

from dataclasses import replace
from datetime import datetime

import pytest
from scheduled import DEFAULTS

from mds_partitioner.schedule.hours import closed

SUNDAY, MONDAY, SATURDAY = (datetime(2026, 11, day, 22, 30) for day in (22, 23, 28))


@pytest.mark.parametrize(
    ("at", "begin", "end", "first", "last", "open_"),
    [
        (MONDAY, "0000", "0000", 0, 0, True),
        (MONDAY, "2200", "0600", 0, 0, True),
        (MONDAY, "2231", "0600", 0, 0, False),
        (MONDAY, "0000", "2230", 0, 0, False),
        (MONDAY, "0000", "2400", 0, 0, True),
        (SUNDAY, "0000", "0000", 0, 1, True),
        (MONDAY, "0000", "0000", 0, 1, True),
        (SATURDAY, "0000", "0000", 1, 5, False),
        (SATURDAY, "0000", "0000", 1, 6, True),
        (SATURDAY, "0000", "0000", 6, 1, True),
        (SUNDAY, "0000", "0000", 6, 1, True),
        (MONDAY, "0000", "0000", 6, 1, False),
    ],
)
def test_a_window_is_open_or_says_when_it_is(
    at: datetime, begin: str, end: str, first: int, last: int, open_: bool
) -> None:
    window = replace(DEFAULTS, begin_time=begin, end_time=end, begin_weekday=first, end_weekday=last)
    assert (closed(at, window) == "") == open_


def test_what_is_no_time_of_day_is_told() -> None:
    assert "begin_time is '2500'" in closed(MONDAY, replace(DEFAULTS, begin_time="2500"))
    assert "end_time is '22:00'" in closed(MONDAY, replace(DEFAULTS, end_time="22:00"))


def test_midnight_may_be_written_as_an_end_of_the_day() -> None:
    for begin, end, open_ in (("0000", "2400", True), ("2400", "0000", True), ("2400", "0100", False)):
        assert (closed(MONDAY, replace(DEFAULTS, begin_time=begin, end_time=end)) == "") == open_
