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
    assert (work.demand > 0).sum() == directories == len(work.paths)
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
    own = work.demand[work.used["web"]]
    assert crowd.part[crowd.groups[0].entries] == pytest.approx(own / own.sum())
    assert set(work.operations) == {12_000}
