# SPDX-License-Identifier: LGPL-2.1-or-later
"""MDSs with the hook under stress: `python3 -m lab.hook_stress`.

Writers that know what they wrote work below /stress while subtrees are migrated, directories split and merge,
masks change, and an MDS is killed every minute. Migration is by turns the MDSs' own thrashing
(mds_thrash_exports, mds_thrash_fragments) and a policy that chooses by mIndex and by a function of its own.
Afterwards: every file with its content, a clean scrub, no damage, no MDS that died by itself. With --stock
that many of the four MDSs are the distribution's.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import child, cluster, releases, rootfs
from lab.api import Lab
from lab.bench.sampling import Sampling
from lab.errors import LabError
from lab.measurement import about, exit_status, save
from lab.progress import ConsoleProgress
from lab.ranks import all_active, wait, wait_all_active
from lab.sandbox import CODE, environment, kill_group
from mds.build import built

OUT = Path("docs/results/hook-stress.json")
RANKS = 4  # lab/inside/writers.py has masks of as many
WRITERS = 6
STEP_S = 2.0
TURN_S = 45.0  # thrashing, then the policy, and so on
CONF = {
    "mds_bal_interval": "4",
    "mds_bal_split_size": "60",
    "mds_bal_merge_size": "15",
    "mds_bal_fragment_interval": "1",
    # Clients on a busy machine are not to be taken for dead ones.
    "mds_reconnect_timeout": "60",
}
COUNTERS = ("exports", "exported_inodes", "imported_inodes", "splits", "merges", "replies")
FATAL = re.compile(r"ceph_assert|FAILED assert|Caught signal")
POLICY = "stress"
STOCK = "/var/log/ceph/stock/ceph-mds"  # in the lab; its name is what the lab knows an MDS by
# Half of everything to the next rank: every other beat by mIndex, else by a score, which sometimes fails.
LUA = """
history.beats = (history.beats or 0) + 1
local targets, n = {}, 0
while mds[n] do targets[n] = 0; n = n + 1 end
targets[(whoami + 1) % n] = mds[whoami]["auth.meta_load"] / 2
if history.beats % 2 == 0 then return targets, "mindex" end
return targets, function(candidate)
  if history.beats % 7 == 0 then error("no score this time") end
  return candidate.visited + candidate.unvisited / 2
end
"""


def totals(lines: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Sums over all ranks of counters that begin anew with every restart of an MDS."""
    found, last = dict.fromkeys(COUNTERS, 0.0), dict[str, Mapping[str, float]]()
    for line in lines:
        for rank, counters in line["ranks"].items():
            before = last.get(rank, {})
            for name in COUNTERS:
                old = before.get(name, 0.0)
                found[name] += counters[name] - (old if counters[name] >= old else 0.0)
            last[rank] = counters
    return found


@dataclass
class Course:
    """What is done to the MDSs."""

    lab: Lab
    stock: frozenset[str]
    rng: random.Random = field(default_factory=lambda: random.Random(4))
    kills: int = 0
    died: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Every MDS is the program that it is to be, and the policy is there."""
        for daemon in sorted(self.stock):
            self.lab.kill(daemon)
            self._start(daemon)
        wait_all_active(self.lab, RANKS, 120)
        pool = self.lab.monitor.json("fs ls")[0]["metadata_pool"]
        self.lab.exec(["rados", "-p", pool, "put", POLICY, "/dev/stdin"], stdin=LUA, timeout=60)
        self._set("balancer", POLICY)
        self._set("balance_automate", "true")

    def run(self, seconds: float, kill_every: float) -> None:
        """Thrash and balance by turns, and kill; times in seconds."""
        began = time.monotonic()
        next_kill, thrashing = began + kill_every, False
        while (now := time.monotonic()) < began + seconds:
            if (want := int((now - began) / TURN_S) % 2 == 0) != thrashing:
                thrashing = want
                self._thrash(thrashing)
            self._restart_what_died()
            if now >= next_kill and all_active(self.lab, RANKS):
                self._kill()
                next_kill = now + kill_every
            time.sleep(STEP_S)

    def end(self) -> None:
        """Nothing is moved any more, and every rank is active."""
        self._thrash(False)
        self._set("balance_automate", "false")
        self._set("balancer", "")
        self._restart_what_died()
        wait_all_active(self.lab, RANKS, 180)

    def _set(self, name: str, value: str) -> None:
        self.lab.monitor.command("fs set", fs_name=cluster.FS_NAME, var=name, val=value)

    def _thrash(self, on: bool) -> None:
        for option in ("mds_thrash_exports", "mds_thrash_fragments"):
            self.lab.monitor.command("config set", who="mds", name=option, value=str(int(on)))

    def _start(self, daemon: str) -> None:
        self.lab.start(daemon, program=STOCK if daemon in self.stock else None)

    def _kill(self) -> None:
        daemon = self.rng.choice([name for name in self.lab.daemons() if name.startswith("mds.")])
        self.lab.kill(daemon)
        self._start(daemon)
        self.kills += 1

    def _restart_what_died(self) -> None:
        for daemon, pids in self.lab.daemons().items():
            if daemon.startswith("mds.") and not pids:
                self.died.append(daemon)
                self._start(daemon)


def stock_program(lab: Lab, release: str) -> None:
    """Put the distribution's program where the lab can run it: its own place is taken by the patched one."""
    root = rootfs.acquire(releases.get(release), ConsoleProgress())
    try:
        folder = lab.log_dir / Path(STOCK).parent.name
        folder.mkdir(exist_ok=True)
        shutil.copy2(root.path / "usr/bin/ceph-mds", folder)
    finally:
        root.release()


