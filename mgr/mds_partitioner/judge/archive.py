# SPDX-License-Identifier: LGPL-2.1-or-later
"""What analyses found, and have seen so far, in the mon's key/value store: it outlives the manager.

ROOT/FSCID/seal     its format, which body is the newest, of how many parts, and its digest; written last
ROOT/FSCID/seal/M   the same; where there is one, the highest M is read, and no other
ROOT/FSCID/ID/NNNN  the body, compressed, in parts (the mon takes 64 KiB a key)

A body's ID is used once, so a save that a dying manager left half done is never read; the next one removes
it. M is the manager's incarnation, which its bodies' IDs begin with, too: nothing that a replaced manager
writes late is read, nor does it remove what its successors wrote. So one that takes over writes anew what it
read. Versions up to 0.9.1 know ``seal`` alone, and remove all others; so they and this one may take turns.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
import zlib
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar, cast, get_args, get_type_hints

from ..store import NewerFormat, Store, by_fs, marked, unmarked
from .judgement import Judgement

PART = 48 * 1024  # characters; ASCII, so bytes
SEAL = "seal"
MOST_PARTS = 64  # 3 MiB: some 60,000 directories
DIGITS = 6  # of a number that are kept
PLAIN = frozenset((str, int, bool, type(None)))  # kept as they are

T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """An analysis that has ended."""

    fs: str
    duration: int  # s
    epochs: int
    state: str
    ended: float  # Unix, s
    judgement: Judgement
    part: float = 1.0  # of its time, that it had


def decode(kind: type[T], value: Any) -> T:
    """A frozen dataclass from its ``asdict``: tuples, enums and None as they were.

    The types of its fields are looked at, and Python 3.9 knows Optional[float], not "float | None".
    """
    return cast(T, _decode(kind, value))


def _decode(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return cast(Any, kind)(
            **{f.name: _decode(hints[f.name], value[f.name]) for f in fields(kind) if f.name in value}
        )
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    inner = [argument for argument in get_args(kind) if argument not in (type(None), Ellipsis)]
    if inner and isinstance(value, list):
        return tuple(_decode(inner[0], item) for item in value)
    return _decode(inner[0], value) if inner else value


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    """Of a dataclass's fields; () where it is none."""
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()


def _short(value: Any) -> Any:
    """As ``asdict``, with numbers of DIGITS digits: half the size, and no judgement hangs on more."""
    kind = value.__class__
    if kind is float:
        return float(f"{value:.{DIGITS}g}") if value < 1e6 else round(value)
    if kind in PLAIN:
        return value
    if names := _names(kind):
        return {name: _short(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, (list, tuple)) else value


def _dumps(value: Any) -> str:
    return json.dumps(_short(value), separators=(",", ":"))


class Archive(Generic[T]):
    """One value of a kind, a file system."""

    def __init__(
        self,
        store: Store,
        root: str,
        kind: type[T],
        often: type[Any] | tuple[()] = (),
        incarnation: int | None = None,
    ) -> None:
        """``root``: of the keys, with its slash; ``kind``: a dataclass.

        :param often: of what its tuples hold, if most of that is the same from one save to the next
        :param incarnation: it grows with each manager that becomes active; None: whoever saves last is read
        """
        self._store, self._root, self._kind, self._often = store, root, kind, often
        self._me = "" if incarnation is None else f"{incarnation:010d}"
        self._seals = (SEAL,) if incarnation is None else (f"{SEAL}/{self._me}", SEAL)
        # By file system and id(): what was kept last of ``often``, and its text.
        self._written: dict[int, dict[int, tuple[Any, str]]] = {}

    def save(self, fscid: int, value: T) -> bool:
        """Keep it in place of the one before; False: it is too large to be kept.

        :raises PartitionerError: the mon did not take it
        """
        body = self._body(fscid, value)
        parts = [body[i : i + PART] for i in range(0, len(body), PART)]
        if len(parts) > MOST_PARTS:
            return False
        id_, where = f"{self._me}-{uuid.uuid4().hex}".lstrip("-"), f"{self._root}{fscid}/"
        for i, part in enumerate(parts):
            self._store.put(f"{where}{id_}/{i:04d}", part)
        seal = marked({"id": id_, "parts": len(parts), "digest": _digest(body)})
        for name in self._seals:
            self._store.put(f"{where}{name}", json.dumps(seal))
        for key in self._store.items(where):
            if self._passed(key.removeprefix(where), id_):
                self._store.delete(key)
        return True

    def share(self, fscid: int, value: T) -> float:
        """How much of the room that there is it takes: over 1, and it is too large to be kept."""
        return len(self._body(fscid, value)) / (MOST_PARTS * PART)

    def load(self) -> dict[int, T | ValueError]:
        """What was kept, by file system; an error where it cannot be read.

        :raises PartitionerError: the mon does not answer
        """
        items, found = self._store.items(self._root), dict[int, dict[str, str]]()
        for fscid, rest, key in by_fs(items, self._root):
            found.setdefault(fscid, {})[rest] = items[key]
        return {fscid: self._read(values) for fscid, values in found.items() if any(map(_is_seal, values))}

    def forget(self, fscid: int) -> None:
        """Remove what was kept of a file system, the seals first, whether they are there already or their
        writes are not answered yet: the mon keeps the order. :raises PartitionerError: not all of it."""
        self._written.pop(fscid, None)
        where = f"{self._root}{fscid}/"
        for name in self._seals:
            self._store.delete(f"{where}{name}")
        for key in sorted(self._store.items(where), key=lambda key: not _is_seal(key.removeprefix(where))):
            self._store.delete(key)

    def _passed(self, name: str, id_: str) -> bool:
        """Is a key of what was saved before? None of a later manager's is. ``id_``: of what is new"""
        first, _, rest = name.partition("/")
        saved_by = rest if first == SEAL else first.rpartition("-")[0]
        old = not self._me or saved_by <= self._me
        return old and first != id_ and name not in self._seals

    def _body(self, fscid: int, value: T) -> str:
        return base64.b85encode(zlib.compress(self._text(fscid, value).encode())).decode()

    def _text(self, fscid: int, value: Any) -> str:
        """Nothing of ``often`` is written out anew that is the same object as at the last save."""
        before, now = self._written.get(fscid, {}), dict[int, tuple[Any, str]]()

        def again(item: Any) -> str:
            now[id(item)] = before.get(id(item)) or (item, _dumps(item))
            return now[id(item)][1]

        def field(of: Any) -> str:
            often = isinstance(of, tuple) and of and isinstance(of[0], self._often)
            return f"[{','.join(map(again, of))}]" if often else _dumps(of)

        text = ",".join(f'"{name}":{field(getattr(value, name))}' for name in _names(value.__class__))
        self._written[fscid] = now
        return f"{{{text}}}"

    def _read(self, values: dict[str, str]) -> T | ValueError:
        try:
            seal = unmarked(json.loads(values[max(filter(_is_seal, values))]))
            body = "".join(values[f"{seal['id']}/{i:04d}"] for i in range(seal["parts"]))
            if _digest(body) != seal["digest"]:
                return ValueError("its digest does not fit")
            return decode(self._kind, json.loads(zlib.decompress(base64.b85decode(body))))
        except NewerFormat as e:
            return e
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, zlib.error) as e:
            return ValueError(f"{type(e).__name__}: {e}")


def _is_seal(name: str) -> bool:
    """Is a key, without its file system, a seal's?"""
    return name.partition("/")[0] == SEAL


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
