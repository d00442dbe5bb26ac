# SPDX-License-Identifier: LGPL-2.1-or-later
"""The directories below a heavy one that can be spread over ranks."""

from ..filesystem import FileSystem

Found = tuple[str, int, int, int]  # path, inode number, rentries, pin


def children(fs: FileSystem, path: str) -> list[Found]:
    """Child directories of the first directory, from ``path`` down, that has several.

    A subvolume's own directory holds one directory, named by a UUID, with the data in it.
    """
    listed = fs.subdirectories(path)
    while len(listed) == 1:
        path = f"{path}/{listed[0][0]}"
        listed = fs.subdirectories(path)
    found = []
    for name, ino in listed:
        child = f"{path}/{name}"
        found.append((child, ino, fs.rentries(child), fs.pin(child)))
    return found
