# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs in the lab: classes of cephfs in several interpreters, as in a manager. Its argument is the text of
mds_partitioner/ceph/interpreter.py. Prints how many calls of a constructor went to another class's."""

import os
import sys

import _interpreters

FIRST = """
import cephfs
for _ in range(300):
    class Other: pass
    Other.__init__
for shared in (cephfs.Error, cephfs.OSError, cephfs.ObjectNotFound, cephfs.NoData):
    shared.__init__
"""
LATER = """
import os, cephfs
def fails(call):
    try:
        call()
    except TypeError:
        return 1
    return 0
wrong = 0
for _ in range(4000):
    class Mine:
        def __init__(self, a, b, c, d): pass
        def used(self): pass
    Mine.used
    for shared in (cephfs.Error, cephfs.OSError, cephfs.ObjectNotFound, cephfs.NoData):
        shared.__init__
    wrong += fails(lambda: Mine(1, 2, 3, 4)) + fails(lambda: cephfs.ObjectNotFound(2, ""))
os.write(OUT, f"{wrong}\\n".encode())
"""


def main(mend: str) -> None:
    """Three that come later: one as it is, the mended one, and one after that."""
    run(FIRST)
    for text in (LATER, f"import cephfs\n{mend}\nkeep_apart()\n{LATER}", LATER):
        run(f"OUT = {sys.stdout.fileno()}\n{text}")
    sys.stdout.flush()
    os._exit(0)  # interpreters that share classes are not to be taken down


def run(text: str) -> None:
    """In an interpreter of its own, of the kind that managers make."""
    failed = _interpreters.exec(_interpreters.create("legacy"), text)
    assert failed is None, failed


main(sys.argv[1])
