# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bench's workloads (experiments/common/workloads), from the same definitions as on the lab.

Requests of a log are taken in the mean, not in its order; those of dbench are shared out evenly to a client's
workers.
"""

import functools
import math
import string
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from experiments.common.workloads import WORKLOADS
from experiments.common.workloads.base import Workload
from experiments.common.workloads.web import SOURCE
from lab.clients import weblog
from lab.clients.spec import ClientSpec
from lab.clients.tree import directory
from sim.load.cache import lookups
from sim.load.clients import Clients, Does
from sim.load.crowd import Crowd, Group
from sim.load.pattern import Fixed, Pattern, Scan
from sim.model.arrays import Floats, Ints
from sim.model.tree import GROUP, Part, Tree

GROUP_PATH = "/volumes/_nogroup/"
DATA = "/data"  # in a subvolume, as its UUID
BEGINNING = 0.36  # s from the first client's begin to the last one's: median of web's, zipf's, mix's cells


@dataclass(frozen=True)
class Use:
    """(entries,) each: the directories that a client uses, in the order of a scan; what it looks up there: a
    directory, or the same for its files; the part of its requests."""

    directories: Ints
    names: Ints
    parts: Floats


@dataclass(frozen=True)
class Bench:
    """A workload on the model.

    :ivar name: of the workload
    :ivar demand: operations of a whole run by path, as the lab's oracle knows them
    :ivar paths: (directories,)
    :ivar uses: of each client
    :ivar operations: of each client
    """

    name: str
    tree: Tree
    demand: Mapping[str, float]
    paths: tuple[str, ...]
    specs: tuple[ClientSpec, ...]
    uses: tuple[Use, ...]
    operations: Floats

    def crowd(self, requests: Mapping[str, float], seed: int, ends: bool = True) -> Crowd:
        """The clients; new ones for each run. They are started together, and begin within a moment.

        requests: for an operation, by the kind of client; ends: else each begins anew when it is through
        """
        groups, places, names, at = [], [], [], 0
        begins = np.random.default_rng([seed, 3]).uniform(0.0, BEGINNING, len(self.specs)).tolist()
        for spec, use, operations, begin in zip(self.specs, self.uses, self.operations, begins, strict=True):
            each = requests[kind_of(spec)]
            kind = Clients(
                name=spec.name,
                on=(0, 1),
                threads=spec.workers,
                requests=float(operations * each) if ends else math.inf,
                begins=begin,
                uses="scan" if spec.job == "scan" else "uniform",
                does=_does(spec),
                each=each if _does(spec) == "create" else 1.0,
                remembers=spec.cached,
            )
            groups.append(Group(kind, _pattern(spec, use, each), slice(at, at + use.directories.size)))
            places.append(use.directories)
            names.append(use.names)
            at += use.directories.size
        ones = np.ones(len(groups))
        return Crowd(groups, np.concatenate(places), ones, seed, np.concatenate(names))


def kind_of(spec: ClientSpec) -> str:
    """The workload that a client does, which may be a part of another."""
    return spec.name.rstrip(string.digits)


def _does(spec: ClientSpec) -> Does:
    """dbench's clients made their directories, and know by their capabilities what is in them: their requests
    are changes."""
    if spec.job == "dbench":
        return "update"
    return "create" if spec.job == "mix" and spec.mix.get("create") == 1.0 else "read"


def _pattern(spec: ClientSpec, use: Use, requests: float) -> Pattern:
    if spec.job == "scan":
        return Scan(use.directories.size, round((spec.files + 1) * requests), spec.start)
    return Fixed(use.parts)


def bench(name: str) -> Bench:
    """A workload of the bench by its name."""
    workload = WORKLOADS[name]
    mounts = {subvolume: f"{GROUP_PATH}{subvolume}{DATA}" for subvolume in workload.subvolumes}
    demand = workload.demand(mounts)
    specs = workload.load(workload.phases[0], mounts, "run").clients
    asked = [_asked(spec, demand) for spec in specs]
    files: dict[str, float] = {}
    for spec, parts in zip(specs, asked, strict=True):
        files |= _files(spec, workload, parts)
    tree, paths = _grow(files)
    at = {path: number for number, path in enumerate(paths)}
    uses = tuple(
        _use(_read(spec, workload) if spec.job == "weblog" else {(p, p): n for p, n in parts.items()}, at)
        for spec, parts in zip(specs, asked, strict=True)
    )
    operations = np.array([_operations(spec, workload) for spec in specs])
    return Bench(name, tree, demand, paths, specs, uses, operations)


def _use(asked: Mapping[tuple[str, str], float], at: Mapping[str, int]) -> Use:
    """asked: requests by directory, and what is looked up in it: a directory, or itself for its files"""
    directories = np.array([at[directory] for directory, _ in asked])
    names = np.array([at[name] for _, name in asked])
    parts = np.array(list(asked.values()), dtype=np.float64)
    return Use(directories, names, parts / parts.sum())


def _read(spec: ClientSpec, workload: Workload) -> dict[tuple[str, str], float]:
    """Requests of a client that reads a log: those for names that it does not remember."""
    assert spec.source == SOURCE and spec.cache is not None
    found: Counter[tuple[str, str]] = Counter()
    counts, directories = _lookups(workload.inputs()[SOURCE], spec.cache, spec.workers)
    for path, count in counts.items():
        place = spec.path + path
        above = place.rpartition("/")[0]
        found[above, place if path in directories else above] += count
    return {key: float(count) for key, count in found.items()}


@functools.cache
def _lookups(log: str, size: int, threads: int) -> tuple[Counter[str], frozenset[str]]:
    """All clients read the same log: names looked up, and those that are directories'."""
    requests = list(weblog.requests(log.splitlines()))
    paths = [request.path for request in requests]
    above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return lookups(paths, [not request.found for request in requests], size, threads), frozenset(above)


