# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package on a cluster: upgraded, removed, purged and installed again while a plan is under way."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import Cluster, wait_for

from lab import package
from lab.errors import LabError
from lab.monitor import CommandError
from lab.progress import Progress

OLDER = "0.0.1"
OURS = "mgr/mds_partitioner/"
CONTROL = """Package: {name}
Version: 1
Architecture: all
Maintainer: nobody <nobody@example.org>
Depends: python3-that-nobody-has
Description: cannot be installed
"""


def version(cluster: Cluster) -> str:
    """What dpkg says is installed; "" for nothing."""
    done = cluster.lab.exec(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package.NAME], check=False
    )
    state, _, number = done.stdout.partition(" ")
    return number if state == "installed" else ""


def kept(cluster: Cluster) -> dict[str, str]:
    """The module's keys in the monitors' store."""
    found: dict[str, str] = cluster.mon("config-key dump", key=OURS)
    return found


def restart(cluster: Cluster) -> None:
    """Start all managers again, and wait until one answers."""
    cluster.lab.restart_managers()

    def answers() -> bool:
        try:
            return bool(cluster.mon("fs volume ls", target="mgr"))
        except CommandError:
            return False

    wait_for("a manager answers", answers)


def ended(status: dict[str, Any], state: str) -> dict[int, Any]:
    """Steps that have come to this state, as they were journaled."""
    return {i: step for i, step in enumerate(status["steps"]) if step["state"] == state}


@contextmanager
def held(cluster: Cluster) -> Iterator[None]:
    """An operator has the plan wait: on a slow disk dpkg takes longer than all its steps."""
    cluster.module("partition pause")
    yield
    cluster.module("partition resume")


@pytest.fixture
def under_way(analyzed: Cluster) -> Iterator[Cluster]:
    """With the package of a version before, and a plan of single moves to make."""
    analyzed.lab.install(package.built(Progress(), OLDER))
    analyzed.set(max_moves=1)
    yield analyzed
    if version(analyzed) in ("", OLDER):
        analyzed.lab.install(package.built(Progress()))
        restart(analyzed)
        wait_for("the module answers", analyzed.module_answers)


@pytest.mark.every_release_alike
def test_a_plan_outlives_upgrade_removal_and_purge_of_the_package(under_way: Cluster) -> None:
    cluster, lab = under_way, under_way.lab
    before = cluster.pins()
    cluster.plan("--heavy", "fanout")
    cluster.module("partition start")
    wait_for("a step was made", lambda: ended(cluster.status(), "done"))

    with held(cluster):
        lab.install(package.built(Progress()))
    assert version(cluster) not in ("", OLDER)
    halfway = cluster.status()
    assert halfway["state"] == "running"
    restart(cluster)
    wait_for("the module answers", cluster.module_answers)
    cluster.set(max_moves=16)
    done = cluster.wait_state("done")
    assert len(ended(done, "done")) == len(done["steps"]) > len(ended(halfway, "done"))
    assert ended(halfway, "done").items() <= ended(done, "done").items(), "what was made is not made again"
    assert cluster.pins() != before

    cluster.set(max_moves=1)
    cluster.module("partition rollback")
    wait_for("a step was undone", lambda: ended(cluster.status(), "undone"))
    with held(cluster):
        package.dpkg(lab.sandbox, "--remove", package.NAME)
    restart(cluster)
    assert cluster.cli("mds_partitioner", "status").code != 0
    assert "mds_partitioner" in cluster.mon("mgr module ls")["enabled_modules"]
    assert not [code for code in cluster.health() if code.startswith("MGR_MODULE")]
    journal, pins = kept(cluster), cluster.pins()
    assert any(key.startswith(f"{OURS}plan/") for key in journal) and pins != before
    package.dpkg(lab.sandbox, "--purge", package.NAME)
    assert version(cluster) == ""
    assert (kept(cluster), cluster.pins()) == (journal, pins), "nobody is there who could change them"

    lab.install(package.built(Progress()))
    restart(cluster)
    wait_for("the module answers", cluster.module_answers)
    cluster.set(max_moves=16)
    back = cluster.wait_state("rolled-back")
    assert len(ended(back, "undone")) == len(back["steps"])
    assert cluster.pins() == before


@pytest.mark.every_release_alike
def test_a_package_whose_dependency_is_missing_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    name = "mds-partitioner-refused"
    (tmp_path / "tree/DEBIAN").mkdir(parents=True)
    (tmp_path / "tree/DEBIAN/control").write_text(CONTROL.format(name=name))
    made = tmp_path / f"{name}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tmp_path / "tree", made], check=True)
    try:
        with pytest.raises(LabError, match="depends on python3-that-nobody-has; however"):
            cluster.lab.install(made)
    finally:
        package.dpkg(cluster.lab.sandbox, "--purge", name)


def test_what_runs_is_what_the_package_brought(cluster: Cluster) -> None:
    assert version(cluster)
    done = cluster.lab.exec(["dpkg", "--verify", package.NAME], check=False)
    changed = [line for line in done.stdout.splitlines() if "/usr/share/doc/" not in line]
    assert changed == [], "documents are left out by the lab's dpkg, nothing else is"
