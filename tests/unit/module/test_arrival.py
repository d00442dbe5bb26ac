# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the MDSs say of a directory; one that says nothing does not mean that it is gone."""

from typing import Any

import pytest
from world import World

from mds_partitioner.errors import CephError, Unavailable
from mds_partitioner.verify.arrival import path_of

FS = World(ranks=3).state
NOT_CACHED = CephError("mds.m: dump inode: not in cache", 2)
SILENT = Unavailable("mds.m2 did not answer 'dump inode' within 8 s")


class Mdss:
    """Stands for Host: an answer a rank."""

    def __init__(self, *answers: Any) -> None:
        self._answers = answers

    def tell_each(self, names: list[str], prefix: str, *, number: int) -> dict[str, Any]:
        assert (prefix, number) == ("dump inode", 100)
        return dict(zip(names, self._answers, strict=True))


def found(*answers: Any) -> str | None:
    return path_of(Mdss(*answers), FS, 100)  # type: ignore[arg-type]


def test_a_renamed_directory_is_where_any_mds_says() -> None:
    assert found(NOT_CACHED, SILENT, {"path": "/volumes/_nogroup/new"}) == "/volumes/_nogroup/new"


@pytest.mark.parametrize(
    "answer", [NOT_CACHED, None, {"path": "/volumes/_deleting/x"}, {"path": "~mds0/stray3/100"}, {}]
)
def test_one_that_all_mdss_know_nothing_of_or_that_is_being_deleted_is_gone(answer: Any) -> None:
    assert found(NOT_CACHED, answer, NOT_CACHED) is None


def test_as_long_as_an_mds_is_silent_nothing_is_gone() -> None:
    with pytest.raises(Unavailable, match="inode 100 is not where it was, and not every MDS says"):
        found(NOT_CACHED, {"path": "/volumes/_deleting/x"}, SILENT)
