# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that these tests need, from Debian's packages: installed when root, named when not."""

import os
import shutil
import subprocess

import pytest

PACKAGES = {"promtool": "prometheus", "prometheus": "prometheus", "chromium": "chromium"}


def _install(package: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", package]):
        subprocess.run(["apt-get", *command], env=environment, check=True, capture_output=True)


def program(name: str) -> str:
    """The path of a program, which is installed if need be."""
    if shutil.which(name) is None and os.geteuid() == 0:
        _install(PACKAGES[name])
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"this test needs {name}: apt-get install {PACKAGES[name]}")
    return found


@pytest.fixture(scope="session")
def promtool() -> str:
    return program("promtool")


@pytest.fixture(scope="session")
def chromium() -> str:
    return program("chromium")