def _asked(spec: ClientSpec, demand: Mapping[str, float]) -> dict[str, float]:
    """Requests of a client in each directory, relative to one another."""
    if spec.job == "weblog":
        return {path: n for path, n in demand.items() if PurePosixPath(path).is_relative_to(spec.path)}
    if spec.job == "dbench":
        return {f"{spec.path}{spec.home}/w{worker}": 1.0 for worker in range(spec.workers)}
    return {spec.path + directory(spec, number): 1.0 for number in range(spec.dirs)}


def _files(spec: ClientSpec, workload: Workload, asked: Mapping[str, float]) -> dict[str, float]:
    """Inodes in each directory when the clients begin."""
    if spec.job == "weblog":
        names = weblog.files(workload.inputs()[SOURCE].splitlines())
        own = Counter(spec.path + name.rpartition("/")[0] for name in names)
        return {path: float(own[path]) for path in asked}
    empty = spec.job == "dbench"
    return dict.fromkeys(asked, 1.0 if empty else float(spec.files))


def _grow(files: Mapping[str, float]) -> tuple[Tree, tuple[str, ...]]:
    """The tree of these directories and all above them, and the path of each."""
    wanted = {PurePosixPath(path) for path in files}
    above = {parent for path in wanted for parent in path.parents}
    places = sorted(wanted | above, key=lambda path: path.parts)  # preorder
    at = {path: number for number, path in enumerate(places)}
    level = np.array([len(path.parts) - 1 for path in places])
    parent = np.array([-1, *(at[path.parent] for path in places[1:])])
    end = np.arange(1, len(places) + 1)
    for number in range(len(places) - 1, 0, -1):
        end[parent[number]] = max(end[parent[number]], end[number])
    subvolume = np.cumsum(level == GROUP + 1) - 1
    names = [path.name for path in places if len(path.parts) == GROUP + 2]
    inodes = np.array([files.get(str(path), 0.0) + 1.0 for path in places])
    tree = Tree(tuple(Part(name, 1, (), 1.0) for name in names), parent, end, level, inodes, subvolume)
    return tree, tuple(map(str, places))


def _operations(spec: ClientSpec, workload: Workload) -> float:
    """Operations of a client in a run, as the lab counts them."""
    if spec.job == "scan":
        return float(spec.dirs * (spec.files + 1))
    if spec.job == "weblog":
        assert spec.source == SOURCE
        return float(workload.inputs()[SOURCE].count("\n"))
    if spec.job == "dbench":
        return float(next(iter(workload.demand({s: f"/{s}{DATA}" for s in workload.subvolumes}).values())))
    assert spec.operations is not None
    return float(spec.operations)
