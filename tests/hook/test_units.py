# SPDX-License-Identifier: LGPL-2.1-or-later
"""What of the hook needs no cluster, against hostile input (mds/build/unit_tests.cc)."""

from hooked import for_tests
from support import Cluster


def test_nothing_hostile_ends_the_program(cluster: Cluster) -> None:
    done = cluster.lab.exec([for_tests(cluster, "unit-tests")], timeout=300, check=False)
    failed = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    assert failed == ["0 failed"], done.stderr[-2000:]
    assert done.returncode == 0
