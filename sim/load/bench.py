# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bench's workloads (lab/bench/workloads), from the same definitions as on the lab.

Directories that clients use are put side by side in their subvolume, however deep they are. Requests of a log
are taken in the mean, not in its order.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lab.bench.workloads import WORKLOADS
from lab.bench.workloads.accesslog import directories
from lab.bench.workloads.base import Workload
from lab.bench.workloads.web import FILES, SOURCE
from lab.clients.spec import ClientSpec
from sim.load.clients import Clients
from sim.load.crowd import Crowd, Group
from sim.load.pattern import Fixed, Pattern, Scan
from sim.model.arrays import Floats, Ints
from sim.model.tree import Part, Tree, plant

GROUP_PATH = "/volumes/_nogroup/"
DATA = "/data"  # in a subvolume, as its UUID


@dataclass(frozen=True)
class Bench:
    """A workload on the model.

    :ivar demand: (directories,) operations of a whole run, as an oracle may know them
    :ivar paths: the path in ``demand`` of the lab that each number of a used directory stands for
    :ivar operations: of each client
    """

    tree: Tree
    demand: Floats
    paths: Mapping[int, str]
    specs: tuple[ClientSpec, ...]
    used: Mapping[str, Ints]
    operations: Floats

    def crowd(self, requests: float, seed: int) -> Crowd:
        """The clients, each with so many requests for an operation; new ones for each run."""
        rng = np.random.default_rng([seed, 3])
        groups, places, at = [], [], 0
        for spec, operations in zip(self.specs, self.operations, strict=True):
            own = self.used[_subvolume(spec.path)]
            kind = Clients(
                name=spec.name,
                on=(0, 1),
                threads=spec.workers,
                requests=float(operations * requests),
                does="create" if spec.mix.get("create") == 1.0 and spec.job == "mix" else "read",
            )
            groups.append(Group(kind, self._pattern(spec, own, requests, rng), slice(at, at + own.size)))
            places.append(own)
            at += own.size
        return Crowd(groups, np.concatenate(places), np.ones(len(groups)))

    def _pattern(self, spec: ClientSpec, own: Ints, requests: float, rng: np.random.Generator) -> Pattern:
        if spec.job == "scan":
            # They begin evenly spread on the lab, and drift apart; here they would keep in step.
            start = spec.start + rng.uniform(0.0, 1.0 / len(self.specs))
            return Scan(own.size, round((spec.files + 1) * requests), start)
        parts = self.demand[own]
        return Fixed(parts / parts.sum())


def _subvolume(path: str) -> str:
    return path.removeprefix(GROUP_PATH).partition("/")[0]


def bench(name: str) -> Bench:
    """A workload of the bench by its name."""
    workload = WORKLOADS[name]
    mounts = {subvolume: f"{GROUP_PATH}{subvolume}{DATA}" for subvolume in workload.subvolumes}
    demand = workload.demand(mounts)
    specs = workload.load(workload.phases[0], mounts, "run").clients
    below = {subvolume: _below(subvolume, demand) for subvolume in workload.subvolumes}
    inodes = {subvolume: _inodes(subvolume, specs) for subvolume in workload.subvolumes}
    tree = plant([Part(s, 1, (len(below[s]),) if len(below[s]) > 1 else (), inodes[s]) for s in below])
    used = {subvolume: tree.leaves(k) for k, subvolume in enumerate(below)}
    table, paths = np.zeros(tree.size), {}
    for subvolume, names in below.items():
        for directory, path in zip(used[subvolume].tolist(), names, strict=True):
            table[directory], paths[directory] = demand[path], path
    operations = np.array([_operations(spec, workload) for spec in specs])
    return Bench(tree, table, paths, specs, used, operations)


def _below(subvolume: str, demand: Mapping[str, float]) -> list[str]:
    """The paths of a subvolume's directories that clients use."""
    root = f"{GROUP_PATH}{subvolume}"
    return sorted(path for path in demand if path == root or path.startswith(f"{root}/"))


def _inodes(subvolume: str, specs: tuple[ClientSpec, ...]) -> float:
    """Files in each directory when the clients begin."""
    first = next(spec for spec in specs if _subvolume(spec.path) == subvolume)
    if first.job == "weblog":
        return FILES / len(directories())
    return 1.0 if first.job == "dbench" else float(first.files)


def _operations(spec: ClientSpec, workload: Workload) -> float:
    """Operations of a client in a run, as the lab counts them."""
    if spec.job == "scan":
        return float(spec.dirs * (spec.files + 1))
    if spec.job == "weblog":
        assert spec.source == SOURCE
        return float(_lines(workload))
    if spec.job == "dbench":
        return float(next(iter(workload.demand({s: f"/{s}{DATA}" for s in workload.subvolumes}).values())))
    assert spec.operations is not None
    return float(spec.operations)


def _lines(workload: Workload) -> int:
    """Lines of the log that each client replays."""
    return workload.inputs()[SOURCE].count("\n")
