# SPDX-License-Identifier: LGPL-2.1-or-later
"""Other modules of the manager have the same classes of Ceph's extensions, and no others of ours."""

from pathlib import Path

from lab.api import Lab

INSIDE = Path(__file__).with_name("interpreters.py").read_text()
MEND = Path(__file__).parents[2] / "mgr/mds_partitioner/ceph/interpreter.py"


def test_classes_that_interpreters_share_are_kept_apart(lab: Lab) -> None:
    done = lab.exec(["python3", "-", MEND.read_text()], stdin=INSIDE, timeout=120)
    as_it_is, mended, after = map(int, done.stdout.split())
    assert as_it_is > 0, "this Python has no such defect: mds_partitioner/ceph/interpreter.py may go"
    assert (mended, after) == (0, 0)
