# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories' facts are read first when not all can be."""

import errno
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

import pytest
from cephfs import LibCephFS
from fake_cluster import Directory as Placed
from scheduled import Cluster, LoadedMount

from mds_partitioner.ceph.filesystem import Attempt, FileSystem
from mds_partitioner.clock import Now
from mds_partitioner.errors import BadInput, CephError, NotFound
from mds_partitioner.model import ROOT, Directory, DirectoryFacts
from mds_partitioner.observe.directories import (
    LONGEST,
    Everything,
    Foremost,
    Rotation,
    Subvolumes,
    facts,
    named,
    normal,
)
from mds_partitioner.observe.turnover import MOST_LISTED

PARENT = "/volumes/_nogroup"


def subvolumes(mount: Any) -> list[Directory]:
    """As they are listed for the first time."""
    return Subvolumes(1.0, lambda: Now(0.0, 0.0))(mount, 0.0)


class Mount:
    """Subvolumes by number; some of them cannot be read."""

    def __init__(self, count: int, broken: frozenset[int] = frozenset()) -> None:
        self.count, self.broken = count, broken
        self.read: list[int] = []

    def subdirectories(self, parent: str) -> list[tuple[str, int]]:
        """Names and inode numbers."""
        if parent == "/volumes":
            return [("_nogroup", 1)]
        return [(f"s{i}", 100 + i) for i in range(self.count)]

    def entries(self, path: str) -> int:
        """ceph.dir.entries."""
        return len(self.subdirectories(path))

    def ino(self, path: str) -> int:
        """Reading begins with it."""
        number = int(path.rpartition("s")[2])
        self.read.append(number)
        if number in self.broken:
            raise CephError("it cannot be read")
        return 100 + number

    def rentries(self, path: str) -> int:
        """ceph.dir.rentries."""
        return 1

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        """Both at once."""
        return self.rentries(path), self.pin(path)

    def pin(self, path: str) -> int:
        """ceph.dir.pin."""
        return -1


def rounds(mount: Any, times: int, requests: Mapping[str, float]) -> list[list[int]]:
    """What is read in each round of two; what is asked of them is known from the second on."""
    rotation, found = Rotation(()), []
    for turn in range(times):
        mount.read.clear()
        rotation.refresh(mount, 2, requests if turn else {})
        found.append(list(mount.read))
    return found


def test_the_busiest_that_were_never_read_come_first_and_then_the_oldest() -> None:
    busy = {f"{PARENT}/s{i}": load for i, load in ((7, 900.0), (4, 100.0), (5, 50.0))}
    assert rounds(Mount(8), 5, busy) == [[0, 1], [7, 4], [5, 2], [3, 6], [0, 1]]


def test_what_somebody_has_just_read_is_not_read_again_and_replaces_nothing_that_is_known() -> None:
    mount: Any = Mount(4)
    rotation = Rotation(())

    def seen(i: int, rentries: int, ino: int = 0) -> DirectoryFacts:
        return DirectoryFacts(Directory(f"{PARENT}/s{i}", f"s{i}", ino or 100 + i), rentries, 2)

    def read_one(*read: DirectoryFacts) -> None:
        rotation.see({}, subvolumes(mount), read=read)
        rotation.learn({d: facts(mount, d) for d in rotation.due(1)})

    read_one(seen(0, 7), seen(1, 8, ino=999), seen(9, 9))
    assert mount.read == [1], "another one has its name; of the first nothing is asked"
    assert {f.directory.name: f.rentries for f in rotation.facts().values()} == {"s0": 7, "s1": 1}
    read_one(seen(0, 70))
    read_one()
    assert mount.read == [1, 2, 3] and rotation.facts()[f"{PARENT}/s0"].rentries == 7
    rotation.doubt([f"{PARENT}/s0"])
    read_one()
    assert mount.read[-1] == 0 and rotation.facts()[f"{PARENT}/s0"].rentries == 1


def test_what_was_listed_a_moment_ago_is_there_still() -> None:
    mount: Any = Mount(2)
    rotation = Rotation(())
    rotation.see({}, subvolumes(mount))
    mount.count = 3
    rotation.see({f"{PARENT}/s1": 9.0})
    assert [d.ino for d in rotation.due(9)] == [101, 100], "but what has most to do comes first"
    rotation.see({}, subvolumes(mount))
    assert len(rotation.directories()) == 3


def test_while_nothing_comes_or_goes_the_list_is_the_very_same() -> None:
    mount: Any = Mount(3)
    rotation = Rotation(())
    rotation.see({}, subvolumes(mount))
    before = rotation.directories()
    rotation.learn({d: facts(mount, d) for d in rotation.due(2)})
    rotation.see({}, subvolumes(mount))
    assert rotation.directories() is before
    mount.count = 2
    rotation.see({}, subvolumes(mount))
    assert rotation.directories() == before[:2]


