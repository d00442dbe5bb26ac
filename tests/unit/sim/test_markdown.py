# SPDX-License-Identifier: LGPL-2.1-or-later
"""What reports look like as text."""

from sim.markdown import WIDTH, wrapped

LONG = " ".join(["word"] * 40)


def test_only_long_prose_is_filled_again() -> None:
    kept = f"# {LONG}\n\nshort\nlines\n\n| {LONG} |\n\n```\n{LONG}\n```\n\n    {LONG}"
    assert wrapped(kept) == kept


def test_a_paragraph_and_an_item_keep_their_words_and_their_form() -> None:
    text = f"{LONG}\nend\n\n- {LONG}\n  more\n- next"
    lines = wrapped(text).split("\n")
    assert max(map(len, lines)) <= WIDTH
    assert " ".join(lines).split() == text.split()
    assert [line[:2] for line in lines] == ["wo", "wo", "en", "", "- ", "  ", "  ", "- "]
