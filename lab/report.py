# SPDX-License-Identifier: LGPL-2.1-or-later
"""`status`: the labs, their daemons and ranks, as tables."""

from typing import Any

from rich.console import Console
from rich.table import Table

from lab import daemons, state
from lab.errors import LabError
from lab.monitor import Monitor
from lab.sandbox import Sandbox
from lab.state import LabState


def show() -> None:
    """Print all labs of this user."""
    console = Console()
    names = state.names()
    if not names:
        console.print("no labs: start one with `python3 -m lab up`", markup=False)
    for name in names:
        if not state.is_alive(name):
            console.print(f"{name}: dead, `down` removes what it left", markup=False)
            continue
        try:
            _show_lab(console, state.load(name))
        except LabError as e:
            console.print(f"{name}: {e}", markup=False)


def _show_lab(console: Console, lab: LabState) -> None:
    ranks, health = _cluster(lab)
    console.print(f"lab {lab.name}: {lab.release}, {_quotas(lab)}, {health}", markup=False, highlight=False)
    table = Table()
    for column in ("daemon", "pid", "role"):
        table.add_column(column)
    alive = daemons.running(lab)
    for daemon in lab.daemons:
        pids = ", ".join(map(str, alive.get(daemon, []))) or "dead"
        table.add_row(daemon, pids, ranks.get(daemon, ""))
    console.print(table)


def _quotas(lab: LabState) -> str:
    quotas = {"each MDS": lab.mds_cpu} | dict(sorted(lab.mds_cpu_own.items()))
    told = (f"{who} {'no quota' if q is None else f'{q} % of a core'}" for who, q in quotas.items())
    return "CPU: " + ", ".join(told)


def _cluster(lab: LabState) -> tuple[dict[str, str], str]:
    """Role by daemon, and the cluster's health."""
    if not lab.ready:
        return {}, "starting"
    if "mon.a" not in daemons.running(lab):
        return {}, "monitor dead"
    monitor = Monitor(Sandbox(lab.sandbox_pid))
    try:
        health = str(monitor.json("health")["status"])
        return _roles(monitor.json("fs dump"), monitor.json("mgr dump")), health
    finally:
        monitor.close()


def _roles(fs_dump: dict[str, Any], mgr_dump: dict[str, Any]) -> dict[str, str]:
    roles = {f"mgr.{mgr_dump['active_name']}": "active" if mgr_dump["available"] else "starting"}
    roles |= {f"mgr.{s['name']}": "standby" for s in mgr_dump["standbys"]}
    roles |= {f"mds.{s['name']}": "standby" for s in fs_dump["standbys"]}
    for fs in fs_dump["filesystems"]:
        for info in fs["mdsmap"]["info"].values():
            roles[f"mds.{info['name']}"] = f"rank {info['rank']} {info['state'].removeprefix('up:')}"
    return roles