def test_what_will_not_answer_now_keeps_its_turn() -> None:
    mount: Any = Mount(4)
    rotation = Rotation(())
    rotation.see({}, subvolumes(mount))
    for due in ([0, 2], [1, 3]):
        assert [d.ino - 100 for d in rotation.due(2, {101} if due[0] == 0 else ())] == due
        rotation.learn({d: facts(mount, d) for d in rotation.due(2, {101} if due[0] == 0 else ())})


def test_one_that_cannot_be_read_does_not_stand_in_the_way_of_the_others() -> None:
    busy = {f"{PARENT}/s{i}": 1000.0 for i in (6, 7)}
    assert rounds(Mount(8, frozenset({6, 7})), 4, busy) == [[0, 1], [6, 7], [2, 3], [4, 5]]


def test_a_slow_mds_is_asked_for_as_many_as_it_answers_in_time_and_the_next_round_goes_on() -> None:
    mount = Mount(8)
    rotation = Rotation((), now=lambda: Now(0.0, 0.4 * LONGEST * len(mount.read)))
    for read in ([0, 1, 2], [3, 4, 5], [6, 7, 0]):
        before = len(mount.read)
        rotation.refresh(cast(FileSystem, mount), 5, {})
        assert mount.read[before:] == read


class Named:
    """Directories by path and inode number; some are files. ``links``: where symbolic links lead to."""

    def __init__(
        self,
        there: dict[str, int],
        files: tuple[str, ...] = (),
        links: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.there, self.files, self.links = there, files, dict(links)

    def name_in(self, path: str, name: str) -> str:
        """In /nocase names are folded."""
        return name.lower() if path == "/nocase" else name

    def is_link(self, path: str) -> bool:
        """It leads to another path."""
        if path in self.links:
            return True
        self.ino(path)
        return False

    def is_directory(self, path: str) -> bool:
        """It is no file."""
        return path not in self.files

    def ino(self, path: str) -> int:
        """:raises NotFound: it was removed."""
        above = {
            "/".join(known.split("/")[:n]) for known in self.there for n in range(2, known.count("/") + 1)
        }
        if path not in self.there and path not in above:
            raise NotFound(f"cannot stat {path!r}")
        return self.there.get(path, 9)

    def rentries(self, path: str) -> int:
        """ceph.dir.rentries."""
        return 1

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        """Both at once."""
        return self.rentries(path), self.pin(path)

    def pin(self, path: str) -> int:
        """ceph.dir.pin."""
        return -1


def test_a_named_directory_that_is_removed_costs_its_own_row_only() -> None:
    mount: Any = Named({"/a": 11, "/b": 12})
    rotation = Rotation(("/a", "/b"))
    rotation.refresh(mount, 9, {})
    assert [d.path for d in rotation.directories()] == ["/a", "/b"] and rotation.gone == ()
    del mount.there["/a"]
    rotation.refresh(mount, 9, {})
    assert [d.path for d in rotation.directories()] == ["/b"] and rotation.gone == ("/a",)
    assert list(rotation.facts()) == ["/b"]
    mount.there["/a"] = 13
    rotation.refresh(mount, 9, {})
    assert [d.ino for d in rotation.directories()] == [13, 12] and rotation.gone == ()


@pytest.mark.parametrize("path", ["/", "//", "/f", "/a/../f"])
def test_what_cannot_be_pinned_is_refused_and_what_to_give_is_said(path: str) -> None:
    mount: Any = Named({"/": 1, "/a": 11, "/f": 12}, files=("/f",))
    assert [d.ino for d in named(mount, ["/a"])] == [11]
    with pytest.raises(BadInput, match=f"'{normal(path)}' is .*: give directories"):
        named(mount, ["/a", path])


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/to-a", "'/to-a' is a symbolic link: give the path that it leads to"),
        ("/to-a/b", "'/to-a' is a symbolic link"),
        ("/a/.snap", "'/a/.snap' is in a snapshot"),
        ("/a/.snap/daily/b", "'/a/.snap/daily/b' is in a snapshot, which takes no pin: give directories"),
    ],
)
def test_what_mdss_know_by_another_path_is_refused(path: str, why: str) -> None:
    """The pin of such a path would be another directory's, and no rank would be seen to serve it."""
    mount: Any = Named({"/a": 11, "/a/b": 12}, links={"/to-a": "/a"})
    with pytest.raises(BadInput, match=why):
        named(mount, [path])


def test_a_named_directory_has_the_path_that_mdss_know() -> None:
    mount: Any = Named({"/nocase": 11, "/nocase/team": 12})
    (found,) = named(mount, ["/nocase/Team"])
    assert (found.path, found.ino) == ("/nocase/team", 12)


