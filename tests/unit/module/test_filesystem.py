# SPDX-License-Identifier: LGPL-2.1-or-later
"""What libcephfs' binding says, and hides, of directories."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable

import pytest
from cephfs import LibCephFS

from mds_partitioner.errors import CephError, NotFound
from mds_partitioner.filesystem import Attempt, FileSystem

ODD, PATH = b"/caf\xff", "/caf\udcff"
CALLS: list[Callable[[FileSystem], object]] = [
    lambda fs: fs.ino(PATH),
    lambda fs: fs.is_directory(PATH),
    lambda fs: fs.born(PATH),
    lambda fs: fs.subdirectories(PATH),
    lambda fs: fs.rentries(PATH),
    lambda fs: fs.load_and_set(PATH, 7, "ceph.dir.pin", "1"),
]


@pytest.fixture
def binding() -> LibCephFS:
    return LibCephFS()


@pytest.fixture
def fs(binding: LibCephFS) -> FileSystem:
    return FileSystem(binding, Attempt())


@pytest.mark.parametrize("call", CALLS)
def test_that_a_directory_is_gone_is_known_also_if_its_name_is_not_utf8(
    fs: FileSystem, call: Callable[[FileSystem], object]
) -> None:
    with pytest.raises(NotFound, match="No such file or directory"):
        call(fs)


@pytest.mark.parametrize("call", CALLS)
def test_a_mount_that_was_lost_is_seen_as_such_also_if_a_name_is_not_utf8(
    fs: FileSystem, binding: LibCephFS, call: Callable[[FileSystem], object]
) -> None:
    binding.add(ODD, 7)
    binding.refusal = errno.ESHUTDOWN
    with pytest.raises(CephError) as caught:
        call(fs)
    assert caught.value.code == errno.ESHUTDOWN


def test_what_is_no_directory_any_more_is_not_found_also_if_its_name_is_not_utf8(
    fs: FileSystem, binding: LibCephFS
) -> None:
    binding.add(ODD, 7, mode=stat.S_IFREG)
    with pytest.raises(NotFound, match="Not a directory"):
        fs.subdirectories(PATH)


def test_an_error_that_cannot_be_told_is_one_of_the_directory(fs: FileSystem, binding: LibCephFS) -> None:
    binding.add(ODD, 7)
    binding.opendir = lambda path: path.decode()
    with pytest.raises(CephError) as caught:
        fs.subdirectories(PATH)
    assert caught.value.code == errno.EIO and not isinstance(caught.value, NotFound)


@pytest.mark.parametrize(("said", "number"), [("18446744073709551615", 0), ("0", 0), ("12", 12)])
def test_a_count_below_0_is_none(fs: FileSystem, binding: LibCephFS, said: str, number: int) -> None:
    names = ("ceph.dir.rentries", "ceph.dir.entries", "ceph.dir.subdirs")
    binding.add(b"/d", 7, attributes=dict.fromkeys(names, said))
    assert (fs.rentries("/d"), fs.entries("/d"), fs.subdirs("/d")) == (number,) * 3
