# SPDX-License-Identifier: LGPL-2.1-or-later
"""A tree of directories and files whose full paths are hashed. Directory 0 is the root."""

import hashlib

import numpy as np


class Namespace:
    """Directories and files are numbers; a rename changes the full paths of all below."""

    def __init__(self, parents: list[int], directory_of: list[int]) -> None:
        """`parents[directory]` (the root's is unused) must be a lower number; `directory_of[file]`."""
        self._children: list[list[int]] = [[] for _ in parents]
        self._files: list[list[int]] = [[] for _ in parents]
        self._directory_of = list(directory_of)
        self._parents = list(parents)
        self._names = [str(directory) for directory in range(len(parents))]
        self._paths = [""] * len(parents)
        for directory in range(1, len(parents)):
            self._children[parents[directory]].append(directory)
            self._paths[directory] = self._path(directory)
        for file, directory in enumerate(directory_of):
            self._files[directory].append(file)

    def _path(self, directory: int) -> str:
        return f"{self._paths[self._parents[directory]]}/{self._names[directory]}"

    @property
    def files(self) -> int:
        """How many there are."""
        return len(self._directory_of)

    @property
    def directories(self) -> int:
        return len(self._parents)

    def directory_of(self, file: int) -> int:
        return self._directory_of[file]

    def below(self, directory: int) -> list[int]:
        """Every file in the subtree."""
        return [file for each in self._subtree(directory) for file in self._files[each]]

    def _subtree(self, directory: int) -> list[int]:
        """The directory and all below it, parents first."""
        found = [directory]
        for each in found:
            found.extend(self._children[each])
        return found

    def file_hash(self, file: int) -> int:
        """Of the file's full path."""
        return path_hash(f"{self._paths[self._directory_of[file]]}/f{file}")

    def directory_hash(self, directory: int) -> int:
        """Of the directory's full path."""
        return path_hash(self._paths[directory])

    def create(self, directory: int) -> int:
        """A new file."""
        self._directory_of.append(directory)
        self._files[directory].append(self.files - 1)
        return self.files - 1

    def rename(self, directory: int) -> list[int]:
        """A new name for a directory that is not the root; the files whose full paths it changes."""
        if directory == 0:
            raise ValueError("directory 0 is the root, which has no name to change")
        self._names[directory] += "'"
        for each in self._subtree(directory):
            self._paths[each] = self._path(each)
        return self.below(directory)


def path_hash(path: str) -> int:
    """Of a full path, 64 bits."""
    return int.from_bytes(hashlib.blake2b(path.encode(), digest_size=8).digest(), "big")


def grown(directories: int, files: int, rng: np.random.Generator) -> Namespace:
    """Each directory is in one that was there before it, each file in any directory, all equally likely."""
    parents = [0] + [int(rng.integers(directory)) for directory in range(1, directories)]
    return Namespace(parents, rng.integers(directories, size=files).tolist())
