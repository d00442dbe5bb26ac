# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m demo`."""

import argparse
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo import plot, scene, story, summary
from demo.console import DemoConsole
from demo.record import Record
from experiments.common import provenance
from experiments.common.measurement import exit_status
from lab import releases, state

OUT = Path("out")


def main(argv: Sequence[str]) -> int:
    """Run the demo; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m demo", description=__doc__, allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument(
        "--heavy",
        choices=sorted(story.SETTLE_S),
        default="fanout",
        help="how heavy subvolumes get several ranks (default: %(default)s)",
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="DIR", help="where the results go (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    command = shlex.join(["python3", "-m", "demo", *argv])
    return exit_status("demo", lambda: _run(args.release, args.heavy, args.out, command))


def _run(release: str, heavy: str, out: Path, command: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    console, record = DemoConsole(), Record()
    started = time.monotonic()
    about = _about(command, release, heavy)
    played = story.play(release, heavy, console, record)
    before, after = (summary.part(record, span, played.capacity) for span in (played.before, played.after))
    spans = played.followed.spans if played.followed else {}
    later = {name: summary.part(record, span, played.capacity) for name, span in spans.items()}
    run = {
        **about,
        "ceph": played.ceph,
        "cpu_percent": scene.CPU_PERCENT if played.mds_cpu_limited else None,
        **summary.value(record, before, after, played.capacity),
        "seconds": round(time.monotonic() - started, 1),
        "steps": {title: round(seconds, 1) for title, seconds in console.times.items()},
        "recommended_ranks": played.analysis["result"]["recommended"],
        "prediction": played.plan["prediction"],
        "plan_state": played.execution["state"],
        "sequel": {name: asdict(part) for name, part in later.items()},
        "scheduler": played.followed.history if played.followed else None,
        "series": summary.series(record, played.whole, played.capacity),
    }
    path = out / "demo.json"
    path.write_text(json.dumps(run, indent=1) + "\n")
    with console.step("draw"):
        plot.draw(run, out / "demo.png")
    console.heading("8. What it changed")
    console.rich.print(summary.table(before, after))
    if later:
        console.rich.print(summary.sequel(later))
    c = played.capacity
    console.say(f"imbalance factor: mean of the moments, all with C = {c.value:.0f} req/s, {c.source}")
    console.say(f"{time.monotonic() - started:.0f} s in all")
    console.say(f"picture: {out / 'demo.png'}\nnumbers: {path}")


def _about(command: str, release: str, heavy: str) -> dict[str, Any]:
    return {
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "release": release,
        "heavy": heavy,
        "ranks": scene.RANKS,
        "subvolumes": len(scene.subvolumes()),
        "cpus": os.cpu_count(),
        "load_average_at_start": [round(x, 2) for x in os.getloadavg()],
        "other_labs_at_start": sum(state.is_alive(name) for name in state.names()),
        "python": platform.python_version(),
        "kernel": platform.release(),
        **provenance.made_by(("demo", "planner")),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
