# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a set of clients does, as JSON; shared by the host and the sandbox.

To weigh on an MDS, an operation must get past the client's own cache. `cache` says how many dentries a
client keeps: a stat or open of anything else is a request, and the client holds about as many capabilities.
By default that is a quarter of its working set, so most operations reach the MDS and yet capabilities grow
with the working set. create and unlink always are requests; readdir is one unless all of it is cached.
"""

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from lab.errors import LabError

OPS = ("create", "stat", "open", "readdir", "unlink")
JOBS = ("mix", "scan", "weblog", "dbench", "churn", "programs")
REPLAYS = ("weblog", "dbench", "programs")
TOUCHES = ("stat", "open")


@dataclass(frozen=True)
class ClientSpec:
    """One client: a process with a mount of its own."""

    name: str
    path: str
    """What it mounts: a subvolume's path, as Manila and CSI do."""
    mix: Mapping[str, float] = field(
        default_factory=lambda: {"create": 1.0, "stat": 6.0, "open": 2.0, "unlink": 1.0}
    )
    """Weights of create, stat, open, readdir and unlink; unlink removes what create made."""
    workers: int = 4
    """Threads, each with one operation under way."""
    dirs: int = 10
    """Directories; of churn: of each tree, the one above the others among them."""
    first_dir: int = 0
    """Number of the first of them: clients of one path can have directories of their own."""
    files: int = 100
    """Files in each directory."""
    size: int = 0
    """Bytes in each prepared file."""
    working_set: int | None = None
    """How many of all the files are used; None is all."""
    zipf: float = 0.0
    """Exponent of the files' popularity; 0 is uniform."""
    rate: float | None = None
    """Operations per second at most; None is as fast as they are answered."""
    cache: int | None = None
    """Dentries the client caches; None is a quarter of the working set."""
    seed: int | None = None
    """None derives one from the set's seed and the name."""
    job: str = "mix"
    """mix: operations drawn from mix. scan: every directory is listed and every file touched once, in order.
    weblog: source, an Apache access log, is read in order. dbench: source, a dbench load file, is replayed by
    each worker in a directory of its own. churn: each worker makes, uses and removes one tree after the
    other. programs: source, lines of a name and a shell's command, is run by each worker on a mount by
    ceph-fuse. All but mix and churn end by themselves."""
    operations: int | None = None
    """The client ends after so many; None: mix goes on until stopped, the others do all there is."""
    repeat: bool = False
    """Begin anew instead of ending."""
    home: str = ""
    """Directory below the mount that holds the prepared tree, or what dbench makes."""
    touch: str = "open"
    """What scan and weblog do with a file: stat or open."""
    start: float = 0.0
    """Part of the files, 0 to 1, that a scan leaves for its end."""
    record: str | None = None
    """A file that scan writes when all files are read: the list of them."""
    source: str | None = None
    """Path in the sandbox of what weblog, dbench and programs replay."""
    turn: int = 0
    """Of those that the time is cut into: the client works in this one, and pauses in the others."""
    turns: int = 1
    turn_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        self._check_mix()
        total = self.dirs * self.files
        _check(self, bool(self.name), "name", "not empty")
        _check(self, self.path.startswith("/"), "path", "absolute")
        _check(self, 1 <= self.workers <= 256, "workers", "1 to 256")
        _check(self, self.dirs >= 1, "dirs", "1 or more")
        _check(self, self.first_dir >= 0, "first_dir", "0 or more")
        _check(self, self.files >= 1, "files", "1 or more")
        _check(self, self.size >= 0, "size", "0 or more bytes")
        _check(self, 0 <= self.zipf < math.inf, "zipf", "0 or more")
        fine = self.rate is None or 0 < self.rate < math.inf
        _check(self, fine, "rate", "more than 0 operations per second")
        _check(self, self.cache is None or self.cache >= 1, "cache", "1 or more dentries")
        used = self.working_set
        _check(self, used is None or 1 <= used <= total, "working_set", f"1 to {total} files")
        _check(self, 1 <= self.turns <= 1000, "turns", "1 to 1000")
        _check(self, 0 <= self.turn < self.turns, "turn", f"0 to {self.turns - 1}, as turns is {self.turns}")
        _check(self, 0 < self.turn_seconds < math.inf, "turn_seconds", "more than 0")
        self._check_job()

    def _check_mix(self) -> None:
        unknown = sorted(set(self.mix) - set(OPS))
        if unknown:
            raise LabError(
                f"client {self.name!r}: unknown operation {unknown[0]!r} in mix: use {', '.join(OPS)}"
            )
        weights = self.mix.values()
        fine = all(0 <= w < math.inf for w in weights) and sum(weights) > 0
        _check(self, fine, "mix", "weights of 0 or more, one above")

    def _check_job(self) -> None:
        _check(self, self.job in JOBS, "job", f"one of {', '.join(JOBS)}")
        _check(self, self.touch in TOUCHES, "touch", f"one of {', '.join(TOUCHES)}")
        _check(self, self.operations is None or self.operations >= 1, "operations", "1 or more")
        _check(self, not self.home or self.home.startswith("/"), "home", "absolute, or nothing")
        _check(self, 0 <= self.start < 1, "start", "0 or more, and less than 1")
        _check(self, self.record is None or self.record.startswith("/"), "record", "absolute")
        given = self.source is not None
        _check(self, given == (self.job in REPLAYS), "source", f"there for {', '.join(REPLAYS)} only")

    @property
    def used_files(self) -> int:
        """Size of the working set in files."""
        return self.working_set or self.dirs * self.files

    @property
    def cached(self) -> int:
        """Dentries the client caches."""
        return self.cache or max(1, self.used_files // 4)

    def pause(self, elapsed: float) -> float:
        """Seconds until its turn, so many seconds after the start; 0: it is its turn."""
        return max(0.0, self._until(elapsed % (self.turns * self.turn_seconds)))

    def _until(self, at: float) -> float:
        begin = self.turn * self.turn_seconds
        over = at >= begin + self.turn_seconds
        return begin - at + (self.turns * self.turn_seconds if over else 0.0)

    def seed_in(self, base: int) -> int:
        """This client's seed in a set with that seed."""
        return self.seed if self.seed is not None else zlib.crc32(self.name.encode(), base & 0xFFFFFFFF)


@dataclass(frozen=True)
class LoadSpec:
    """A set of clients of one file system."""

    clients: tuple[ClientSpec, ...]
    fs: str = "cephfs"
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse an empty set and ambiguous names."""
        names = [client.name for client in self.clients]
        if not names:
            raise LabError("a load needs at least one client")
        if len(set(names)) != len(names):
            raise LabError("two clients of a load have the same name")

    @property
    def first(self) -> set[str]:
        """Names of the clients that work from the start."""
        return {client.name for client in self.clients if not client.pause(0.0)}

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The set a text describes; LabError names what is wrong in it."""
        try:
            data = json.loads(text)
        except ValueError as e:
            raise LabError(f"the load is not JSON: {e}") from None
        if not isinstance(data, dict) or not isinstance(data.get("clients"), list):
            raise LabError('a load must look like {"clients": [{"name": ..., "path": ...}, ...]}')
        clients = tuple(_build(ClientSpec, client) for client in data.pop("clients"))
        load: Self = _build(cls, {**data, "clients": clients})
        return load


def _build(kind: type[Any], data: Any) -> Any:
    known = {f.name for f in fields(kind)}
    if not isinstance(data, dict) or set(data) - known:
        unknown = sorted(set(data) - known)[0] if isinstance(data, dict) else data
        raise LabError(f"unknown field {unknown!r} in a load: known are {', '.join(sorted(known))}")
    try:
        return kind(**data)
    except TypeError as e:
        raise LabError(f"a load has a field that is missing or of the wrong type: {e}") from None


def _check(client: ClientSpec, fine: bool, name: str, allowed: str) -> None:
    if not fine:
        raise LabError(f"client {client.name!r}: {name} is {getattr(client, name)!r}, but must be {allowed}")
