# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `make` installs starts no services, and leaves those alone that were there."""

import os
import subprocess
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[3]
SCRIPT = (HOME / "lab/install-debs").read_text()
ALERTS = "prometheus-alertmanager"


class Machine:
    """Programs that write down how they were called; apt-get, whether a service would have been started."""

    def __init__(self, home: Path) -> None:
        self.home, self.asked = home, home / "policy-rc.d"
        self.program("id", "echo ${WHO:-0}")
        self.program(
            "apt-get", 'if [ -e "$ASKED" ]; then /bin/sh "$ASKED" || echo "refused $?" >>"$CALLS"; fi'
        )
        self.program("systemctl", 'case "$*" in *is-enabled*alertmanager) exit 1 ;; esac')
        for name in ("rm", "chmod"):
            (home / name).symlink_to(f"/bin/{name}")

    def program(self, name: str, does: str) -> None:
        """One that does that."""
        path = self.home / name
        path.write_text(f'#!/bin/sh\necho {name} "$@" >>"$CALLS"\n{does}\n')
        path.chmod(0o755)

    def install(self, *packages: str, who: str = "0") -> list[str]:
        """The calls, but for that of id."""
        calls = self.home / "calls"
        given = {"PATH": str(self.home), "CALLS": str(calls), "ASKED": str(self.asked), "WHO": who}
        script = SCRIPT.replace("/usr/sbin/policy-rc.d", str(self.asked))
        subprocess.run(["/bin/sh", "-c", script, "install-debs", *packages], env=given, check=True)
        return [line for line in calls.read_text().splitlines() if not line.startswith("id ")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_no_service_is_started_or_enabled(machine: Machine) -> None:
    assert machine.install("lua5.3", "prometheus") == [
        "apt-get update -q",
        "refused 101",
        "apt-get install -qy --no-install-recommends lua5.3 prometheus",
        "refused 101",
        "systemctl -q is-enabled prometheus",
        "systemctl -q disable prometheus",
        f"systemctl -q is-enabled {ALERTS}",
    ]
    assert not machine.asked.exists()


def test_a_service_that_was_there_stays_as_it_was(machine: Machine) -> None:
    machine.program("prometheus", "")
    machine.asked.write_text("exit 104\n")
    calls = machine.install("lua5.3")
    assert [call for call in calls if "disable" in call or call.endswith(" prometheus")] == []
    assert "refused 104" in calls and machine.asked.read_text() == "exit 104\n"


def test_without_systemd_there_is_nothing_to_disable(machine: Machine) -> None:
    (machine.home / "systemctl").unlink()
    assert machine.install("prometheus")[-1] == "refused 101"


def test_who_may_not_install_is_told_what_to(machine: Machine) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        machine.install("lua5.3", who="1000")
    assert not machine.asked.exists()
    assert "apt-get" not in (machine.home / "calls").read_text()


def test_the_makefile_installs_by_it_alone_and_can_make_its_environment() -> None:
    makefile = (HOME / "Makefile").read_text()
    assert "apt-get" not in makefile
    ready = makefile.partition("\n$(VENV)/ready:")[2].partition("\n\n")[0].splitlines()
    assert "lab/install-debs python3-venv" in ready[1] and "-m venv" in ready[2]
    assert os.access(HOME / "lab/install-debs", os.X_OK)
