# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which ranks have authority over a directory and what lies below it (``get subtrees``)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..ceph.host import TELLS_TIMEOUT, Host
from ..errors import PartitionerError
from ..model import NO_PIN, FsState, Subtree


def ancestors(path: str) -> Iterator[str]:
    """The path itself, its parent, and so on up to ``/``."""
    while True:
        yield path or "/"
        if path in ("", "/"):
            return
        path = path.rpartition("/")[0]


def above(directories: Iterable[str]) -> frozenset[str]:
    """What the directories are in, up to ``/``."""
    found: set[str] = set()
    level = {path for path in directories if path not in ("", "/")}
    while level:  # by levels, as what is in one directory has all of that in common
        level = {path.rpartition("/")[0] or "/" for path in level} - found
        found |= level
        level.discard("/")
    return frozenset(found)


def parse_subtrees(rank: int, answer: Iterable[Mapping[str, Any]]) -> list[Subtree]:
    """The subtrees of which ``rank`` is the authority; the MDSs' own directories (~mds0) are left out."""
    found = []
    for entry in answer:
        path = str(entry["dir"]["path"])
        if path.startswith("~") or not entry.get("is_auth") or int(entry["auth_first"]) != rank:
            continue
        ephemeral = bool(entry["distributed_ephemeral_pin"] or entry["random_ephemeral_pin"])
        ino = int(str(entry["dir"]["dirfrag"]).partition(".")[0], 16)  # "0x10000000000.01*" is a fragment
        found.append(Subtree(path or "/", rank, int(entry["export_pin"]), ephemeral, ino))
    return found


def with_news(
    known: Mapping[int, list[Subtree]], new: Mapping[int, list[Subtree]]
) -> dict[int, list[Subtree]]:
    """By rank: what those have that were asked and answered; the others have what they had, but for what
    these have now."""
    taken = Counter(subtree.path for found in new.values() for subtree in found)
    return {**{rank: _without(found, taken) for rank, found in known.items()}, **new}


def _without(found: Iterable[Subtree], taken: Counter[str]) -> list[Subtree]:
    """What is left of these. A directory in fragments is listed once for each, and they move one by one."""
    gone, left = Counter[str](), []
    for subtree in found:
        if gone[subtree.path] < taken[subtree.path]:
            gone[subtree.path] += 1
        else:
            left.append(subtree)
    return left


class SubtreeMap:
    """Answers, for a directory, which ranks serve it."""

    def __init__(
        self,
        subtrees: Iterable[Subtree],
        directories: Iterable[str],
        silent: Sequence[int] = (),
        inos: Collection[int] = (),
    ) -> None:
        """``directories``: paths that will be asked for; ``silent``: ranks whose subtrees are not known.

        :param inos: of directories that will be asked for where they are by then: see ``path``
        """
        self.silent = tuple(silent)
        if inos:
            subtrees = list(subtrees)
        self._path = {s.ino: s.path for s in subtrees if s.ino in inos} if inos else {}
        self._at: dict[str, set[int]] = {}
        self._own: dict[str, tuple[int, ...]] = {}  # that were asked for
        self._ephemeral: set[str] = set()
        self._below: dict[str, set[int]] = {}
        self._held: dict[str, set[Subtree]] = {}
        asked = frozenset(directories).union(self._path.values())
        for subtree in subtrees:
            self._at.setdefault(subtree.path, set()).add(subtree.rank)
            if subtree.ephemeral:
                self._ephemeral.add(subtree.path)
            for path in ancestors(subtree.path):
                if path in asked and path != subtree.path:
                    self._below.setdefault(path, set()).add(subtree.rank)
                    if subtree.pin != NO_PIN or subtree.ephemeral:
                        self._held.setdefault(path, set()).add(subtree)

    def path(self, ino: int, before: str) -> str:
        """Where a directory is that was at a path before; one that was renamed is found if a subtree begins
        at it, as does at all that is pinned and has moved."""
        return self._path.get(ino, before)

    def ranks(self, directory: str) -> tuple[int, ...]:
        """Ranks of the directory itself and of the subtrees below it, ascending."""
        own, below = self.own(directory), self._below.get(directory)
        return tuple(sorted({*own, *below})) if below else own

    def own(self, directory: str) -> tuple[int, ...]:
        """Ranks of the directory itself, ascending: one, unless its fragments are on several."""
        path, below = directory or "/", list[str]()
        while path not in self._own and path not in self._at and path != "/":
            below.append(path)
            path = path.rpartition("/")[0] or "/"
        if path not in self._own:
            self._own[path] = tuple(sorted(self._at.get(path, ())))
        own = self._own[path]
        self._own.update(dict.fromkeys(below, own))
        return own

    def held_below(self, directory: str) -> Collection[Subtree]:
        """What below it is held by a pin of its own. All else comes along when the directory is pinned
        (MDBalancer.cc, handle_export_pins)."""
        return self._held.get(directory, ())

    def fixed_below(self, directory: str) -> Collection[tuple[int, int]]:
        """The same: inode numbers and pins; NO_PIN for an ephemeral one."""
        held = self._held.get(directory)
        return {(at.ino, NO_PIN if at.ephemeral else at.pin) for at in held} if held else ()

    def root(self, path: str) -> bool:
        """Does a subtree begin there?"""
        return path in self._at

    def ephemeral(self, directory: str) -> bool:
        """Is the directory itself held by an ephemeral pin?"""
        return directory in self._ephemeral


def subtree_map(
    host: Host,
    fs: FsState,
    paths: Sequence[str],
    within: float = TELLS_TIMEOUT,
    inos: Collection[int] = (),
) -> SubtreeMap:
    """The subtrees as the MDSs have them now; an MDS that does not answer in ``within`` s is silent."""
    active = fs.active()
    answers = host.tell_each(fs, [m.name for m in active], "get subtrees", within=within)
    silent = [m.rank for m in active if isinstance(answers[m.name], PartitionerError)]
    found = [
        subtree for m in active if m.rank not in silent for subtree in parse_subtrees(m.rank, answers[m.name])
    ]
    return SubtreeMap(found, paths, silent, inos)
