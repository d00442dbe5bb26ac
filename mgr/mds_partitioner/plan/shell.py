# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names as words of a command that an operator pastes into bash."""

import os
import shlex


def word(text: str) -> str:
    r"""One printable word that bash reads as exactly these bytes; bytes that are not UTF-8 are surrogates.

    Plain quotes keep what is printable; all else, and what an interactive bash would act on in them (``!``),
    needs ``$'...'``, where ``\n`` and ``\xHH`` stand for bytes (bash(1), QUOTING).
    """
    if text.isprintable() and not set(text) & {"'", "!"}:
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(char: str) -> str:
    if char in ("\\", "'"):
        return f"\\{char}"
    if char == "\n":
        return "\\n"
    if char.isprintable() and char != "!":
        return char
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
