# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the module costs the active manager: `python3 -m demo.cost`.

One lab under the demo's load; the module is disabled, enabled but idle, and analyzing, in turns. The CPU
time is that of the manager's process and of the engine, its child, as the kernel counts it.
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from demo import scene
from demo.console import DemoConsole
from experiments.common.cells.cpu import cpu_ticks
from experiments.common.measurement import about, exit_status, save
from lab import module, releases
from lab.api import Lab
from lab.errors import LabError
from lab.waiting import until

OUT = Path("docs/results/module-cost.json")
GOAL_PERCENT = 2.0
_SETTLE_S = 12.0
_AVAILABLE_S = 60.0


def parent(stat: str) -> int:
    """The parent's process id."""
    return int(stat.rpartition(")")[2].split()[1])


def _stats() -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue
    return found


@dataclass(frozen=True)
class Ticks:
    """CPU time of the manager and of its children, in the kernel's ticks."""

    manager: int
    children: int


def ticks(pid: int) -> Ticks:
    """What a manager and all its children have used so far."""
    stats = _stats()
    children = [text for text in stats.values() if parent(text) == pid]
    return Ticks(cpu_ticks(stats[pid]), sum(map(cpu_ticks, children)))


def _active_manager(lab: Lab) -> int:
    """Process id of the active manager, once there is one."""

    def pid() -> int | None:
        dump = lab.monitor.json("mgr dump")
        pids = lab.daemons().get(f"mgr.{dump['active_name']}", []) if dump["available"] else []
        return pids[0] if pids else None

    return until(pid, _AVAILABLE_S, "a manager is active")


def _measure(lab: Lab, seconds: float) -> dict[str, float]:
    """CPU of the active manager in percent of a core, over so many seconds."""
    pid = _active_manager(lab)
    started, before = time.monotonic(), ticks(pid)
    time.sleep(seconds)
    if _active_manager(lab) != pid:
        raise LabError("another manager became active in the middle of a measurement")
    after, passed = ticks(pid), time.monotonic() - started
    scale = 100.0 / os.sysconf("SC_CLK_TCK") / passed
    return {
        "manager": round((after.manager - before.manager) * scale, 3),
        "children": round((after.children - before.children) * scale, 3),
        "total": round((after.manager + after.children - before.manager - before.children) * scale, 3),
    }


def _disabled(lab: Lab, seconds: float) -> None:
    # An analysis that runs would begin anew when the module is enabled again.
    module.ask_or_none(lab, "analyze stop")
    module.disable(lab)


def _idle(lab: Lab, seconds: float) -> None:
    module.enable(lab, {})


def _analyzing(lab: Lab, seconds: float) -> None:
    module.text(lab, "analyze start", duration=int(seconds + 10 * _SETTLE_S))


PHASES: tuple[tuple[str, Callable[[Lab, float], None]], ...] = (
    ("disabled", _disabled),
    ("idle", _idle),
    ("analyzing", _analyzing),
)


def measure(
    release: str, rounds: int, seconds: float, console: DemoConsole
) -> dict[str, list[dict[str, float]]]:
    """CPU in percent of a core, by phase, one entry a round."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name, _ in PHASES}
    lab = Lab.up(name=f"cost-{os.getpid()}", release=release, mds=scene.RANKS, mgr=2, progress=console)
    with lab:
        with console.step("make subvolumes and files"):
            load = scene.load(lab.make_subvolumes(scene.subvolumes()))
            lab.prepare(load)
        if lab.state.cgroup is not None:
            lab.set_mds_cpu(scene.CPU_PERCENT)
        with lab.clients(load) as clients:
            for number in range(rounds):
                for name, begin in PHASES:
                    begin(lab, seconds)
                    with console.step(f"round {number + 1}: {name}"):
                        time.sleep(_SETTLE_S)
                        found[name].append(_measure(lab, seconds))
                    console.note(f"         {found[name][-1]['total']:.2f} % of a core")
            clients.stop()
    return found


def main(argv: Sequence[str]) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m demo.cost",
        description=(__doc__ or "").partition("\n")[0],
        allow_abbrev=False,
    )
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each measurement")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    return exit_status("demo.cost", lambda: _report(args, argv))


def _report(args: argparse.Namespace, argv: Sequence[str]) -> None:
    head = about(
        "demo.cost",
        argv,
        release=args.release,
        python=platform.python_version(),
        ranks=scene.RANKS,
        subvolumes=len(scene.subvolumes()),
        seconds=args.seconds,
        unit="percent of a core; total = the manager's process + its children (the engine)",
    )
    console = DemoConsole()
    found = measure(args.release, args.rounds, args.seconds, console)
    medians = {name: statistics.median(x["total"] for x in rows) for name, rows in found.items()}
    added = {name: round(medians[name] - medians["disabled"], 3) for name in ("idle", "analyzing")}
    save(args.out, {**head, "rounds": found, "medians": medians, "added": added, "goal": GOAL_PERCENT})
    console.say(
        f"percent of a core, medians: {medians}; the module adds {added} (goal: under {GOAL_PERCENT:.0f})"
    )
    console.say(f"numbers: {args.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
