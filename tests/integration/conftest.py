# SPDX-License-Identifier: LGPL-2.1-or-later
"""One lab for all tests of a run, on the release that was asked for; it ends with the run."""

import os
from collections.abc import Iterator

import pytest
from support import FS, HEAVY, LIGHT, OPTIONS, QUICK, Cluster, at_work, skewed, wait_for

from lab.api import Lab
from lab.clients.spec import LoadSpec
from lab.releases import DEFAULT, RELEASES


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--release", choices=sorted(RELEASES), default=DEFAULT, help="Ceph release to test on")


@pytest.fixture(scope="session")
def release(pytestconfig: pytest.Config) -> str:
    return str(pytestconfig.getoption("--release"))


@pytest.fixture(scope="session")
def lab(release: str) -> Iterator[Lab]:
    with Lab.up(name=f"it-{release}-{os.getpid()}", release=release, mds=4, mgr=2, conf=QUICK) as lab:
        yield lab


@pytest.fixture(scope="session")
def running(lab: Lab) -> Cluster:
    """The lab with the module enabled and the tests' options."""
    # Both now: a manager begins anew with every module that is enabled or disabled.
    for module in ("selftest", "mds_partitioner"):
        lab.monitor.command("mgr module enable", module=module)
    cluster = Cluster(lab)
    wait_for("the module answers", cluster.module_answers)
    cluster.set(**OPTIONS)
    cluster.inside("mkdirs", ["/volumes/_nogroup"])
    return cluster


@pytest.fixture
def cluster(running: Cluster) -> Cluster:
    """The same, as it was at the beginning: nothing pinned, no plans."""
    wait_for("the module answers", running.module_answers)
    running.reset()
    return running


@pytest.fixture(scope="session")
def load(running: Cluster) -> LoadSpec:
    """Two heavy and six light subvolumes, with their files, and the clients that use them."""
    paths = running.lab.make_subvolumes([*HEAVY, *LIGHT])
    load = skewed(paths)
    running.lab.prepare(load)
    return load


@pytest.fixture
def analyzed(cluster: Cluster, load: LoadSpec) -> Cluster:
    """After an analysis under that load; the clients are gone again."""
    return ensure_analyzed(cluster, load)


@pytest.fixture(scope="module")
def untouched(running: Cluster, load: LoadSpec) -> Cluster:
    """The same, once for all tests of a file, which must not change anything."""
    wait_for("the module answers", running.module_answers)
    running.reset()
    return ensure_analyzed(running, load)


def ensure_analyzed(cluster: Cluster, load: LoadSpec) -> Cluster:
    known = cluster.cli("mds_partitioner", "analyze", "status", FS, "--format", "json")
    if known.code != 0 or cluster.analyzed != (*HEAVY, *LIGHT):
        with at_work(cluster, load):
            cluster.analyze()
        cluster.analyzed = (*HEAVY, *LIGHT)
    return cluster
