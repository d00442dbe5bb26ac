# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a plan depends on beside the judgement: the file system as it is, what is asked for, what is ours."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ..ceph.filesystem import NO_MASK, FileSystem
from ..ceph.host import Host
from ..ceph.mounts import LOST
from ..engine.names import HEAVY, MASK, MODES
from ..errors import BadInput, CephError, NotFound
from ..judge.judgement import Judgement
from ..model import NO_PIN, Directory, FsState, Subtree
from ..observe.children import Brood, Lasts, Placed, brood, placed
from ..observe.subtrees import SubtreeMap, ancestors, subtree_map
from ..observe.turnover import listable
from .plan import DISTRIBUTED_STEP, FS_STEP, MASK_STEP, PIN_STEP, RANK_MASK, About
from .present import A_CALL, LOOKED_FOR
from .ranks import format_ranks

DISTRIBUTES, FACTOR = "mds_export_ephemeral_distributed", "mds_export_ephemeral_distributed_factor"
TO_AUTH, FORWARDS = "mds_forward_all_requests_to_auth", "true"


def check_mode(heavy: str) -> None:
    """:raises BadInput: a way to place heavy subvolumes that does not exist"""
    if heavy not in MODES:
        raise BadInput(f"'{heavy}' is not a way to place heavy subvolumes: use {' or '.join(MODES)}")


@dataclass(frozen=True)
class Wish:
    """What the operator asks for.

    :ivar ranks: the ranks a plan may use
    :ivar to_auth: MDSs shall forward every request to the authority
    """

    heavy_mode: str
    ranks: tuple[int, ...]
    force: bool
    to_auth: bool

    def __post_init__(self) -> None:
        """:raises BadInput: a way to place heavy subvolumes that does not exist."""
        check_mode(self.heavy_mode)


@dataclass(frozen=True)
class Ours:
    """What this module set on a file system and nobody changed since, as its journal has it.

    :ivar pins: by inode number
    :ivar masks: ``ceph.dir.bal.mask``, by inode number
    :ivar distributed: ``ceph.dir.pin.distributed``, by inode number
    :ivar values: all that may be there: also what was there before a step that has not ended
    :ivar moved_at: when a directory was last moved (seconds since the Unix epoch), by inode number
    :ivar policy: the one that ``balance on`` put in force, if any
    :ivar for_policy: ``balance_automate`` is on for that one alone
    :ivar to_auth: ``mds_forward_all_requests_to_auth`` as it would be without us, "" for not at all; None:
        nobody asked
    """

    pins: Mapping[int, int]
    masks: Mapping[int, str]
    distributed: Mapping[int, str]
    values: Mapping[About, Collection[str]]
    moved_at: Mapping[int, float]
    policy: str | None
    for_policy: bool
    to_auth: str | None


