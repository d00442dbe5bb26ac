# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the analyses that run are to sample, in the mon's key/value store: the next manager goes on with it.

analysis/FSCID     where it fits into a key; earlier versions read it, too
asked/FSCID/...    of more directories than that: an ``Archive``
"""

from __future__ import annotations

from ..errors import BadInput
from ..store import Store, by_fs
from .analysis import Asked
from .archive import PART, Archive

KEY = "analysis/"
FEWER = 0.9  # paths are not all as long, nor compressed as well


class Wanted:
    """One of a file system."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._large = Archive(store, "asked/", Asked)

    def save(self, fscid: int, asked: Asked) -> None:
        """In place of the last one.

        :raises BadInput: it names too many directories; nothing has changed
        :raises PartitionerError: the mon did not take it
        """
        text = asked.to_json()
        if len(text) <= PART:
            self._large.forget(fscid)
            self._store.put(f"{KEY}{fscid}", text)
            return
        share, named = self._large.share(fscid, asked), len(asked.directories)
        if share > 1.0:
            fit = int(FEWER * named / share)
            raise BadInput(f"{named} directories are too many to be kept: give some {fit}")
        self._store.delete(f"{KEY}{fscid}")
        self._large.save(fscid, asked)

    def load(self) -> dict[int, Asked | ValueError]:
        """All of them, by file system; an error where it cannot be read.

        :raises PartitionerError: the mon does not answer
        """
        items = self._store.items(KEY)
        return {**self._large.load(), **{fscid: _read(items[key]) for fscid, _, key in by_fs(items, KEY)}}

    def forget(self, fscid: int) -> None:
        """Its analysis has ended. :raises PartitionerError: not all of it"""
        self._store.delete(f"{KEY}{fscid}")
        self._large.forget(fscid)


def _read(text: str) -> Asked | ValueError:
    try:
        return Asked.from_json(text)
    except ValueError as e:
        return e
