# SPDX-License-Identifier: LGPL-2.1-or-later
"""The packages: the same bytes wherever they are built, clean for linters, and gone when they are removed."""

import json
import re
import subprocess
from pathlib import Path

from conftest import HOME, Build, Built
from roots import Root

NAME = "ceph-mgr-mds-partitioner"
MODULE = "usr/share/ceph/mgr/mds_partitioner"
ALERTS = "etc/prometheus/ceph/mds_partitioner_alerts.yml"
DASHBOARDS = "etc/grafana/dashboards/ceph-dashboard/cephfs-metadata"
PING = json.dumps({"id": 1, "call": "ping", "args": {}})


def field(package: Path, name: str) -> str:
    return subprocess.run(
        ["dpkg-deb", "-f", package, name], capture_output=True, text=True, check=True
    ).stdout.strip()


def own(root: Root) -> frozenset[str]:
    """Paths that dpkg says are the package's."""
    return frozenset(line.lstrip("/") for line in root.run("dpkg", "-L", NAME).split() if line != "/.")


def compiled(root: Root) -> list[Path]:
    return sorted((root.path / MODULE).rglob("__pycache__"))


def answered(root: Root) -> dict[str, object]:
    """What the installed engine says to a ping: run by root, so it is compiled on the way."""
    command = f"PYTHONPATH=/{MODULE} python3 -m engine --nice 0 --memory-limit 0"
    answer = json.loads(root.run("sh", "-c", command, stdin=PING + "\n"))
    assert answer["ok"], answer
    result: dict[str, object] = answer["result"]
    return result


def test_two_checkouts_give_the_same_deb(build: Build, deb: Built) -> None:
    other = build("deb", "elsewhere-with-a-longer-name", umask=0o077, zone="Pacific/Auckland")
    assert deb.one("*.deb").read_bytes() == other.one("*.deb").read_bytes()


def test_two_checkouts_give_the_same_rpm(build: Build, rpm: Built) -> None:
    other = build("rpm", "elsewhere-with-a-longer-name", umask=0o077, zone="Pacific/Auckland")
    assert rpm.one("*.noarch.rpm").read_bytes() == other.one("*.noarch.rpm").read_bytes()


def test_the_version_is_the_changelogs(deb: Built, rpm: Built) -> None:
    newest = re.search(r"^## (\S+) ", (HOME / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert field(deb.one("*.deb"), "Version") == newest[1]
    assert rpm.one("*.noarch.rpm").name == f"{NAME}-{newest[1]}-1.noarch.rpm"


def test_lintian_has_nothing_to_say(deb: Built) -> None:
    command = ["lintian", "--allow-root", "--fail-on", "error,warning,info", "--display-info"]
    done = subprocess.run([*command, deb.one("*.changes")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_rpmlint_has_nothing_to_say(rpm: Built) -> None:
    files = [rpm.one("*.spec"), rpm.one("*.noarch.rpm")]
    done = subprocess.run(
        ["rpmlint", "-c", HOME / "packaging/rpm/rpmlint.toml", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 warnings" in done.stdout


def test_install_upgrade_remove_purge_and_again(root: Root, deb: Built, newer: Built) -> None:
    before = root.files()
    root.install(deb.one("*.deb"))
    assert root.files() - before == own(root) - before
    assert {f"{MODULE}/module.py", "usr/share/ceph/mantle/lunule.lua", ALERTS} <= root.files()
    assert str(answered(root)["python"]).startswith("3.13")
    assert compiled(root)
    with (root.path / ALERTS).open("a") as file:
        file.write("# an operator's\n")

    root.install(newer.one("*.deb"))
    assert root.run("dpkg-query", "-W", "-f", "${Version}", NAME) == "99.0.0"
    assert compiled(root) == []
    assert (root.path / ALERTS).read_text().endswith("# an operator's\n")
    assert answered(root)["numpy"]

    root.run("dpkg", "--remove", NAME)
    left = {path for path in root.files() - before if (root.path / path).is_file()}
    assert left == {ALERTS, f"{DASHBOARDS}-balance.json", f"{DASHBOARDS}-migration.json"}

    root.run("dpkg", "--purge", NAME)
    assert root.files() == before

    root.install(newer.one("*.deb"))
    assert answered(root)["scipy"]
    root.run("dpkg", "--purge", NAME)
    assert root.files() == before
