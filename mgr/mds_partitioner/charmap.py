# SPDX-License-Identifier: LGPL-2.1-or-later
"""How directories have names that clients may type otherwise (Tentacle's ``ceph.dir.charmap``)."""

from __future__ import annotations

import json
import unicodedata
from typing import Literal, NamedTuple

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: dict[str, Form] = {"nfc": "NFC", "nfd": "NFD", "nfkc": "NFKC", "nfkd": "NFKD"}
"""Of Unicode, as the client library knows them; under any other it finds no name."""


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


def stays(name: str) -> bool:
    """A name or a path that is called the same wherever it is."""
    return name.isascii() and name == name.lower()
