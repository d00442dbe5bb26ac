# SPDX-License-Identifier: LGPL-2.1-or-later
"""What libcephfs' binding says, and hides, of directories."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable
from itertools import islice

import pytest
from cephfs import DirEntry, LibCephFS

from mds_partitioner.ceph.charmap import MOST, Charmaps
from mds_partitioner.ceph.filesystem import CHARMAP, Attempt, FileSystem
from mds_partitioner.errors import CephError, NotFound

ODD, PATH = b"/caf\xff", "/caf\udcff"
FOLDS = {CHARMAP: '{"casesensitive":false,"normalization":"nfd","encoding":"utf8"}'}
CALLS: list[Callable[[FileSystem], object]] = [
    lambda fs: fs.ino(PATH),
    lambda fs: fs.is_directory(PATH),
    lambda fs: fs.born(PATH),
    lambda fs: fs.subdirectories(PATH),
    lambda fs: fs.rentries(PATH),
    lambda fs: fs.set_attribute(PATH, 7, "ceph.dir.pin", "1"),
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


@pytest.mark.parametrize(
    ("path", "names", "told"),
    [
        ("/volumes", ["_deleting", "_index", "_legacy", "_nogroup", "group"], ["_nogroup", "group"]),
        ("/volumes/group", ["_index", "s"], ["_index", "s"]),
        ("/volumes/_nogroup/s", [".trash", "uuid"], ["uuid"]),
        ("/volumes/_nogroup/s/uuid", [".trash", "a"], [".trash", "a"]),
        ("/home", [".trash", "_deleting"], [".trash", "_deleting"]),
    ],
)
def test_what_the_volumes_module_keeps_for_itself_is_not_told(
    fs: FileSystem, binding: LibCephFS, path: str, names: list[str], told: list[str]
) -> None:
    binding.add(path.encode(), 7)
    for ino, name in enumerate(names, 8):
        binding.add(f"{path}/{name}".encode(), ino)
    assert [name for name, _ in fs.subdirectories(path)] == told


@pytest.mark.parametrize(("said", "number"), [("18446744073709551615", 0), ("0", 0), ("12", 12)])
def test_a_count_below_0_is_none(fs: FileSystem, binding: LibCephFS, said: str, number: int) -> None:
    names = ("ceph.dir.rentries", "ceph.dir.entries", "ceph.dir.subdirs")
    binding.add(b"/d", 7, attributes=dict.fromkeys(names, said))
    assert (fs.rentries("/d"), fs.entries("/d"), fs.subdirs("/d")) == (number,) * 3


def test_where_case_does_not_count_names_are_those_of_the_mds(fs: FileSystem, binding: LibCephFS) -> None:
    binding.add(b"/d", 7, attributes=FOLDS)
    binding.add("/d/caf\u0065\u0301".encode(), 8, shown="Caf\u00e9".encode())
    binding.add(b"/d/strasse", 9, shown="Stra\u00dfe".encode())
    assert fs.subdirectories("/d") == [("cafe\u0301", 8), ("strasse", 9)]
    assert fs.name_in("/d", "CAF\u00c9") == "cafe\u0301" and fs.ino("/d/cafe\u0301") == 8


def test_where_case_counts_names_may_still_be_normalized(fs: FileSystem, binding: LibCephFS) -> None:
    binding.add(b"/d", 7, attributes={CHARMAP: FOLDS[CHARMAP].replace("false", "true")})
    binding.add("/d/Cafe\u0301".encode(), 8, shown="Caf\u00e9".encode())
    assert fs.subdirectories("/d") == [("Cafe\u0301", 8)]
    assert fs.name_in("/d", "Caf\u00e9") == "Cafe\u0301" and fs.ino("/d/Cafe\u0301") == 8


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {CHARMAP: '{"casesensitive":true,"normalization":"nfd"}'},
        {CHARMAP: FOLDS[CHARMAP].replace("nfd", "x")},
    ],
)
def test_elsewhere_names_are_as_they_are_listed(
    fs: FileSystem, binding: LibCephFS, attributes: dict[str, str]
) -> None:
    binding.add(b"/d", 7, attributes=attributes)
    binding.add(b"/d/Upper", 8)
    assert fs.subdirectories("/d") == [("Upper", 8)] and fs.name_in("/d", "Other") == "Other"


def test_it_is_asked_once_whether_case_counts_and_only_where_it_could_matter(binding: LibCephFS) -> None:
    remembered = Charmaps()

    def names() -> list[str]:
        return [name for name, _ in FileSystem(binding, Attempt(), remembered).subdirectories("/d")]

    directory = binding.add(b"/d", 7)
    binding.add(b"/d/lower-1", 8)
    assert names() == ["lower-1"] and binding.asked == []
    binding.add(b"/d/Upper", 9)
    assert names() == names() == ["Upper", "lower-1"] and binding.asked == [CHARMAP]
    del binding.inodes[b"/d/Upper"], binding.inodes[b"/d/lower-1"]
    directory.attributes = FOLDS  # which an MDS lets be done while a directory is empty
    assert names() == []
    binding.add(b"/d/upper", 9, shown=b"Upper")
    assert names() == ["upper"]


def test_it_is_remembered_of_the_last_directories_how_they_have_names(binding: LibCephFS) -> None:
    remembered = Charmaps()
    fs = FileSystem(binding, Attempt(), remembered)
    binding.add(b"/d", 7, attributes=FOLDS)
    others = iter(range(100, 100 + 2 * MOST))

    def asked_after(more: int) -> int:
        for ino in islice(others, more):
            remembered.find(ino, lambda: None)
        assert fs.name_in("/d", "Upper") == "upper"
        return len(binding.asked)

    assert [asked_after(more) for more in (MOST, 0, MOST - 1, 1)] == [1, 1, 1, 2]


def test_to_load_a_directory_is_to_read_what_is_in_it(fs: FileSystem, binding: LibCephFS) -> None:
    """For "." and ".." libcephfs asks no MDS."""
    binding.add(b"/d", 7)
    binding.add(b"/d/a", 8)
    binding.add(b"/d/b", 9)
    handles = []
    opendir = binding.opendir

    def opened(path: bytes) -> list[DirEntry]:
        handles.append(opendir(path))
        return handles[-1]

    binding.opendir = opened
    fs.load("/d")
    assert [entry.d_name for entry in handles[0]] == [b"b"], "and no more than that"
    with pytest.raises(NotFound):
        fs.load("/e")


def test_a_link_in_the_place_of_a_directory_is_not_that_directory(fs: FileSystem, binding: LibCephFS) -> None:
    binding.add(b"/e", 7)
    binding.add(b"/d", 8, mode=stat.S_IFLNK, target=b"/e")
    assert fs.ino("/d") == 8


def test_a_link_on_the_way_is_seen_and_asked_for_once(fs: FileSystem, binding: LibCephFS) -> None:
    binding.add(b"/srv", 7)
    binding.add(b"/srv/home", 8)
    binding.add(b"/srv/home/u", 9)
    binding.add(b"/srv/home/v", 10, mode=stat.S_IFLNK, target=b"/srv/home/u")
    binding.add(b"/home", 11, mode=stat.S_IFLNK, target=b"/srv/home")
    asked = []
    statx = binding.statx

    def told(path: bytes, mask: int, flag: int) -> dict[str, int]:
        asked.append(path)
        found: dict[str, int] = statx(path, mask, flag)
        return found

    binding.statx = told
    assert fs.ino("/home/u") == fs.ino("/srv/home/u") == 9
    asked.clear()
    assert [fs.over_link(f"/home/{name}") for name in "uv"] == [True, True]
    assert asked == [b"/home"]
    assert not any(fs.over_link(path) for path in ("/srv/home/u", "/srv/home/v", "/srv", "/home"))
    assert asked == [b"/home", b"/srv", b"/srv/home"]


def test_a_path_of_thousands_of_directories_is_walked(fs: FileSystem, binding: LibCephFS) -> None:
    deep = "/d" * 2000
    for depth in range(1, 2001):
        binding.add(b"/d" * depth, 100 + depth)
    assert not fs.over_link(deep)


def test_a_link_to_itself_is_where_a_directory_was(fs: FileSystem, binding: LibCephFS) -> None:
    binding.refusal = errno.ELOOP
    with pytest.raises(NotFound):
        fs.ino("/d/sub")
