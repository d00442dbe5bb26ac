# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands that a plan prints name the planned directories, whatever these are called."""

import os
import subprocess
from dataclasses import replace

import pytest
from fake_cluster import FakeCluster, plan
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mds_partitioner.plan.plan import Step

BEFORE = "setfattr -n ceph.dir.pin -v 1 "
NAMES = st.lists(st.binary(min_size=1).map(lambda b: b.replace(b"\0", b"").replace(b"/", b"") or b"x"))
HOSTILE = [
    *(
        b"a\nb",
        b"\x1b[2J",
        b"it's",
        b"it's!x",
        b"a!b",
        b"tab\there",
        b"\xff\xfe",
        b"caf\xe9",
        b"a\\nb",
        b"$(reboot)",
    ),
    *(b"`id`", b"a\x7f", b"-n", b"trailing\n", b"\xe2\x80\xae", b"\xf0\x9f\x90\x8d", b" ", b"'", b"\\", b'"'),
    *(b"a\x0ab\x0ac0", b"\x01" + b"f" * 9, b"\xed\xb2\x80", b"*?[a]{b,c}~", b"#x", b"\r", b"\xc2\xa0"),
]


def pin(name: bytes) -> Step:
    step = plan(FakeCluster(), {100: 1}).steps[0]
    return replace(step, target=f"/volumes/_nogroup/{os.fsdecode(name)}")


def read_by_bash(commands: list[str], locale: str) -> list[bytes]:
    """The last argument of each command, as bash hands it over."""
    # "!" is expanded, as it is where commands are pasted.
    shell = "set -o history -o histexpand\nsetfattr() { printf '%s\\0' \"${@: -1}\"; }\n" + "\n".join(
        commands
    )
    ran = subprocess.run(
        ["bash", "--norc", "-s"],
        input=shell.encode(),
        capture_output=True,
        check=True,
        env={"LC_ALL": locale, "PATH": os.environ["PATH"]},
    )
    assert ran.stderr == b""
    return ran.stdout.split(b"\0")[:-1]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@settings(max_examples=40, deadline=None)
@given(names=NAMES)
@example(names=HOSTILE)
def test_bash_reads_the_directory_that_was_planned(locale: str, names: list[bytes]) -> None:
    commands = [pin(name).command("cephfs") for name in names]
    assert all(c.startswith(BEFORE) and c.isprintable() for c in commands)
    assert read_by_bash(commands, locale) == [b"<mount>/volumes/_nogroup/" + name for name in names]


def test_an_ordinary_name_is_quoted_plainly() -> None:
    assert pin(b"Subvol1").command("cephfs") == BEFORE + "'<mount>/volumes/_nogroup/Subvol1'"
