# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bench's workloads come from the lab's own definitions."""

import numpy as np
import pytest

from sim.load.bench import bench
from sim.load.pattern import Past


@pytest.mark.parametrize(
    ("name", "directories", "clients", "operations"),
    [("cnn", 100, 10, 12_100), ("nlp", 14, 10, 11_914), ("zipf", 10, 10, 12_000), ("md", 10, 10, 4_500)],
)
def test_directories_clients_and_operations_are_the_labs(
    name: str, directories: int, clients: int, operations: int
) -> None:
    work = bench(name)
    assert len({d for use in work.uses for d in use.directories}) == directories == len(work.demand)
    assert len(work.specs) == clients
    assert set(work.operations) == {operations}


def test_a_scan_begins_where_the_labs_does() -> None:
    crowd = bench("cnn").crowd(1.0, 1)
    crowd.turn(0.0, np.zeros(0, dtype=np.int64))
    begun = [int(np.argmax(crowd.part[group.entries])) for group in crowd.groups]
    assert [at // 10 for at in begun] == list(range(10))
    parts = crowd.groups[3].pattern.parts(Past(1.0, 121.0, 1.0, ()))
    assert parts is not None
    assert int(np.argmax(parts)) == begun[3] + 1


def test_a_log_is_read_as_often_as_its_lines_name_a_directory() -> None:
    work = bench("web")
    crowd = work.crowd(2.0, 1)
    crowd.turn(0.0, np.zeros(0, dtype=np.int64))
    asked = np.zeros(work.tree.size)
    own = crowd.groups[0].entries
    np.add.at(asked, crowd.directory[own], crowd.part[own])
    wanted = np.array([work.demand.get(path, 0.0) for path in work.paths])
    assert asked == pytest.approx(wanted / wanted.sum())
    assert set(work.operations) == {12_000}


def test_a_name_in_a_directory_is_looked_up_each_time_something_below_it_is() -> None:
    work = bench("web")
    use = work.uses[0]
    total = sum(work.demand.values())
    person = work.paths.index("/volumes/_nogroup/web/data/~adams")
    (row,) = np.flatnonzero((use.names == person) & (use.directories != person))
    assert work.paths[use.directories[row]] == "/volumes/_nogroup/web/data"
    assert use.parts[row] == pytest.approx(work.demand[work.paths[person]] / total)


def test_the_tree_has_all_that_is_above_and_files_where_they_are() -> None:
    work = bench("zipf")
    deepest = work.paths.index("/volumes/_nogroup/zipf3/data/d0000")
    assert work.tree.inodes[deepest] == 10_001
    assert [work.paths[d] for d in work.tree.roots[:2]] == [
        "/volumes/_nogroup/zipf0",
        "/volumes/_nogroup/zipf1",
    ]
    assert (work.tree.end > np.arange(work.tree.size)).all()
