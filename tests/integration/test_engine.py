# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine dies or hangs: a command fails and says so, the next one works, the manager does not notice."""

import itertools
import os
import signal

import pytest
from support import FS, OPTIONS, Answer, Cluster, wait_for


def engine_pids(cluster: Cluster) -> list[int]:
    """The host's process ids of the engine in this lab."""
    return cluster.processes(lambda argv: "engine" in argv and "-m" in argv)


def refusal(cluster: Cluster) -> Answer | None:
    """The refusal, if there is one: an epoch's verdict is good until the next, and the module itself may have
    met the engine before."""
    answer = cluster.cli("mds_partitioner", "imbalance", FS)
    return answer if answer.code else None


def hang(cluster: Cluster, threshold: float) -> Answer | None:
    """Stop the engine and ask it what nobody has asked it before."""
    for pid in engine_pids(cluster):
        os.kill(pid, signal.SIGSTOP)
    cluster.set(imbalance_threshold=threshold)
    return refusal(cluster)


@pytest.fixture
def engine(cluster: Cluster) -> int:
    cluster.module_json("imbalance")
    (pid,) = engine_pids(cluster)
    return pid


def test_a_killed_engine_is_started_again(cluster: Cluster, engine: int) -> None:
    managers = cluster.mgr_pids()
    os.kill(engine, signal.SIGKILL)
    (new,) = wait_for("a new engine", lambda: [pid for pid in engine_pids(cluster) if pid != engine])
    assert new != engine
    cluster.partitioner("imbalance", FS)
    assert cluster.mgr_pids() == managers


@pytest.mark.every_release_alike
def test_a_hung_engine_fails_the_command_within_the_deadline_and_is_replaced(
    cluster: Cluster, engine: int
) -> None:
    managers = cluster.mgr_pids()
    thresholds = itertools.count(0.2, 0.001)
    # Less than a command is waited for, and in a long epoch the module itself asks nothing.
    cluster.set(engine_deadline=2, epoch=3600)
    try:
        answer = wait_for("the engine does not answer", lambda: hang(cluster, next(thresholds)))
        assert answer.code == 11, answer
        assert "no answer within 2" in answer.err
        cluster.set(engine_deadline=60)
        assert cluster.cli("mds_partitioner", "imbalance", FS).code == 0
    finally:
        cluster.set(engine_deadline=60, imbalance_threshold=0.075, **OPTIONS)
    assert engine not in engine_pids(cluster)
    assert cluster.mgr_pids() == managers


@pytest.mark.every_release_alike
def test_an_engine_that_cannot_start_is_named(cluster: Cluster, engine: int) -> None:
    os.kill(engine, signal.SIGKILL)
    try:
        cluster.set(engine_python="/nowhere/python3")
        answer = wait_for("the next verdict", lambda: refusal(cluster))
        assert answer.code == 11 and "/nowhere/python3" in answer.err
        cluster.set(engine_python="/bin/false")
        assert wait_for("the next verdict", lambda: refusal(cluster)).code == 11
    finally:
        cluster.set(engine_python="python3")
    assert cluster.cli("mds_partitioner", "imbalance", FS).code == 0
