# SPDX-License-Identifier: LGPL-2.1-or-later
"""What does not answer holds up nobody: not the next command, least of all an order to stop."""

import errno
import signal
from collections.abc import Iterator

import pytest
from support import FS, Answer, Cluster, wait_for


@pytest.fixture
def silent_osd(cluster: Cluster) -> Iterator[Cluster]:
    """The only OSD does not refuse anything, and answers nothing."""
    cluster.lab.kill("osd.0", signal.SIGSTOP)
    yield cluster
    cluster.lab.kill("osd.0", signal.SIGCONT)


def once(cluster: Cluster, *args: str) -> Answer:
    """A command as it is answered first, also when it goes on."""
    done = cluster.lab.exec(["ceph", "mds_partitioner", *args], timeout=60, check=False)
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_policy_that_cannot_be_written_keeps_no_command_from_being_heard(silent_osd: Cluster) -> None:
    cluster = silent_osd
    before = cluster.fs_settings()
    answer = once(cluster, "balance", "on", FS)
    assert answer.code == errno.EINPROGRESS, answer
    assert "'balance on' takes longer and goes on" in answer.err
    for command in (("status",), ("partition", "ls", FS)):
        assert once(cluster, *command).code == 0, command
    assert once(cluster, "partition", "stop", FS).code == errno.ENOENT, "there is no plan, and it says so"
    cluster.lab.kill("osd.0", signal.SIGCONT)
    wait_for("the policy is in force", lambda: cluster.cli("mds_partitioner", "balance", "on", FS).code == 0)
    cluster.partitioner("balance", "off", FS)
    assert cluster.fs_settings() == before
