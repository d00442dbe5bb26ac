# SPDX-License-Identifier: LGPL-2.1-or-later
"""A judgement with the directories as they are now: plans may have moved them since the analysis saw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Optional, Union

from ..errors import CephError, NotFound
from ..filesystem import FileSystem
from ..host import Host
from ..judge.judgement import DirectoryJudgement, Judgement
from ..judge.window import Observed
from ..model import NO_PIN, Directory, DirectoryFacts, FsState
from ..observe.directories import facts
from ..observe.subtrees import SubtreeMap, subtree_map

A_CALL = 100  # directories that are read in one: a saturated MDS takes 0.1 s for each of three questions
LOOKED_FOR = 200  # of those with most workload: what a plan does hangs on these


class _Gone:
    """A directory that was deleted or renamed, or another one has its name."""


GONE = _Gone()
Found = Optional[Union[DirectoryFacts, _Gone]]
"""None: it could not be read."""


def present(host: Host, fs: FsState, judgement: Judgement, ours: Mapping[int, int]) -> Judgement:
    """Where directories are is asked of the MDSs; the pin is read of those with most workload, and of those
    whose pin the journal does not explain. What is gone is left out, and told. What cannot be read any more
    stays as it was seen.

    :param ours: the pin that this module last set, by inode number
    :raises PartitionerError: the file system does not answer
    """
    by_workload = sorted(judgement.directories, key=lambda row: -row.workload)
    most = {row.seen.directory.ino for row in by_workload[:LOOKED_FOR]}
    seen = [row.seen for row in judgement.directories]
    doubtful = [
        s.directory for s in seen if s.directory.ino in most or s.pin != ours.get(s.directory.ino, NO_PIN)
    ]
    found = _found(host, fs, doubtful)
    there = [row for row in judgement.directories if found.get(row.seen.directory.ino) is not GONE]
    gone = [d.path for d in doubtful if found.get(d.ino) is GONE]
    where = subtree_map(host, fs, [row.seen.directory.path for row in there])
    pins = {ino: at.pin for ino, at in found.items() if isinstance(at, DirectoryFacts)}
    caveats = replace(judgement.caveats, gone=(*judgement.caveats.gone, *gone))
    rows = tuple(replace(row, seen=_now(row, pins, where)) for row in there)
    return replace(judgement, directories=rows, caveats=caveats)


def _found(host: Host, fs: FsState, directories: Sequence[Directory]) -> dict[int, Found]:
    """By inode number; each call has a deadline of its own."""
    found: dict[int, Found] = {}
    for at in range(0, len(directories), A_CALL):
        some = directories[at : at + A_CALL]
        found |= host.on_fs(fs, partial(_read, some))
    return found


def _read(directories: Sequence[Directory], mount: FileSystem) -> dict[int, Found]:
    return {directory.ino: _look(mount, directory) for directory in directories}


def _look(mount: FileSystem, directory: Directory) -> Found:
    try:
        return facts(mount, directory) if mount.ino(directory.path) == directory.ino else GONE
    except NotFound:
        return GONE
    except CephError:
        return None


def _now(row: DirectoryJudgement, pins: Mapping[int, int], where: SubtreeMap) -> Observed:
    seen = row.seen
    at = replace(seen, pin=pins.get(seen.directory.ino, seen.pin))
    if where.silent:  # what is a silent rank's would seem to be where its parent is
        return at
    path = seen.directory.path
    return replace(at, ranks=where.ranks(path), ephemeral=where.ephemeral(path))
