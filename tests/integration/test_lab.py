# SPDX-License-Identifier: LGPL-2.1-or-later
"""A lab that has ended, however it ended, has left nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import PATIENCE, wait_for

from lab import state

ROOT = Path(__file__).resolve().parents[2]


def traces(name: str) -> list[str]:
    """Processes, mounts, control groups and files that belong to the lab of that name."""
    found = []
    home = str(state.lab_dir(name))
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            mounts = (entry / "mountinfo").read_text()
        except OSError:
            continue
        # pytest's own command line does not hold a lab's name.
        if name in command or home in mounts:
            found.append(f"process {entry.name}: {command}")
    # Other people's come and go meanwhile, which os.walk does not mind.
    groups = (f"{at}/{group}" for at, inner, _ in os.walk("/sys/fs/cgroup") for group in inner)
    found += [f"cgroup {group}" for group in groups if name in Path(group).name]
    found += [f"mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if name in line]
    found += [f"file {path}" for path in state.base_dir().iterdir() if path.name.startswith(name)]
    return found


def lab_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "lab", *args]


@pytest.mark.every_release_alike
def test_down_leaves_nothing(release: str) -> None:
    name = f"it-down-{os.getpid()}"
    up = ["up", "--name", name, "--release", release, "--mds", "1", "--mgr", "1", "--mds-cpu", "50"]
    subprocess.run(lab_command(*up), cwd=ROOT, check=True, timeout=600, capture_output=True)
    assert traces(name), "a running lab has traces, or this test sees nothing"
    subprocess.run(lab_command("down", "--name", name), cwd=ROOT, check=True, timeout=PATIENCE)
    assert traces(name) == []


@pytest.mark.every_release_alike
@pytest.mark.parametrize("step", ["check the machine", "sandbox", "monitor", "managers, OSD, MDSs"])
def test_an_interrupted_up_leaves_nothing(release: str, step: str) -> None:
    name = f"it-int-{os.getpid()}"
    up = ["up", "--name", name, "--release", release, "--mds", "2", "--mgr", "1"]
    with subprocess.Popen(
        lab_command(*up), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        # Each step is told when it has ended: the next one is what is interrupted.
        for line in process.stdout:
            if line.rstrip().endswith(step):
                process.send_signal(signal.SIGINT)
                break
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT, said
    wait_for("nothing is left", lambda: not traces(name))
