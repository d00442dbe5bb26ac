# SPDX-License-Identifier: LGPL-2.1-or-later
"""The packages have every file, and their dependencies are those that the code and the pages name."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from mds_partitioner.ceph.host import OLDEST
from mds_partitioner.engine.__main__ import NEEDS as ENGINE
from mds_partitioner.module import NEEDED as MODULE
from mds_partitioner.monitor.endpoint import NEEDS as ENDPOINT
from mds_partitioner.policy.policies import SHIPPED
from mds_partitioner.policy.sandbox.child import INTERPRETER

HOME = Path(__file__).resolve().parents[3]
PACKAGING = HOME / "packaging"
CONTROL = (PACKAGING / "debian/control").read_text()
SPEC = (PACKAGING / "rpm/ceph-mgr-mds-partitioner.spec.in").read_text()
CONTAINERFILE = (PACKAGING / "Containerfile").read_text()
CEPHS_OWN = {"ceph-mgr", "python3", "python3-cephfs", "python3-rados"}
DEPENDS = CEPHS_OWN | {*MODULE.values(), *ENGINE.values()}
RECOMMENDS = {INTERPRETER, *ENDPOINT.values()}
# Where an RPM's name is not python3dist(NAME) for Debian's python3-NAME.
RPM = {
    **{name: name for name in CEPHS_OWN},
    "lua5.3": "%{_bindir}/lua5.3",
    "python3-sklearn": "python3dist(scikit-learn)",
    "python3-yaml": "python3dist(pyyaml)",
}


def rpm_name(debian: str) -> str:
    return RPM.get(debian, f"python3dist({debian.removeprefix('python3-')})")


def control(field: str) -> set[str]:
    """Package names of one of the field's lists."""
    found = re.search(rf"^{field}:(.*(?:\n .*)*)", CONTROL, re.MULTILINE)
    assert found is not None
    names = {part.split()[0] for part in found[1].split(",")}
    return names - {"${misc:Depends}"}


def spec(field: str) -> set[str]:
    """What the field names."""
    return set(re.findall(rf"^{field}: +(\S+)", SPEC, re.MULTILINE))


def files(folder: str) -> list[str]:
    """Every file below, as a path in the checkout."""
    return [
        str(path.relative_to(HOME))
        for path in (HOME / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


def pages() -> list[str]:
    return [str(path.relative_to(HOME)) for path in (HOME / "docs").glob("*.md")]


def owned(path: str, patterns: list[str]) -> bool:
    """Is it one of these, or below one of these?"""
    found = {found for pattern in patterns for found in HOME.glob(pattern)}
    here = HOME / path
    return any(part in found for part in (here, *here.parents))


PAYLOAD = [
    *files("mgr/mds_partitioner"),
    *files("mantle"),
    *files("monitoring/grafana"),
    "monitoring/prometheus_alerts.yml",
    *files("docs/runbooks"),
    *pages(),
    "README.md",
    "CHANGELOG.md",
]


def installed_by_debian() -> list[str]:
    lines = (PACKAGING / "debian/install").read_text().splitlines()
    by_rules = re.findall(r"install -D -m 644 (\S+)", (PACKAGING / "debian/rules").read_text())
    pages = (PACKAGING / "debian/docs").read_text().split()
    return [source for line in lines for source in line.split()[:-1]] + by_rules + pages


def installed_by_rpm() -> list[str]:
    text = SPEC.partition("%install")[2].partition("%preun")[0].replace("\\\n", " ")
    lines = re.findall(r"^(?:cp -a|install (?:-D )?-m 644) (.+)$", text, re.MULTILINE)
    return [source for line in lines for source in line.split()[:-1]]


@pytest.mark.parametrize("installed", [installed_by_debian, installed_by_rpm])
def test_every_file_is_installed(installed: Callable[[], list[str]]) -> None:
    patterns = installed()
    assert [path for path in PAYLOAD if not owned(path, patterns)] == []
    assert not owned("mgr/other/module.py", patterns)


def test_what_the_rpm_installs_it_owns() -> None:
    listed = SPEC.partition("%files")[2].partition("%changelog")[0]
    for where in ("%{module_dir}", "%{_datadir}/ceph/mantle", "%{_docdir}/%{name}"):
        assert f"\n{where}\n" in listed
    for where in ("grafana/dashboards/ceph-dashboard", "prometheus/ceph"):
        assert f"\n%config(noreplace) %{{_sysconfdir}}/{where}/" in listed


def test_the_image_has_the_folders_whole() -> None:
    copied = re.findall(r"^COPY (\S+) (\S+)$", CONTAINERFILE, re.MULTILINE)
    assert copied == [
        ("mgr/mds_partitioner", "/usr/share/ceph/mgr/mds_partitioner"),
        ("mantle", "/usr/share/ceph/mantle"),
    ]


def test_policies_are_where_the_module_looks() -> None:
    assert {path.stem for path in (HOME / "mantle").glob("*.lua")} == set(SHIPPED)
    assert "\nmantle usr/share/ceph\n" in (PACKAGING / "debian/install").read_text()


def test_debian_names_what_the_code_needs() -> None:
    assert control("Depends") == DEPENDS
    assert control("Recommends") == RECOMMENDS


def test_the_rpm_names_what_the_code_needs() -> None:
    """And asks for nothing that EL 9 has not: what a spec asks the building system for holds for all."""
    engine = set(ENGINE.values())
    assert spec("Requires") == {rpm_name(name) for name in DEPENDS - engine}
    assert spec("Recommends") == {rpm_name(name) for name in RECOMMENDS | engine}
    assert "%if" not in SPEC


def test_the_image_gets_what_the_code_needs() -> None:
    debian = CONTAINERFILE.partition("--no-install-recommends")[2].partition(";")[0].replace("\\\n", " ")
    assert set(debian.split()) == (DEPENDS | RECOMMENDS) - CEPHS_OWN
    pip = re.search(r"pip install --no-cache-dir (.*);", CONTAINERFILE)
    assert pip is not None
    assert set(pip[1].split()) == {"numpy", "scipy", "scikit-learn"}


def test_the_page_names_what_the_packages_do() -> None:
    page = (HOME / "docs/install.md").read_text()
    table = page.partition("## What it needs")[2].partition("## ")[0]
    rows = [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| ")]
    named = {name for row in rows for quoted in re.findall("`(.*)`", row) for name in quoted.split()}
    assert named == DEPENDS | RECOMMENDS


def test_the_oldest_ceph_and_python_are_the_same_everywhere() -> None:
    for name, oldest in (("ceph-mgr", OLDEST), ("python3", "3.9")):
        assert f"{name} (>= {oldest})" in CONTROL
        assert re.search(rf"^Requires: +{name} >= (2:)?{re.escape(oldest)}$", SPEC, re.MULTILINE)
    for page in ("README.md", "docs/install.md"):
        assert f"Ceph {OLDEST} or later" in " ".join((HOME / page).read_text().split())


def test_the_changelog_has_the_only_version() -> None:
    headings = re.findall("^## (.*)", (HOME / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in headings]
    entries = [entry.groups() for entry in found if entry is not None]
    assert len(entries) == len(headings) > 0
    versions = [tuple(map(int, entry[:3])) for entry in entries]
    days = [date.fromisoformat(entry[3]) for entry in entries]
    assert versions == sorted(set(versions), reverse=True), "the newest comes first"
    assert days == sorted(days, reverse=True)
    assert spec("Version") == {"@VERSION@"}
    assert not (PACKAGING / "debian/changelog").exists(), "packaging/build writes it"
