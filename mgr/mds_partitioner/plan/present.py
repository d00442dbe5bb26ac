# SPDX-License-Identifier: LGPL-2.1-or-later
"""A judgement with the directories as they are now: plans may have moved them since the analysis saw them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..ceph.filesystem import FileSystem
from ..ceph.host import Host
from ..ceph.mounts import LOST
from ..errors import CephError, NotFound
from ..judge.judgement import DirectoryJudgement, Judgement
from ..judge.window import Observed
from ..model import NO_PIN, Directory, FsState
from ..observe.subtrees import SubtreeMap, subtree_map

A_CALL = 100  # directories in one call: three questions each, and a saturated MDS takes 0.1 s for one
IDLE = 1.0  # req/s: who has more is in some cache
LOOKED_FOR = 200  # of those with most workload: what a plan does hangs on these; and parents of the others


def present(host: Host, fs: FsState, judgement: Judgement, ours: Mapping[int, int]) -> Judgement:
    """Where directories are is asked of the MDSs; the pin is read of those with most workload, and of those
    whose pin the journal does not explain; of the others it is seen whether their parents still have them.
    What is gone is left out, of the ranks' loads, too, and told. What cannot be read any more stays as it was
    seen.

    :param ours: the pin that this module last set, by inode number
    :raises PartitionerError: the file system does not answer, or the mount is lost
    """
    by_workload = sorted(judgement.directories, key=lambda row: -row.workload)
    most = {row.seen.directory.ino for row in by_workload[:LOOKED_FOR]}
    seen = [row.seen for row in judgement.directories]
    doubtful = [
        s.directory for s in seen if s.directory.ino in most or s.pin != ours.get(s.directory.ino, NO_PIN)
    ]
    pins, gone = _read(host, fs, doubtful)
    looked_at = {d.ino for d in doubtful}
    gone |= _deleted(host, fs, [s.directory for s in seen if s.directory.ino not in looked_at])
    there = [row for row in judgement.directories if row.seen.directory.ino not in gone]
    where = subtree_map(host, fs, [row.seen.directory.path for row in there])
    left_out = (s.directory.path for s in seen if s.directory.ino in gone)
    caveats = replace(judgement.caveats, gone=(*judgement.caveats.gone, *left_out))
    if not where.silent:
        caveats = replace(caveats, unmapped=())
    gone_from = Counter[int]()
    for row in judgement.directories:
        gone_from.update(row.seen.by_rank if row.seen.directory.ino in gone else {})
    ranks = tuple(replace(rank, load=max(0.0, rank.load - gone_from[rank.rank])) for rank in judgement.ranks)
    rows = tuple(replace(row, seen=_now(row, pins, where, fs.ranks_in)) for row in there)
    return replace(judgement, directories=rows, ranks=ranks, caveats=caveats)


def _read(host: Host, fs: FsState, directories: Sequence[Directory]) -> tuple[dict[int, int], set[int]]:
    """Pins by inode number, and inode numbers of what was deleted or renamed; each call has a deadline of its
    own.

    :raises PartitionerError: the file system does not answer, or the mount is lost
    """
    pins: dict[int, int] = {}
    gone: set[int] = set()
    for at in range(0, len(directories), A_CALL):
        found, missing = host.on_fs(fs, partial(_look, directories[at : at + A_CALL]))
        pins, gone = pins | found, gone | missing
    return pins, gone


def _look(directories: Sequence[Directory], mount: FileSystem) -> tuple[dict[int, int], set[int]]:
    pins: dict[int, int] = {}
    gone: set[int] = set()
    for directory in directories:
        try:
            if mount.ino(directory.path) == directory.ino and not mount.over_link(directory.path):
                pins[directory.ino] = mount.pin(directory.path)
            else:
                gone.add(directory.ino)
        except NotFound:
            gone.add(directory.ino)
        except CephError as e:  # it stays as it was seen
            if e.code in LOST:
                raise
    return pins, gone


def _deleted(host: Host, fs: FsState, directories: Sequence[Directory]) -> set[int]:
    """Inode numbers of those that their parents do not have any more, a call for a parent: of subvolumes that
    is their group. Of parents those with most of them.

    :raises PartitionerError: the file system does not answer, or the mount is lost
    """
    by_parent = defaultdict[str, set[int]](set)
    for directory in directories:
        by_parent[directory.path.rpartition("/")[0] or "/"].add(directory.ino)
    most = sorted(by_parent, key=lambda path: (-len(by_parent[path]), path))[:LOOKED_FOR]
    there = ((by_parent[path], host.on_fs(fs, partial(_in, path))) for path in most)
    return {ino for inos, found in there if found is not None for ino in inos - found}


def _in(path: str, mount: FileSystem) -> set[int] | None:
    """Inode numbers of the directories in one; None: it cannot be listed."""
    try:
        return set() if mount.over_link(f"{path}/.") else {ino for _, ino in mount.subdirectories(path)}
    except NotFound:
        return set()
    except CephError as e:
        if e.code in LOST:
            raise
        return None


def _now(
    row: DirectoryJudgement, pins: Mapping[int, int], where: SubtreeMap, in_use: Collection[int]
) -> Observed:
    """``in_use``: ranks that exist"""
    seen = row.seen
    at = replace(seen, pin=pins.get(seen.directory.ino, seen.pin))
    if where.silent:  # what is a silent rank's would seem to be where its parent is
        return at
    path = seen.directory.path
    # What nobody uses may be in no cache, and is on the rank of its pin when somebody does.
    ranks = where.ranks(path)
    sleeps = seen.requests < IDLE and at.pin in in_use and len(ranks) == 1 and not where.root(path)
    return replace(at, ranks=(at.pin,) if sleeps else ranks, ephemeral=where.ephemeral(path))
