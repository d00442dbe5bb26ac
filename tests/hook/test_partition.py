# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manager module on MDSs with the hook: counted working sets, heavy subvolumes confined by masks."""

from collections.abc import Iterator

import pytest
from hooked import mask
from support import FS, HEAVY, LIGHT, NOGROUP, OPTIONS, Cluster, at_work, skewed, wait_for
from test_mask import ranks_of

from lab import module
from lab.clients.spec import LoadSpec


@pytest.fixture(scope="module")
def load(cluster: Cluster) -> Iterator[LoadSpec]:
    """Two heavy and six light subvolumes, and the module enabled."""
    module.enable(cluster.lab, {name: str(value) for name, value in OPTIONS.items()})
    load = skewed(cluster.lab.make_subvolumes([*HEAVY, *LIGHT]))
    cluster.lab.prepare(load)
    yield load
    module.disable(cluster.lab)


def test_heavy_subvolumes_get_a_mask_of_their_own_and_lose_it_again(cluster: Cluster, load: LoadSpec) -> None:
    with at_work(cluster, load):
        found = cluster.analyze(seconds=16)
        assert "counted by them" in found["estimate"]
        sets = {row["name"]: row["wss"] for row in found["directories"]}
        assert all(sets[name] > 0 for name in HEAVY)
        plan = cluster.plan("--heavy", "mask")
        ranks = plan["heavy_ranks"]
        text = ",".join(map(str, ranks))
        assert len(ranks) > 1
        masked = {f"setfattr -n ceph.dir.bal.mask -v {text} '<mount>{NOGROUP}/{name}'" for name in HEAVY}
        assert masked <= set(plan["commands"])
        assert not any("bal_rank_mask" in command for command in plan["commands"])
        cluster.partitioner("partition", "start", FS, plan["name"])
        cluster.wait_state("done")
        for name in HEAVY:
            assert mask(cluster, f"{NOGROUP}/{name}") == text
            assert ranks_of(cluster, f"{NOGROUP}/{name}") <= set(ranks)
        assert cluster.fs_settings()["bal_rank_mask"] == "-1"
    cluster.partitioner("partition", "rollback", FS, plan["name"])
    cluster.wait_state("rolled-back")
    for name in HEAVY:
        assert mask(cluster, f"{NOGROUP}/{name}") is None
    wait_for("the balancer is off", lambda: not cluster.fs_settings()["flags_state"]["balance_automate"])
