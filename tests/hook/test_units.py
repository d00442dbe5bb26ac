# SPDX-License-Identifier: LGPL-2.1-or-later
"""What of the hook needs no cluster, against hostile input (src/test/mds in the series)."""

from hooked import for_tests
from support import Cluster


def test_nothing_hostile_ends_the_program(cluster: Cluster) -> None:
    done = cluster.lab.exec([for_tests(cluster, "unit-tests")], timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "[ RUN      ] BalMask." in done.stdout
    assert "[ RUN      ] Mantle." in done.stdout
