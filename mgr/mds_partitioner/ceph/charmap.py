# SPDX-License-Identifier: LGPL-2.1-or-later
"""How directories have names that clients may type otherwise (Tentacle's ``ceph.dir.charmap``)."""

from __future__ import annotations

import json
import threading
import unicodedata
from collections.abc import Callable
from typing import Literal, NamedTuple

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: dict[str, Form] = {"nfc": "NFC", "nfd": "NFD", "nfkc": "NFKC", "nfkd": "NFKD"}
"""Of Unicode, as the client library knows them; under any other it finds no name."""
MOST = 10_000  # directories of which it is remembered


class Charmap(NamedTuple):
    """What the client library makes of a name, in this order (Client::_wrap_name)."""

    form: Form
    fold: bool  # case does not count

    def __call__(self, name: str) -> str:
        """As MDSs have it."""
        name = unicodedata.normalize(self.form, name)
        return name.casefold() if self.fold else name


def parse_charmap(text: str) -> Charmap | None:
    """The attribute's value; None: names are found as they are listed, or not at all."""
    said = json.loads(text)
    form = FORMS.get(said["normalization"])
    return Charmap(form, not said["casesensitive"]) if form else None


class Charmaps:
    """Those of directories by inode number, asked for once; the last ``MOST``. For several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # never held while an MDS is asked
        self._of: dict[int, Charmap | None] = {}

    def find(self, ino: int, ask: Callable[[], Charmap | None]) -> Charmap | None:
        """What is remembered; else what ``ask`` says, or raises."""
        with self._lock:
            if ino in self._of:
                return self._of[ino]
        charmap = ask()
        with self._lock:
            self._of[ino] = charmap
            if len(self._of) > MOST:
                del self._of[next(iter(self._of))]
        return charmap

    def forget(self, ino: int) -> None:
        """It may be another now."""
        with self._lock:
            self._of.pop(ino, None)


def stays(name: str) -> bool:
    """A name or a path that is called the same wherever it is."""
    return name.isascii() and name == name.lower()
