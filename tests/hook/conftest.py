# SPDX-License-Identifier: LGPL-2.1-or-later
"""One lab whose MDSs all have the hook, for all tests of a run; it must have been built: `make mds`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from support import Cluster

from lab.api import Lab
from lab.releases import DEFAULT, RELEASES
from mds.build import built

CONF = {
    # A window is as long, where a test does not end it.
    "mds_bal_interval": "5",
    "mds_tick_interval": "1",
    "mds_metrics_update_interval": "1",
    # What a test splits is not to be merged behind its back.
    "mds_bal_merge_size": "0",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--release", choices=sorted(RELEASES), default=DEFAULT, help="Ceph release to test on")


@pytest.fixture(scope="session")
def release(pytestconfig: pytest.Config) -> str:
    return str(pytestconfig.getoption("--release"))


@pytest.fixture(scope="session")
def program(release: str) -> Path:
    return built(release)


@pytest.fixture(scope="session")
def cluster(program: Path, release: str) -> Iterator[Cluster]:
    name = f"hook-{os.getpid()}"
    with Lab.up(name=name, release=release, mds=4, mgr=1, mds_binary=program, conf=CONF) as lab:
        yield Cluster(lab)