@dataclass(frozen=True)
class Circumstances:
    """What the planner must know beside the judgement.

    :ivar owned: pins that this module set and nobody changed since, by inode number
    :ivar moved_at: when a directory was last moved (seconds since the Unix epoch), by inode number
    :ivar owns_settings: the file system's mask and balancer are as this module set them
    :ivar masks: ``ceph.dir.bal.mask`` of the heavy directories, by inode number; None: MDSs without our hook
    :ivar confined: what an operator's mask confines, by inode number: where that is, in words
    :ivar owned_masks: masks that this module set, by inode number
    :ivar to_auth: as in ``Ours``; None: leave it alone
    :ivar owned_distributed: ``ceph.dir.pin.distributed`` that this module set, by inode number
    :ivar values: of this module's, also those that may still be there as a step has not ended
    :ivar distributed_factor: ``mds_export_ephemeral_distributed_factor``; None: MDSs do not distribute
    :ivar above: directories above the judged ones that are placed by settings of their own, by path
    :ivar below: what below a judged one is held by a pin of its own, by that one's path
    :ivar policy: of ours, that balances the file system
    :ivar for_policy: as in ``Ours``
    :ivar silent: ranks that did not say what they hold below
    """

    fs: FsState
    ranks: tuple[int, ...]
    heavy_mode: str
    force: bool
    owned: Mapping[int, int]
    moved_at: Mapping[int, float]
    owns_settings: bool
    masks: Mapping[int, str] | None = None
    confined: Mapping[int, str] = field(default_factory=dict)
    owned_masks: Mapping[int, str] = field(default_factory=dict)
    to_auth: str | None = None
    owned_distributed: Mapping[int, str] = field(default_factory=dict)
    values: Mapping[About, Collection[str]] = field(default_factory=dict)
    distributed_factor: float | None = None
    above: Mapping[str, Placed] = field(default_factory=dict)
    below: Mapping[str, Sequence[Subtree]] = field(default_factory=dict)
    policy: str | None = None
    for_policy: bool = False
    silent: tuple[int, ...] = ()

    def mask_of(self, ino: int) -> str:
        """A directory's own mask; "-1" for none."""
        return (self.masks or {}).get(ino, NO_MASK)

    def owns_pin(self, ino: int, pin: int) -> bool:
        """Is a directory's pin one that this module set?"""
        return self.owned.get(ino) == pin or str(pin) in self.values.get((PIN_STEP, ino, ""), ())

    def owns_mask(self, ino: int) -> bool:
        """Is a directory's own mask one that this module set?"""
        return _is_ours(ino, self.mask_of(ino), self.owned_masks, self.values)

    def owns_distributed(self, ino: int) -> bool:
        """Was it this module that distributed a directory?"""
        values = self.values.get((DISTRIBUTED_STEP, ino, ""), ())
        return self.owned_distributed.get(ino) == "1" or "1" in values


def _is_ours(ino: int, mask: str, masks: Mapping[int, str], values: Mapping[About, Collection[str]]) -> bool:
    """Is the mask of a directory one that this module set, or may be about to? ``masks``, ``values``: as in
    ``Ours``."""
    return masks.get(ino) == mask or mask in values.get((MASK_STEP, ino, ""), ())


def check_ranks(fs: FsState, wanted: Sequence[int] | None) -> tuple[int, ...]:
    """The ranks a plan may use: not those that are about to stop. :raises BadInput: one of them is none."""
    there = tuple(rank for rank in fs.ranks_in if rank < fs.max_mds)
    if wanted is None:
        return there
    gone = sorted(set(wanted) - set(there))
    if gone:
        raise BadInput(
            f"file system '{fs.name}' has no rank {format_ranks(gone)} (it has {format_ranks(there)})"
        )
    return tuple(sorted(set(wanted)))


def gather(host: Host, fs: FsState, judgement: Judgement, wish: Wish, ours: Ours) -> Circumstances:
    """Read what a plan depends on; ``judgement``: with the classes over the ranks that it may use."""
    directories = [row.seen.directory for row in judgement.directories]
    hook = host.has_hook(fs)
    hooked = wish.heavy_mode == MASK and hook
    where = subtree_map(host, fs, [d.path for d in directories])
    return Circumstances(
        fs=fs,
        ranks=wish.ranks,
        heavy_mode=wish.heavy_mode,
        force=wish.force,
        owned=ours.pins,
        moved_at=ours.moved_at,
        owns_settings=fs.bal_rank_mask in ours.values.get((FS_STEP, 0, RANK_MASK), ()),
        masks=_masks(host, fs, judgement) if hooked else None,
        confined={} if hook is False else confined(host, fs, judgement, ours),  # None: nobody knows
        owned_masks=ours.masks,
        to_auth=ours.to_auth,
        owned_distributed=ours.distributed,
        values=ours.values,
        distributed_factor=float(host.config(FACTOR)) if host.config(DISTRIBUTES) else None,
        above=above(host, fs, directories),
        below=below(where, directories),
        policy=ours.policy,
        for_policy=ours.for_policy,
        silent=where.silent,
    )


def brood_of(host: Host, fs: FsState, path: str, lasts: Lasts) -> Brood:
    """How a heavy directory can be split, and where its parts are."""
    found = _read_brood(host, fs, path, lasts)
    where = subtree_map(host, fs, [child.path for child in found.children])
    children = tuple(replace(child, ranks=where.ranks(child.path)) for child in found.children)
    return replace(found, children=children, ranks=where.ranks(found.parent.path), silent=where.silent)


