# SPDX-License-Identifier: LGPL-2.1-or-later
"""Brings up Ceph in a sandbox: monitor, managers, OSD, MDSs, one file system, until it is healthy."""

import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import cephconf, daemons, state
from lab.errors import LabError
from lab.monitor import CommandError, Monitor
from lab.progress import Progress
from lab.sandbox import Sandbox
from lab.state import LabState
from lab.waiting import until

FS_NAME = "cephfs"
_WAIT_S = 180


@dataclass(frozen=True)
class Shape:
    """How many of what."""

    mds: int = 4
    """Active ranks."""
    standby: int = 0
    mgr: int = 2


class Bringup:
    """One bring-up of one lab."""

    def __init__(self, lab: LabState, shape: Shape, progress: Progress) -> None:
        self._lab = lab
        self._shape = shape
        self._progress = progress
        self._sandbox = Sandbox(lab.sandbox_pid)
        self._mgrs = [f"mgr.{n}" for n in cephconf.mgr_names(shape.mgr)]
        self._mdss = [f"mds.{n}" for n in cephconf.mds_names(shape.mds + shape.standby)]

    def run(self) -> None:
        """Do all of it; LabError says what stopped it."""
        with self._progress.step("monitor"):
            self._start_mon()
        monitor = Monitor(self._sandbox)
        try:
            with self._progress.step("managers, OSD, MDSs"):
                self._start_others(monitor)
            with self._progress.step("file system"):
                self._make_fs(monitor)
            with self._progress.step("all ranks active, healthy"):
                self._wait_healthy(monitor)
        finally:
            monitor.close()

    def _start_mon(self) -> None:
        split = map(daemons.split, self._lab.daemons)
        homes = [f"/var/lib/ceph/{kind}/ceph-{ident}" for kind, ident in split]
        self._sandbox.run(["mkdir", "-p", *homes])
        make = ["ceph-mon", "--mkfs", "-i", "a", "--keyring", "/etc/ceph/bootstrap.keyring"]
        done = self._sandbox.run(make, timeout=60)
        if done.returncode:
            raise LabError(f"the monitor's store could not be made: {done.stderr.strip()}")
        self._start("mon.a")

    def _start_others(self, monitor: Monitor) -> None:
        with ThreadPoolExecutor() as pool:
            jobs = [pool.submit(self._start, daemon) for daemon in self._mgrs]
            jobs.append(pool.submit(self._start_osd, monitor))
            jobs += [pool.submit(self._start, daemon) for daemon in self._mdss]
            for job in jobs:
                job.result()

    def _start_osd(self, monitor: Monitor) -> None:
        osd_uuid = str(uuid.uuid4())
        monitor.command("osd new", uuid=osd_uuid)
        done = self._sandbox.run(["ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd_uuid], timeout=60)
        if done.returncode:
            raise LabError(f"the OSD's store could not be made: {done.stderr.strip()}")
        self._start("osd.0")

    def _start(self, daemon: str) -> None:
        daemons.start(self._lab, daemon)
        self._progress.detail(f"{daemon} started")

    def _make_fs(self, monitor: Monitor) -> None:
        for pool in ("meta", "data"):
            monitor.command("osd pool create", pool=f"{FS_NAME}_{pool}", pg_num=8)
        monitor.command("fs new", fs_name=FS_NAME, metadata=f"{FS_NAME}_meta", data=f"{FS_NAME}_data")
        self._fs_set(monitor, "max_mds", self._shape.mds)
        self._fs_set(monitor, "standby_count_wanted", min(1, self._shape.standby))

    def _fs_set(self, monitor: Monitor, name: str, value: int) -> None:
        monitor.command("fs set", fs_name=FS_NAME, var=name, val=str(value))

    def _wait_healthy(self, monitor: Monitor) -> None:
        self._wait(lambda: self._ranks_missing(monitor), "mds.a")
        self._wait(lambda: self._managers_missing(monitor), self._mgrs[0])
        self._wait(lambda: _health_missing(monitor))
        self._wait(lambda: _volumes_missing(monitor), self._mgrs[0])
        self._wait(lambda: _pgs_missing(monitor), "osd.0")

    def _ranks_missing(self, monitor: Monitor) -> str:
        dump = monitor.json("fs dump")
        states = [info["state"] for fs in dump["filesystems"] for info in fs["mdsmap"]["info"].values()]
        active, standby = states.count("up:active"), len(dump["standbys"])
        if (active, standby) == (self._shape.mds, self._shape.standby):
            return ""
        return f"{active} of {self._shape.mds} ranks active, {standby} of {self._shape.standby} in standby"

    def _managers_missing(self, monitor: Monitor) -> str:
        dump = monitor.json("mgr dump")
        standbys = len(dump["standbys"])
        if dump["available"] and standbys == self._shape.mgr - 1:
            return ""
        return f"manager {'available' if dump['available'] else 'not available yet'}, {standbys} in standby"

    def _check_alive(self) -> None:
        alive = daemons.running(self._lab)
        for daemon in self._lab.daemons:
            if daemon not in alive:
                raise LabError(f"{daemon} has died; its log ends:\n{self._tail(daemon)}")

    def _tail(self, daemon: str) -> str:
        return daemons.log_tail(self._lab.name, daemon)

    def _wait(self, missing: Callable[[], str], culprit: str | None = None) -> None:
        """Poll until nothing is missing; the culprit's log explains what stays missing."""
        text = ""

        def complete() -> bool:
            nonlocal text
            if text := missing():
                self._progress.detail(text)
                self._check_alive()
            return not text

        def still() -> str:
            why = f"; the log of {culprit} ends:\n{self._tail(culprit)}" if culprit else ""
            return f"what is missing still: {text}{why}"

        until(complete, _WAIT_S, still)


def _health_missing(monitor: Monitor) -> str:
    try:
        health: dict[str, Any] = monitor.json("health", detail="detail")
    except CommandError as e:
        return str(e)
    if health["status"] == "HEALTH_OK":
        return ""
    checks = (check["summary"]["message"] for check in health["checks"].values())
    return "; ".join(checks)


def _pgs_missing(monitor: Monitor) -> str:
    if ".mgr" not in (pool["poolname"] for pool in monitor.json("osd lspools")):
        return "the managers' pool is not there yet"
    try:
        summary = monitor.json("pg stat")["pg_summary"]
    except CommandError as e:
        # The monitors do not know the manager's commands before its first report.
        return str(e)
    unclean = [s["name"] for s in summary["num_pg_by_state"] if s["name"] != "active+clean"]
    return f"placement groups {', '.join(unclean)}" if unclean or not summary["num_pgs"] else ""


def _volumes_missing(monitor: Monitor) -> str:
    """The manager's modules come up after the manager: ask one that everybody needs."""
    try:
        monitor.json("fs volume ls", target="mgr")
    except CommandError as e:
        return str(e)
    return ""


def write_configuration(name: str, cipher: str, shape: Shape, extra: Mapping[str, str]) -> list[str]:
    """Write ceph.conf and every keyring into the lab's directory; the names of its daemons."""
    etc = state.lab_dir(name) / "etc"
    names = [
        "mon.a",
        *(f"mgr.{n}" for n in cephconf.mgr_names(shape.mgr)),
        "osd.0",
        *(f"mds.{n}" for n in cephconf.mds_names(shape.mds + shape.standby)),
    ]
    keys = {entity: cephconf.make_key(cipher) for entity in (*names[1:], "client.admin", "client.load")}
    keys["mon."] = cephconf.make_key(cipher)
    _write_secret(etc / "bootstrap.keyring", cephconf.keyring(keys))
    for entity, key in keys.items():
        if entity != "mon.":
            _write_secret(etc / f"ceph.{entity}.keyring", cephconf.keyring({entity: key}))
    (etc / "ceph.conf").write_text(cephconf.ceph_conf(str(uuid.uuid4()), extra))
    return names


def _write_secret(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
