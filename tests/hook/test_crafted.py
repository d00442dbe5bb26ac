# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client that puts a mask among what it sends with a create, or with a capability that it gives back."""

import pytest
from hooked import MASK, crafted, inside, mask
from support import Cluster
from test_mask import restart

from lab.ranks import active

VALUES = {"without any byte": (), "that is a mask": ("1",), "that is none": ("-7",)}


@pytest.mark.parametrize("kind", VALUES)
def test_a_mask_that_nobody_was_asked_for_is_none(cluster: Cluster, kind: str) -> None:
    before, path = active(cluster.lab), f"crafted-{list(VALUES).index(kind)}"
    crafted(cluster, path, MASK, *VALUES[kind])
    assert mask(cluster, f"/{path}") is None
    assert active(cluster.lab) == before


def test_other_attributes_are_kept(cluster: Cluster) -> None:
    crafted(cluster, "crafted-other", "user.color", "red")
    assert inside(cluster, "getxattr", ["/crafted-other", "user.color"]) == "red"


def test_its_journal_is_read_again(cluster: Cluster) -> None:
    crafted(cluster, "crafted-journal", MASK)
    restart(cluster, cluster.mds_of(0))
    assert mask(cluster, "/crafted-journal") is None
