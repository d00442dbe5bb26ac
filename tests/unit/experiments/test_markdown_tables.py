# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of pages."""

from experiments.common.figures.markdown import table


def test_text_is_on_the_left_and_numbers_are_on_the_right() -> None:
    assert table(["", "op/s"], [["built-in", "1,000"]]) == "|  | op/s |\n|---|---:|\n| built-in | 1,000 |"
    assert table(["check", "meaning"], [["a", "b"]], left=2).splitlines()[1] == "|---|---|"


def test_a_cell_stays_one() -> None:
    assert table(["a"], [["on|off\n now"]]).splitlines()[2] == r"| on\|off now |"


def test_nothing_is_shown_without_a_row() -> None:
    assert table(["a", "b"], []) == ""
