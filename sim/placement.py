# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which rank had what when a recorded cell began, fragments of directories included."""

import functools
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_CELLS = Path(__file__).resolve().parents[1] / "docs/results/bench"
_WORD = 0xFFFFFFFF
_FRAG_BITS = 24  # ceph_frag: of a hash, its lowest 24 bits, the highest of these first


@dataclass(frozen=True)
class Placement:
    """:ivar subtrees: ranks by path, or by path and fragment ("/a#01*": names whose hash begins with 01)"""

    subtrees: Mapping[str, int]

    def rank(self, path: PurePosixPath) -> int:
        """The rank that has a directory's entries, or those of it that are not in a fragment elsewhere."""
        if str(path) in self.subtrees or path == path.parent:
            return self.subtrees.get(str(path), 0)
        return self._entry(path.parent, path.name)

    def _entry(self, directory: PurePosixPath, name: str) -> int:
        bits = f"{name_hash(name.encode()) & ((1 << _FRAG_BITS) - 1):0{_FRAG_BITS}b}"
        for length in range(1, _FRAG_BITS + 1):
            fragment = f"{directory}#{bits[:length]}*"
            if fragment in self.subtrees:
                return self.subtrees[fragment]
        return self.rank(directory)


def recorded(workload: str) -> Placement:
    """Of the workload's cell of dir-hash; what is in a subvolume is in ``data`` there."""
    with gzip.open(_CELLS / f"{workload}-tentacle-5x12-dir-hash-1.json.gz") as file:
        cell = json.load(file)
    first = next(sample["subtrees"] for sample in cell["samples"] if sample["subtrees"])
    uuids = [path.rpartition("/")[2] for path in cell["paths"].values()]
    return Placement({_unnamed(key, uuids): int(rank) for key, rank in first.items()})


def _unnamed(key: str, uuids: list[str]) -> str:
    return functools.reduce(lambda text, uuid: text.replace(f"/{uuid}", "/data"), uuids, key)


def name_hash(name: bytes) -> int:
    """ceph_str_hash_rjenkins (src/common/ceph_hash.cc): Jenkins' hash of 1996, 32 bits."""
    a = b = 0x9E3779B9
    c = 0
    whole = len(name) - len(name) % 12
    for at in range(0, whole, 12):
        words = [int.from_bytes(name[k : k + 4], "little") for k in (at, at + 4, at + 8)]
        a, b, c = _mixed(a + words[0], b + words[1], c + words[2])
    rest = name[whole:]
    a += int.from_bytes(rest[:4], "little")
    b += int.from_bytes(rest[4:8], "little")
    c += len(name) + (int.from_bytes(rest[8:], "little") << 8)  # its lowest byte is the length's
    return _mixed(a, b, c)[2]


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for first, second, third in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = ((a - b - c) & _WORD) ^ ((c & _WORD) >> first)
        b = ((b - c - a) ^ (a << second)) & _WORD
        c = ((c - a - b) & _WORD) ^ (b >> third)
    return a, b, c
