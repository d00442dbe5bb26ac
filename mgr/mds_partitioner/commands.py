# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands' bodies: parse what was typed, call the service, render the answer."""

import json
from typing import Any, Protocol

from .act.journal import Run
from .analyzer import Analyzer
from .balancer import Balancer
from .engine_client import EngineClient
from .errors import BadInput, NotFound
from .host import Host
from .model import FsState
from .monitor.service import Monitor
from .partitioner import Partitioner
from .plan.ranks import parse_ranks
from .report import analysis as analysis_report
from .report import balance as balance_report
from .report import imbalance as imbalance_report
from .report import partition as partition_report
from .report.text import FORMATS, render, table


class Services(Protocol):
    """What a command needs of the module."""

    host: Host
    engine: EngineClient
    analyzer: Analyzer
    partitioner: Partitioner
    balancer: Balancer
    monitor: Monitor


def _check_format(format_: str) -> None:
    # Before anything is done: a command that fails must not have changed anything.
    if format_ not in FORMATS:
        raise BadInput(f"'{format_}' is not a format: use table (plain), json or yaml")


def status(s: Services, format_: str) -> str:
    rows = []
    for fs in s.host.file_systems():
        try:
            analysis = s.analyzer.get(fs)
            analyzed = f"{analysis.state} {analysis.progress():.0%}"
        except NotFound:
            analyzed = "none"
        runs = s.partitioner.all(fs)
        newest = f"{runs[-1].plan.name}: {runs[-1].head.state}" if runs else "none"
        switch = s.balancer.get(fs)
        balance = f"{switch.policy}: {switch.state}" if switch else "off"
        rows.append(
            {
                "fs": fs.name,
                "ranks": len(fs.ranks_in),
                "analysis": analyzed,
                "plan": newest,
                "balance": balance,
            }
        )
    cells = [tuple(row.values()) for row in rows]
    return render(
        format_,
        rows,
        table(
            ("Name", "Ranks", "Analysis", "Plan", "Balance"), cells, ("Name", "Analysis", "Plan", "Balance")
        ),
    )