def scrub(lab: Lab) -> dict[str, Any]:
    """Scrub everything, and say what damage the ranks know of."""
    began = _tell(lab, 0, "scrub", "start", "/", "recursive,force")
    wait(
        "the scrub ends",
        lambda: _tell(lab, 0, "scrub", "status")["status"].startswith("no active scrubs"),
        600,
    )
    damage = {rank: _tell(lab, rank, "damage", "ls") for rank in range(RANKS)}
    return {"return_code": began["return_code"], "damage": {r: d for r, d in damage.items() if d}}


def _tell(lab: Lab, rank: int, *command: str) -> Any:
    out = lab.exec(["ceph", "tell", f"mds.{cluster.FS_NAME}:{rank}", *command], timeout=60).stdout
    return json.loads(out)


def fatal_lines(folder: Path) -> list[str]:
    """Lines of the MDSs' logs that must not be there."""
    found = []
    for log in sorted(folder.glob("ceph-mds.*.log")):
        with log.open(errors="replace") as lines:
            found += [f"{log.name}: {line.strip()[:300]}" for line in lines if FATAL.search(line)]
    return found


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """The whole of it; the result says in "fine" whether nothing was wrong."""
    names = [f"mds.{letter}" for letter in "abcd"]
    stock = frozenset(names[RANKS - args.stock :])
    progress = ConsoleProgress()
    with Lab.up(
        name=f"mds-stress-{os.getpid()}",
        release=args.release,
        mds=RANKS,
        mgr=1,
        mds_binary=built(args.release),
        conf=CONF,
        progress=progress,
    ) as lab:
        if stock:
            stock_program(lab, args.release)
        course = Course(lab, stock)
        course.begin()
        writers = _Writers(lab)
        try:
            with Sampling(lab.sandbox, mindex=not stock) as sampling:
                with progress.step(f"stress for {args.seconds:g} s"):
                    course.run(args.seconds, args.kill_every)
                    course.end()
                with progress.step("writers end"):
                    written = writers.end()
        finally:
            writers.kill()
        with progress.step(f"compare {len(written['files'])} files"):
            compared = _compare(lab, written["files"])
        with progress.step("scrub"):
            scrubbed = scrub(lab)
        fatal = fatal_lines(lab.log_dir)
        died = course.died + [n for n, pids in lab.daemons().items() if n.startswith("mds.") and not pids]
    result = {
        "stock_mds": sorted(stock),
        "seconds": args.seconds,
        "kills": course.kills,
        "counters": totals(sampling.lines),
        "operations": written["operations"],
        "masks_set": written["masks"],
        "masks_refused": written["masks_refused"],
        "writer_errors": written["errors"],
        "compared": compared,
        "scrub": scrubbed,
        "died_unasked": died,
        "fatal_log_lines": fatal[:20],
    }
    return {**result, "fine": _fine(result)}


def _fine(result: Mapping[str, Any]) -> bool:
    differences = sum(result["compared"].get(kind, 1) for kind in ("missing", "wrong", "extra"))
    # An MDS of the distribution knows no masks; a patched one refuses none of these.
    refused = 0 if result["stock_mds"] else result["masks_refused"]
    wrong = (refused, result["writer_errors"], result["scrub"]["damage"], result["died_unasked"])
    return not any(wrong) and not result["fatal_log_lines"] and differences == 0


class _Writers:
    """lab.inside.writers at work."""

    def __init__(self, lab: Lab) -> None:
        argv = ["/usr/bin/python3", "-m", "lab.inside.writers", "write", str(WRITERS)]
        self._process = subprocess.Popen(
            lab.sandbox.command(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment({"PYTHONPATH": CODE}),
            process_group=0,
        )

    def end(self) -> dict[str, Any]:
        """What they wrote. :raises LabError: they do not end, or died"""
        try:
            out, err = self._process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            raise LabError("the writers do not end") from None
        if not out:
            raise LabError(f"the writers died: {child.last_line(err)}")
        written: dict[str, Any] = json.loads(out)
        return written

    def kill(self) -> None:
        """Whatever happened."""
        kill_group(self._process)


def _compare(lab: Lab, files: Mapping[str, str]) -> dict[str, Any]:
    argv = ["/usr/bin/env", f"PYTHONPATH={CODE}", "/usr/bin/python3", "-m", "lab.inside.writers", "verify"]
    done = lab.exec(argv, stdin=json.dumps(files), timeout=600, check=False)
    if not done.stdout:
        raise LabError(f"the files cannot be compared: {child.last_line(done.stderr)}")
    compared: dict[str, Any] = json.loads(done.stdout)
    return compared


def main(argv: Sequence[str]) -> int:
    """Run it; the exit status is 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.hook_stress", allow_abbrev=False)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--kill-every", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--stock", type=int, default=0, choices=range(RANKS), help="MDSs without the hook")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(argv)
    results: list[dict[str, Any]] = []

    def work() -> None:
        head = about("lab.hook_stress", argv, release=args.release)
        results.append(measure(args))
        save(args.out, {**head, **results[0]})

    status = exit_status("hook_stress", work)
    for result in results:
        print(json.dumps({k: v for k, v in result.items() if k != "counters"}, indent=1))
        print(f"counters: {result['counters']}\n{args.out}")
    return status or (0 if results and results[0]["fine"] else 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