def _read_brood(host: Host, fs: FsState, path: str, lasts: Lasts) -> Brood:
    """A call for each ``A_CALL`` children that there are at first; what is made meanwhile does not last."""
    found = host.on_fs(fs, lambda mount: brood(mount, path, lasts, listable, limit=A_CALL))
    for _ in range(math.ceil(len(found.unread) / A_CALL)):
        known, vanished = {child.ino: child for child in found.children}, found.vanished
        more = partial(brood, path=path, lasts=lasts, may=listable, known=known, limit=A_CALL)
        found = host.on_fs(fs, more)
        found = replace(found, vanished=found.vanished + vanished)
    return found


def above(host: Host, fs: FsState, directories: Sequence[Directory]) -> dict[str, Placed]:
    """The directories above these whose own settings place all below them, by path."""
    paths, found, some = sorted(over(directories)), dict[str, Placed](), A_CALL // 2  # more is asked of each
    for at in range(0, len(paths), some):
        found |= host.on_fs(fs, partial(placing, paths[at : at + some]))
    return found


def placing(paths: Iterable[str], mount: FileSystem) -> dict[str, Placed]:
    """Those of these directories whose own settings place all below them, by path."""
    found = {}
    for path in paths:
        try:
            at = placed(mount, path)
        except NotFound:
            continue  # renamed or removed since the analysis; so is what was in it
        if places(at):
            found[path] = at
    return found


def below(where: SubtreeMap, directories: Sequence[Directory]) -> dict[str, tuple[Subtree, ...]]:
    """What below these is held by a pin of its own, by their paths; fragments of a directory count as one."""
    held = {d.path: {at.ino: at for at in where.held_below(d.path)} for d in directories}
    return {path: tuple(found[ino] for ino in sorted(found)) for path, found in held.items() if found}


def over(directories: Iterable[Directory]) -> set[str]:
    """Paths of all directories above these but the root."""
    parents = {d.path.rpartition("/")[0] for d in directories}
    return {path for parent in parents for path in ancestors(parent) if path != "/"}


def places(at: Placed) -> bool:
    """Do its own settings place what is below it?"""
    return at.pin != NO_PIN or at.distributed or at.random


def _masks(host: Host, fs: FsState, judgement: Judgement) -> dict[int, str]:
    """``ceph.dir.bal.mask`` of the heavy directories, by inode number."""
    heavy = [row.seen.directory for row in judgement.directories if row.klass == HEAVY]
    return host.on_fs(fs, lambda mount: {d.ino: mount.mask(d.path) for d in heavy})


def confined(host: Host, fs: FsState, judgement: Judgement, ours: Ours) -> dict[int, str]:
    """As ``Circumstances.confined``. Masks are read of the directories with most workload, and of all that is
    above any: MDSs look for the nearest one."""
    directories = [row.seen.directory for row in judgement.directories]
    by_workload = sorted(judgement.directories, key=lambda row: -row.workload)
    paths = [*sorted(over(directories)), *(row.seen.directory.path for row in by_workload[:LOOKED_FOR])]
    found: dict[str, str] = {}
    for at in range(0, len(paths), A_CALL):
        found |= host.on_fs(fs, partial(_masked, paths[at : at + A_CALL], ours))
    nearest = (
        (d.ino, next((found[path] for path in ancestors(d.path) if path in found), "")) for d in directories
    )
    return {ino: told for ino, told in nearest if told}


def _masked(paths: Sequence[str], ours: Ours, mount: FileSystem) -> dict[str, str]:
    """By path, of those that have a mask: where that is, in words; "" when it is ours."""
    found = {}
    for path in paths:
        try:
            mask = mount.mask(path)
            ino = mount.ino(path) if mask != NO_MASK else None
        except CephError as e:  # it is gone since, or cannot be read: its step will tell
            if e.code in LOST:
                raise
            continue
        if ino is not None:
            own = _is_ours(ino, mask, ours.masks, ours.values)
            found[path] = "" if own else f"{path!r} has ceph.dir.bal.mask {mask}"
    return found
