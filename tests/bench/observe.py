# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long one epoch's observation takes, and how long it stalls the manager: `make bench-observe`.

No machine of ours runs 36 MDSs, so the daemons are made up: what they answer is text of the size and form
that real ones give, and the module's own code reads it, on as many threads as in a manager. A stall is how
late a thread that sleeps a millisecond wakes up: what the manager's other modules wait for the interpreter.
"""

import argparse
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mds_partitioner.errors import CephError
from mds_partitioner.model import FsState, MdsInfo
from mds_partitioner.observe.observer import Observer
from mds_partitioner.observe.ranks import observe_ranks
from mds_partitioner.options import Settings

RANKS, SUBVOLUMES, RANKS_A_CLIENT = 36, 3_000, 3
EPOCHS = 15  # rentries take all of them to be read once
SEED = 2023
LATENCY_S = 0.002  # of an answer
LAST_REPORT = 95  # Unix, s
SETTINGS = Settings(
    epoch=10, analyze_duration=600, rank_capacity=0.0, imbalance_threshold=0.075, smoothness=0.2,
    role_threshold=0.01, min_gain=0.05, max_moves=4, epoch_capacity=0.0, hint_interval=60,
    hint_dead_band=0.1, selection="mindex",
    rest_period=600, arrival_timeout=300, rentries_per_epoch=200, ranks_per_epoch=8,
    tell_concurrency=8, bytes_per_inode=3072, engine_python=sys.executable, engine_deadline=60,
    engine_memory=2 << 30, engine_nice=10,
)  # fmt: skip


def path(number: int) -> str:
    return f"/volumes/group-{number // 500}/subvolume-{number:05d}"


def session(number: int) -> dict[str, Any]:
    """As ``session ls`` of 20.2 shows one, but for its list of completed requests."""
    address = {"type": "v1", "addr": f"10.0.{number // 250}.{number % 250}:0", "nonce": number}
    return {
        "id": number, "entity": {"name": {"type": "client", "num": number}, "addr": address}, "state": "open",
        "num_leases": 0, "num_caps": number % 997, "request_load_avg": number % 89, "uptime": 4711.5,
        "requests_in_flight": 1, "num_completed_requests": 0, "num_completed_flushes": 0,
        "reconnecting": False,
        "recall_caps": {"value": 0.0, "halflife": 60}, "release_caps": {"value": 0.0, "halflife": 60},
        "recall_caps_throttle": {"value": 0.0, "halflife": 1.5}, "session_cache_liveness": {"value": 1.5},
        "cap_acquisition": {"value": 0.0, "halflife": 30}, "delegated_inos": [], "inst": f"client.{number}",
        "prealloc_inos": [], "client_metadata": {
            "client_features": {"feature_bits": "0x00000000007fffff"}, "metric_spec": {"metric_flags": {}},
            "ceph_sha1": "0" * 40,
            "ceph_version": "ceph version 20.2.4 tentacle (stable)", "entity_id": "app",
            "hostname": f"host-{number}", "pid": "4711", "root": path(number), "timeout": "300",
        },
    }  # fmt: skip


def subtree(number: int, rank: int) -> dict[str, Any]:
    """As in ``get subtrees``."""
    return {
        "is_auth": rank == number % RANKS, "auth_first": number % RANKS, "auth_second": -2,
        "export_pin": number % RANKS, "distributed_ephemeral_pin": False, "random_ephemeral_pin": False,
        "export_pin_target": number % RANKS, "dir": {
            "path": path(number), "dirfrag": f"{0x10000000000 + number:#x}", "snapid_first": 2,
            "projected_version": "1", "version": "1", "committing_version": "1", "committed_version": "1",
            "is_rep": False, "dir_auth": str(number % RANKS), "states": ["auth", "complete"], "is_auth": True,
            "auth_state": {"replicas": {"1": 1}}, "is_auth_pinned": False, "is_frozen": False, "nref": 2,
        },
    }  # fmt: skip


class Directories:
    """What is asked of a mount, at the cost of a system call."""

    def subdirectories(self, parent: str) -> list[tuple[str, int]]:
        if parent == "/volumes":
            return [(f"group-{i}", i + 1) for i in range(-(-SUBVOLUMES // 500))]
        group = int(parent.rpartition("-")[2])
        numbers = range(500 * group, min(SUBVOLUMES, 500 * (group + 1)))
        return [(path(i).rpartition("/")[2], i) for i in numbers]

    def entries(self, directory: str) -> int:
        return 10_000

    def ino(self, directory: str) -> int:
        time.sleep(LATENCY_S / 10)
        return int(directory.rpartition("-")[2])

    def rentries(self, directory: str) -> int:
        return 1000

    def rentries_and_pin(self, directory: str) -> tuple[int, int]:
        return self.rentries(directory), self.pin(directory)

    def pin(self, directory: str) -> int:
        return -1


class Daemons:
    """Stands for Host: 36 MDSs that answer with the text that real ones would."""

    def __init__(self) -> None:
        chosen = random.Random(SEED)
        where = {i: {0, *chosen.sample(range(1, RANKS), RANKS_A_CLIENT - 1)} for i in range(SUBVOLUMES)}
        self._answers = {
            rank: {
                "session ls": json.dumps([session(i) for i in where if rank in where[i]]),
                # Rank 0 has the root, so everybody's bounds; the others have their own.
                "get subtrees": json.dumps([subtree(i, rank) for i in where if rank in (0, i % RANKS)]),
            }
            for rank in range(RANKS)
        }
        self._pool = ThreadPoolExecutor(SETTINGS.tell_concurrency)

    def largest(self) -> int:
        """Bytes."""
        return max(len(text) for answers in self._answers.values() for text in answers.values())

    def fs(self, name: str | None) -> FsState:
        mds = tuple(MdsInfo(rank, f"m{rank}", "up:active") for rank in range(RANKS))
        return FsState("cephfs", 1, RANKS, tuple(range(RANKS)), mds, (), (), False, "", "-1")

    def on_fs(self, fs: FsState, call: Callable[[Any], Any]) -> Any:
        return self._pool.submit(call, Directories()).result()

    def manager_addresses(self) -> set[tuple[str, int]]:
        return set()

    def report_period(self) -> float:
        return 5.0

    def counter(self, name: str, counter: str) -> list[tuple[float, ...]]:
        return [(float(t), float(10 * t), float(t)) for t in range(0, LAST_REPORT + 1, 5)]

    def tell_each(self, fs: FsState, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
        def tell(name: str) -> Any:
            time.sleep(LATENCY_S)
            if prefix not in self._answers[int(name[1:])]:
                return CephError(f"{prefix}: not known to a stock MDS")
            return json.loads(self._answers[int(name[1:])][prefix])

        futures = {name: self._pool.submit(tell, name) for name in names}
        return {name: future.result() for name, future in futures.items()}


@contextmanager
def stalls() -> Iterator[list[float]]:
    """How late a sleeper woke up, s, each time while the block ran."""
    late: list[float] = []
    end = threading.Event()

    def sleeper() -> None:
        while not end.is_set():
            began = time.monotonic()
            time.sleep(0.001)
            late.append(time.monotonic() - began - 0.001)

    thread = threading.Thread(target=sleeper)
    thread.start()
    try:
        yield late
    finally:
        end.set()
        thread.join()


def measure() -> dict[str, Any]:
    """Epochs one after the other, as in an analysis."""
    daemons = Daemons()
    observer = Observer(daemons, ())
    fs = daemons.fs(None)
    took, cpu, late = [], [], []
    for _ in range(EPOCHS):
        with stalls() as waits:
            began, process = time.monotonic(), time.process_time()
            ranks = observe_ranks(daemons, fs, SETTINGS.epoch, LAST_REPORT)
            seen = observer.observe(fs, SETTINGS, ranks)
            took.append(time.monotonic() - began)
            cpu.append(time.process_time() - process)
        late.append(max(waits))
        assert len(seen.directories) == SUBVOLUMES and len(ranks) == RANKS
    with stalls() as waits:
        time.sleep(statistics.median(took))
    return {
        "epoch_s": _spread(took),
        "cpu_s": _spread(cpu),
        "longest_stall_ms": _spread([1000 * x for x in late]),
        "longest_stall_ms_while_idle": round(1000 * max(waits), 1),
        "largest_answer_bytes": daemons.largest(),
        "directories_with_rentries": len(observer.facts()),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 3), "max": round(max(values), 3)}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("docs/results/observe.json"))
    args = parser.parse_args(argv)
    value = {
        "command": "make bench-observe",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average_at_start": [round(x, 2) for x in os.getloadavg()],
        "ranks": RANKS,
        "subvolumes": SUBVOLUMES,
        "ranks_a_client": RANKS_A_CLIENT,
        "epochs": EPOCHS,
        **measure(),
    }
    args.out.write_text(json.dumps(value, indent=1) + "\n")
    print(json.dumps(value, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