def test_of_what_begins_with_an_underscore_only_the_volumes_modules_own_is_left_out() -> None:
    """Its list of groups leaves out INTERNAL_DIRS; a group may be called _team."""
    binding = LibCephFS()
    binding.add(b"/volumes", 2)
    for i, group in enumerate((b"_deleting", b"_index", b"_legacy", b"_nogroup", b"_team", b"plain"), 10):
        binding.add(b"/volumes/" + group, i)
        binding.add(b"/volumes/" + group + b"/s", 10 * i)
    found = subvolumes(FileSystem(binding, Attempt()))
    assert [d.name for d in found] == ["s", "_team/s", "plain/s"]


@pytest.mark.parametrize("path", ["/volumes/_deleting", "/volumes/_index/x", "/volumes/g/s/.trash/uuid"])
def test_what_the_volumes_module_keeps_for_itself_cannot_be_named(path: str) -> None:
    mount: Any = Named({path: 11, "/volumes/g/s/uuid/.trash": 12})
    with pytest.raises(BadInput, match="the volumes module keeps for itself: give directories"):
        named(mount, [path])
    assert len(named(mount, ["/volumes/g/s/uuid/.trash"])) == 1, "a user's"


@pytest.mark.parametrize("paths", [["/a", "/a/b/c"], ["/a/b//c/", "//a"]])
def test_directories_in_one_another_are_refused(paths: list[str]) -> None:
    """The outer one would take the inner one along, wherever the plan has that."""
    mount: Any = Named({"/a": 11, "/ab": 12, "/b": 13, "/a/b/c": 14})
    with pytest.raises(BadInput, match="'/a/b/c' is in '/a'"):
        named(mount, paths)
    assert len(named(mount, ["/a", "/ab", "/b"])) == 3


def test_a_named_directory_that_a_file_replaced_costs_its_own_row_only() -> None:
    mount: Any = Named({"/a": 11, "/f": 12}, files=("/f",))
    rotation = Rotation(("/a", "/f"))
    rotation.refresh(mount, 9, {})
    assert [d.path for d in rotation.directories()] == ["/a"] and rotation.gone == ("/f",)


def test_an_analysis_of_nothing_but_removed_directories_says_so() -> None:
    mount: Any = Named({})
    with pytest.raises(NotFound, match="/a"):
        Rotation(("/a",)).refresh(mount, 9, {})


@pytest.mark.parametrize(("code", "lost"), [(errno.ENOTCONN, True), (errno.EACCES, False)])
def test_facts_are_not_gone_of_a_mount_that_is_lost(code: int, lost: bool) -> None:
    class Refusing(Mount):
        def rentries_and_pin(self, path: str) -> tuple[int, int]:
            raise CephError("it cannot be read", code)

    mount: Any = Refusing(1)
    (directory,) = subvolumes(mount)
    if lost:
        with pytest.raises(CephError):
            facts(mount, directory)
    else:
        assert facts(mount, directory) is None


@pytest.mark.parametrize(
    ("files", "found"),
    [(0, ["/home", "/scratch"]), (MOST_LISTED, [])],  # with so many the root is not listed in each epoch
)
def test_where_there_is_no_subvolume_what_is_right_below_the_root_is_analyzed(
    files: int, found: list[str]
) -> None:
    cluster = Cluster([])
    cluster.directories |= {7: Placed("/home"), 8: Placed("/scratch"), 9: Placed("/home/ann")}
    cluster.files[ROOT] = files
    rotation, mount = Rotation(()), LoadedMount(cluster)
    rotation.refresh(mount, 9, {})
    assert [d.path for d in rotation.directories()] == found
    cluster.directories[100] = Placed(f"{PARENT}/s0")
    rotation.refresh(mount, 9, {})
    kept = found or [f"{PARENT}/s0"]
    assert [d.path for d in rotation.directories()] == kept, "all epochs are of the same"
    del cluster.directories[100]
    rotation.refresh(mount, 9, {})
    assert [d.path for d in rotation.directories()] == found


@pytest.mark.parametrize("find", [subvolumes, Foremost(), lambda mount: Everything()(mount, 0.0)])
def test_a_group_that_goes_while_all_are_listed_takes_no_other_along(find: Any) -> None:
    class Going(LoadedMount):
        def subdirectories(self, path: str) -> list[tuple[str, int]]:
            return [*super().subdirectories(path), *([("removed", 9)] if path == "/volumes" else ())]

    found = find(Going(Cluster([1.0, 1.0])))
    assert [d.path for d in found] == [f"{PARENT}/s0", f"{PARENT}/s1"]
