# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that these tests need, from Debian's packages; `make` installs them."""

import shutil

import pytest

PACKAGES = {"promtool": "prometheus", "chromium": "chromium"}


def program(name: str) -> str:
    """The path of a program."""
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
