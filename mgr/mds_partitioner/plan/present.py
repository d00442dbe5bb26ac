# SPDX-License-Identifier: LGPL-2.1-or-later
"""A judgement with the directories as they are now: plans may have moved them since the analysis saw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..filesystem import FileSystem
from ..host import Host
from ..judge.judgement import DirectoryJudgement, Judgement
from ..judge.window import Observed
from ..model import NO_PIN, Directory, DirectoryFacts, FsState
from ..observe.directories import facts
from ..observe.subtrees import SubtreeMap, subtree_map

A_CALL = 100  # directories that are read in one: a saturated MDS takes 0.1 s for each of three questions


def present(host: Host, fs: FsState, judgement: Judgement, ours: Mapping[int, int]) -> Judgement:
    """Where directories are is asked of the MDSs; the pin is read of those whose pin the journal does not
    explain. What cannot be read any more stays as it was seen.

    :param ours: the pin that this module last set, by inode number
    :raises PartitionerError: the file system does not answer
    """
    seen = [row.seen for row in judgement.directories]
    doubtful = [s.directory for s in seen if s.pin != ours.get(s.directory.ino, NO_PIN)]
    pins = _pins(host, fs, doubtful)
    where = subtree_map(host, fs, [s.directory.path for s in seen])
    rows = (replace(row, seen=_now(row, pins, where)) for row in judgement.directories)
    return replace(judgement, directories=tuple(rows))


def _pins(host: Host, fs: FsState, directories: Sequence[Directory]) -> dict[int, int]:
    """By inode number; each call has a deadline of its own."""
    pins: dict[int, int] = {}
    for at in range(0, len(directories), A_CALL):
        some = directories[at : at + A_CALL]
        read = host.on_fs(fs, partial(_read, some))
        pins |= {found.directory.ino: found.pin for found in read if found is not None}
    return pins


def _read(directories: Sequence[Directory], mount: FileSystem) -> list[DirectoryFacts | None]:
    return [facts(mount, directory) for directory in directories]


def _now(row: DirectoryJudgement, pins: Mapping[int, int], where: SubtreeMap) -> Observed:
    seen = row.seen
    at = replace(seen, pin=pins.get(seen.directory.ino, seen.pin))
    if where.silent:  # what is a silent rank's would seem to be where its parent is
        return at
    path = seen.directory.path
    return replace(at, ranks=where.ranks(path), ephemeral=where.ephemeral(path))
