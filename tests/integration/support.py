# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests ask of a lab: the module's commands, the file system as clients see it, and waiting."""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lab.api import Lab
from lab.clients.run import ClientRun
from lab.clients.spec import ClientSpec, LoadSpec
from lab.errors import LabError
from lab.monitor import CommandError

T = TypeVar("T")
FS = "cephfs"
NOGROUP = "/volumes/_nogroup"
POLL = 0.3  # s
PATIENCE = 240.0  # s; only what never comes takes so long
INSIDE = Path(__file__).with_name("sandboxed.py").read_text()
# Ceph's own intervals, for tests that wait for what comes of them: counters, pins and health in a second. An
# MDS that ticks as often as the scheduler has it would not be told by it. The graces are long: a busy
# machine's daemons may be held up, and a test that kills one says so itself.
QUICK = {
    "mgr_stats_period": "1",
    "mgr_tick_period": "1",
    "mds_tick_interval": "1.1",
    "mon_mgr_beacon_grace": "60",
    "mds_beacon_grace": "60",
}
OPTIONS = {"epoch": 2, "rest_period": 0, "arrival_timeout": 60, "max_moves": 16}
SETTINGS = ("bal_rank_mask", "balancer", "flags_state", "flags", "max_mds")


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


def wait_for(what: str, condition: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Poll until the condition is true; its value. AssertionError when it takes too long."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}; last: {value!r}"
        time.sleep(POLL)


def owner(authority: dict[str, int], path: str) -> int:
    """The rank of the nearest subtree at or above a path."""
    while path not in authority and path:
        path = path.rpartition("/")[0]
    return authority.get(path, 0)


class Cluster:
    """One lab with the module enabled."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.analyzed: tuple[str, ...] = ()

    def cli(self, *args: str) -> Answer:
        """``ceph ARGS`` as an operator types it."""
        done = self.lab.ceph_process(*args, timeout=PATIENCE)
        return Answer(done.returncode, done.stdout, _words(done.stderr))

    def partitioner(self, *args: str) -> str:
        """``ceph mds_partitioner ARGS``, which must succeed; its output."""
        answer = self.cli("mds_partitioner", *args)
        assert answer.code == 0, f"{args}: {answer.err}"
        return answer.out

    def json(self, *args: str) -> Any:
        """The same, with ``--format json``."""
        return json.loads(self.partitioner(*args, "--format", "json"))

    def mon(self, prefix: str, **args: Any) -> Any:
        """A monitor's answer."""
        return self.lab.monitor.json(prefix, **args)

    def module(self, command: str, **args: Any) -> str:
        """The output of ``ceph mds_partitioner COMMAND``, without the tool: for what is asked often."""
        command = f"mds_partitioner {command}"
        return self.lab.monitor.command(command, target="mgr", timeout=int(PATIENCE), fs=FS, **args)

    def module_json(self, command: str, **args: Any) -> Any:
        """The same, as data."""
        return json.loads(self.module(command, format="json", **args))

    def set(self, **options: object) -> None:
        """Options of the module."""
        for name, value in options.items():
            self.lab.monitor.command(
                "config set", who="mgr", name=f"mgr/mds_partitioner/{name}", value=str(value)
            )

    def inside(self, command: str, argument: Any) -> Any:
        """Run a command of sandboxed.py in the lab."""
        argv = ["python3", "-", command, json.dumps(argument)]
        return json.loads(self.lab.exec(argv, stdin=INSIDE, timeout=300).stdout)

    # The file system.

    def fs_settings(self) -> dict[str, Any]:
        """The part of ``fs get`` that an operator sets."""
        mdsmap = self.mon("fs get", fs_name=FS)["mdsmap"]
        return {name: mdsmap[name] for name in SETTINGS}

    def mds_options(self, *names: str) -> dict[str, str]:
        """Which of these options are set for all MDSs, and to what."""
        found = ((str(e["name"]), str(e["value"])) for e in self.mon("config dump"))
        return {name: value for name, value in found if name in names}

    def fs_set(self, name: str, value: str) -> None:
        self.lab.monitor.command("fs set", fs_name=FS, var=name, val=value)

    def mds_of(self, rank: int) -> str:
        """The name of the daemon that holds a rank."""
        for info in self.mon("fs get", fs_name=FS)["mdsmap"]["info"].values():
            if info["rank"] == rank:
                return str(info["name"])
        raise AssertionError(f"nobody holds rank {rank}")

    def tell(self, rank: int, *command: str) -> Any:
        done = self.lab.exec(["ceph", "tell", f"mds.{self.mds_of(rank)}", *command], timeout=60)
        return json.loads(done.stdout)

    def ask(self, rank: int, prefix: str, /, **args: Any) -> Any:
        """The same at the MDS's admin socket, for what is asked often."""
        return self.lab.monitor.json(prefix, target=f"mds.{self.mds_of(rank)}", **args)

    def authority(self) -> dict[str, int]:
        """The rank that serves each subtree root, by path: what the MDSs say in ``get subtrees``."""
        return dict(self._authority())

    def ranks_of(self, path: str) -> frozenset[int]:
        """The ranks that serve a directory's fragments, where they are subtree roots."""
        return frozenset(rank for root, rank in self._authority() if root == path)

    def _authority(self) -> Iterator[tuple[str, int]]:
        for rank in range(4):
            for subtree in self.ask(rank, "get subtrees"):
                if subtree["is_auth"] and subtree["auth_first"] == rank:
                    yield subtree["dir"]["path"], rank

    def pins(self, root: str = "/volumes") -> dict[str, int]:
        """The pin of every directory."""
        found: dict[str, int] = self.inside("pins", root)
        return found

    def setxattrs(self) -> int:
        """How many extended attributes the MDSs were asked to set since they started."""
        return self.requests("setxattr")

    def requests(self, kind: str) -> int:
        """How many requests of a kind (their counters' names) the MDSs have had since they started."""
        counters = (self.ask(r, "perf dump", logger="mds_server")["mds_server"] for r in range(4))
        return sum(int(c[f"req_{kind}_latency"]["avgcount"]) for c in counters)

    def health(self) -> dict[str, Any]:
        checks: dict[str, Any] = self.mon("health", detail="detail")["checks"]
        return checks

    # Managers.

    def active_mgr(self) -> str:
        return str(self.mon("mgr dump")["active_name"])

    def mgr_pids(self) -> dict[str, list[int]]:
        return {name: pids for name, pids in self.lab.daemons().items() if name.startswith("mgr.")}

    def module_answers(self) -> bool:
        """Is the module of the active manager there and past its beginning?"""
        try:
            self.module("partition ls")
            self.module("balance status")  # its journal is read by a loop of its own
            self.module("imbalance")  # MDSs must have told it twice what they serve
        except (CommandError, LabError):
            return False
        return True

    def kill_mgr(self, name: str) -> None:
        """Kill a manager, and tell the monitors what they would find out when its beacons are overdue."""
        self.lab.kill(f"mgr.{name}")
        self.lab.monitor.command("mgr fail", who=name)

    def kill_mds(self, name: str) -> None:
        """The same of an MDS."""
        self.lab.kill(f"mds.{name}")
        self.lab.monitor.command("mds fail", role_or_gid=name)

    def processes(self, wanted: Callable[[list[str]], bool]) -> list[int]:
        """The host's process ids of what runs in this lab with such a command line."""
        namespace = Path(f"/proc/{self.lab.state.sandbox_pid}/ns/pid").readlink()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError):
                if (entry / "ns/pid").readlink() == namespace:
                    command = (entry / "cmdline").read_bytes().decode(errors="replace")
                    if wanted(command.split("\0")):
                        found.append(int(entry.name))
        return found

    # Plans.

    def status(self, plan: str | None = None) -> dict[str, Any]:
        """``partition status`` as data."""
        name = {} if plan is None else {"plan": plan}
        value: dict[str, Any] = self.module_json("partition status", **name)
        return value

    def plans(self) -> list[dict[str, Any]]:
        value: list[dict[str, Any]] = self.module_json("partition ls")
        return value

    def wait_state(self, *states: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """Wait until the plan is in one of these states."""
        last: dict[str, Any] = {}

        def there() -> bool:
            last.update(self.status())
            return bool(last["state"] in states)

        try:
            wait_for(f"plan {' or '.join(states)}", there, seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}; {last}; {self.health()}") from None
        return last

    def analyze(self, seconds: int = 6, directories: Sequence[str] = ()) -> dict[str, Any]:
        """Analyze, wait for the end, and return what was found."""
        self.analyzed = ()
        extra = ["--directories", json.dumps(list(directories))] if directories else []
        self.partitioner("analyze", "start", FS, f"--duration={seconds}", *extra)
        value: dict[str, Any] = {}

        def over() -> bool:
            value.update(self.module_json("analyze status"))
            return bool(value["state"] != "running")

        wait_for("analysis over", over)
        assert value["result"] is not None, f"the analysis has no result: {value}"
        result: dict[str, Any] = value["result"]
        return result

    def plan(self, *args: str) -> dict[str, Any]:
        value: dict[str, Any] = self.json("partition", "plan", FS, *args)
        return value

    def reset(self) -> None:
        """Back to a file system on rank 0 without plans, pins, masks, policies, and to the tests' options."""
        self.module("balance off")
        self.cli("mds_partitioner", "scheduler", "stop", FS)  # refused when it was never started
        for plan in self.plans():
            if plan["state"] in ("running", "paused", "rolling-back"):
                self.cli("mds_partitioner", "partition", "stop", FS)
        for plan in reversed(self.plans()):
            self.module("partition rm", plan=str(plan["name"]))
        self.set(**OPTIONS)
        self.fs_set("balance_automate", "false")
        self.fs_set("bal_rank_mask", "-1")
        pinned = self.inside("unpin", "/volumes")
        wait_for("all at home on rank 0", lambda: self._at_home(pinned))
        if pinned:
            self.inside("pin", dict.fromkeys(pinned, -1))

    def _at_home(self, pinned: Collection[str]) -> bool:
        """Is everything on rank 0? What has no pin is sent there by hand: a balancer has moved it."""
        away = {path: rank for path, rank in self.authority().items() if rank and not path.startswith("~")}
        for path, rank in away.items():
            if path not in pinned and path.isprintable():
                self.ask(rank, "export dir", path=path or "/", rank=0)
        return not away

    def place(self, wanted: Mapping[str, int]) -> None:
        """Hand directories over by hand, without a pin, and wait until these ranks have them.

        An MDS drops an order without a word while the directory is frozen or a lock is missing: it is given
        until it is obeyed.
        """

        def there() -> bool:
            authority = self.authority()
            found = {path: owner(authority, path) for path in wanted}
            wrong = {path: rank for path, rank in found.items() if rank != wanted[path]}
            for path, rank in wrong.items():
                self.ask(rank, "export dir", path=path, rank=wanted[path])
            return not wrong

        wait_for(f"placed as {wanted}", there)

    def authority_below(self, root: str) -> dict[str, int]:
        return {path: rank for path, rank in self.authority().items() if path.startswith(root)}


def _words(stderr: str) -> str:
    """Standard error without the client library's own remarks."""
    return "\n".join(line for line in stderr.splitlines() if "ms_handle_reset" not in line)


def client(name: str, path: str, *, rate: float, dirs: int = 4, files: int = 25) -> ClientSpec:
    """A client that does only what an MDS must be asked for."""
    mix = {"stat": 8.0, "create": 1.0, "unlink": 1.0}
    # Its directories stay in the client's cache, and hardly a file does.
    return ClientSpec(name, path, rate=rate, dirs=dirs, files=files, workers=4, cache=2 * dirs + 4, mix=mix)


HEAVY, LIGHT = ("h0", "h1"), ("l0", "l1", "l2", "l3", "l4", "l5")


def skewed(paths: Mapping[str, str], factor: float = 1.0) -> LoadSpec:
    """Two heavy subvolumes and six light ones."""
    heavy = [client(n, paths[n], rate=90 * factor, dirs=8, files=50) for n in HEAVY]
    light = [client(n, paths[n], rate=12 * factor) for n in LIGHT]
    return LoadSpec((*heavy, *light))


def rate_of(load: LoadSpec) -> float:
    return sum(c.rate or 0.0 for c in load.clients)


def ops_per_second(lines: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """What the clients say they got done, by client, from their logs."""
    done: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for line in lines:
        if "ops" not in line:
            continue
        name = str(line["client"])
        done[name] = done.get(name, 0.0) + line["ops"]
        seconds[name] = seconds.get(name, 0.0) + line["seconds"]
    return {name: done[name] / seconds[name] for name in done}


@contextmanager
def at_work(cluster: Cluster, load: LoadSpec) -> Iterator[ClientRun]:
    """Clients that have all begun."""
    with cluster.lab.clients(load) as run:
        wanted = {c.name for c in load.clients}
        wait_for(
            "every client works", lambda: wanted <= {str(line.get("client")) for line in list(run.lines)}
        )
        yield run