def imbalance(s: Services, fs_name: str | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    judged, samples = s.analyzer.imbalance(fs, s.monitor.recent(fs))
    value = imbalance_report.value(judged, samples)
    return render(format_, value, imbalance_report.text(judged, samples))


def analyze_start(
    s: Services, fs_name: str | None, duration: int | None, directories: str | None, format_: str
) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    analysis = s.analyzer.start(fs, duration, _directories(directories))
    return render(
        format_,
        analysis_report.analysis_value(analysis),
        f"analyzing '{fs.name}' for {analysis.duration} s; see 'ceph mds_partitioner analyze status'",
    )


def _directories(text: str | None) -> list[str]:
    """A path, or a JSON list of paths."""
    if text is None:
        return []
    if text.startswith("/"):
        return [text]
    try:
        paths = json.loads(text)
    except ValueError:
        paths = None
    if (
        not isinstance(paths, list)
        or not paths
        or not all(isinstance(p, str) and p[:1] == "/" for p in paths)
    ):
        raise BadInput(f"directories '{text}': give an absolute path or a JSON list of absolute paths")
    return paths


def analyze_status(s: Services, fs_name: str | None, format_: str) -> str:
    _check_format(format_)
    analysis = s.analyzer.get(s.host.fs(fs_name))
    return render(format_, analysis_report.analysis_value(analysis), analysis_report.analysis_text(analysis))


def analyze_stop(s: Services, fs_name: str | None, format_: str) -> str:
    _check_format(format_)
    analysis = s.analyzer.stop(s.host.fs(fs_name))
    return render(format_, analysis_report.analysis_value(analysis), analysis_report.analysis_text(analysis))


def partition_plan(
    s: Services,
    fs_name: str | None,
    name: str | None,
    heavy: str,
    ranks: str | None,
    to_auth: bool,
    force: bool,
    format_: str,
) -> str:
    _check_format(format_)
    usable = None if ranks is None else parse_ranks(ranks)
    plan = s.partitioner.plan(
        s.host.fs(fs_name), name=name, heavy=heavy, ranks=usable, to_auth=to_auth, force=force
    )
    return render(format_, partition_report.plan_value(plan), partition_report.plan_text(plan))


def partition_start(
    s: Services,
    fs_name: str | None,
    name: str | None,
    heavy: str,
    to_auth: bool,
    dry_run: bool,
    force: bool,
    format_: str,
) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    run = s.partitioner.newest(fs, name) if name else s.partitioner.startable(fs)
    if run is not None:
        plan = run.plan
    else:
        plan = s.partitioner.plan(
            fs, name=None, heavy=heavy, ranks=None, to_auth=to_auth, force=force, save=not dry_run
        )
    if dry_run:
        return render(format_, partition_report.plan_value(plan), partition_report.plan_text(plan))
    return _shown(s, fs, s.partitioner.start(fs, plan.name), format_)


def partition_status(s: Services, fs_name: str | None, name: str | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    return _shown(s, fs, s.partitioner.newest(fs, name), format_)


def partition_ls(s: Services, fs_name: str | None, format_: str) -> str:
    fs = s.host.fs(fs_name)
    rows: list[dict[str, Any]] = [
        {
            "name": run.plan.name,
            "state": run.head.state,
            "steps": len(run.plan.steps),
            "progress": f"{partition_report.progress(run):.0%}",
            "heavy": run.plan.heavy_mode,
        }
        for run in s.partitioner.all(fs)
    ]
    cells = [tuple(row.values()) for row in rows]
    return render(
        format_, rows, table(("Name", "State", "Steps", "Progress", "Heavy"), cells, ("Name", "State"))
    )


def partition_pause(s: Services, fs_name: str | None, duration: int | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    return _shown(s, fs, s.partitioner.pause(fs, duration), format_)


def partition_resume(s: Services, fs_name: str | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    return _shown(s, fs, s.partitioner.resume(fs), format_)


def partition_stop(s: Services, fs_name: str | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    return _shown(s, fs, s.partitioner.stop(fs), format_)


def partition_rollback(s: Services, fs_name: str | None, name: str | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    return _shown(s, fs, s.partitioner.rollback(fs, name), format_)


def partition_rm(s: Services, fs_name: str | None, name: str) -> str:
    s.partitioner.remove(s.host.fs(fs_name), name)
    return f"plan '{name}' is forgotten"


def balance_on(
    s: Services, fs_name: str | None, policy: str, given: str | None, force: bool, format_: str
) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    switch = s.balancer.on(fs, policy, given, force)
    fs = s.host.fs(fs.name)
    return render(
        format_,
        balance_report.value(fs, switch, s.balancer.watch(fs)),
        f"'{fs.name}' is balanced by the policy {switch.policy}; see 'ceph mds_partitioner balance status'",
    )


def balance_off(s: Services, fs_name: str | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    kept = s.balancer.off(fs)
    said = [f"'{fs.name}': no policy of mds_partitioner balances it", *kept]
    fs = s.host.fs(fs.name)
    return render(
        format_, balance_report.value(fs, None, s.balancer.watch(fs)) | {"kept": kept}, "\n".join(said)
    )


def balance_status(s: Services, fs_name: str | None, format_: str) -> str:
    _check_format(format_)
    fs = s.host.fs(fs_name)
    switch, watch = s.balancer.get(fs), s.balancer.watch(fs)
    return render(format_, balance_report.value(fs, switch, watch), balance_report.text(fs, switch, watch))


def _shown(s: Services, fs: FsState, run: Run, format_: str) -> str:
    current = s.partitioner.current_ranks(fs, run)
    return render(format_, partition_report.run_value(run, current), partition_report.run_text(run, current))
