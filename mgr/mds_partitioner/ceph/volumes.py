# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the volumes module has its subvolumes, and what it keeps there for itself."""

from __future__ import annotations

VOLUMES = "/volumes"  # a subvolume is /volumes/GROUP/SUBVOLUME
NO_GROUP = "_nogroup"  # whose subvolumes are in no group
DELETING = "_deleting"  # what was removed, until it is purged
INTERNAL = frozenset({"_index", DELETING, "_legacy"})  # its INTERNAL_DIRS has NO_GROUP, too
TRASH = frozenset({".trash"})  # in a subvolume: what was removed of it, and has snapshots


def name_of(path: str) -> str:
    """What a directory is called where there is little room: a subvolume, or what is in one, without where
    all of them are, and without the group if it has none; any other by its path."""
    group, _, rest = path.removeprefix(f"{VOLUMES}/").partition("/")
    if not path.startswith(f"{VOLUMES}/") or not rest:
        return path
    return rest if group == NO_GROUP else f"{group}/{rest}"


def kept_in(path: str) -> frozenset[str]:
    """Names right in a directory that are the volumes module's own. None of them is to be pinned."""
    if path == VOLUMES:
        return INTERNAL
    return TRASH if path.startswith(f"{VOLUMES}/") and path.count("/") == 3 else frozenset()


def internal(path: str) -> bool:
    """Is it the volumes module's own, or in what is?"""
    names = path.split("/")
    return any(name in kept_in("/".join(names[:i])) for i, name in enumerate(names))
