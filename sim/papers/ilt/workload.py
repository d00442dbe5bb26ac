# SPDX-License-Identifier: LGPL-2.1-or-later
"""The requests of a run, known before it begins, so that every system gets the same."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from sim.model.arrays import Floats, Ints
from sim.papers.ilt.namespace import Namespace
from sim.papers.ilt.parameters import BurstOn, Load


class Kind(Enum):
    """What a request does."""

    READ = "read"  # looks a file's metadata up
    WRITE = "write"  # changes a file's metadata
    CREATE = "create"  # makes a file in a directory
    RENAME = "rename"  # gives a directory another name


@dataclass(frozen=True)
class Request:
    """`target` is a file (read, write) or a directory (create, rename); `at` in ms."""

    at: float
    kind: Kind
    target: int


def requests(load: Load, namespace: Namespace, rng: np.random.Generator) -> list[Request]:
    """In the order of their arrival: Poisson arrivals, their files by Zipf's law, and bursts."""
    popular = _by_popularity(load, namespace, rng)
    calm = load.rate * (1 - load.burst_share)
    times = rng.uniform(0, load.duration, rng.poisson(calm * load.duration))
    steady = [
        _request(float(at), int(file), load, namespace, rng, load.renames_of_writes)
        for at, file in zip(
            np.sort(times), rng.choice(popular.files, size=len(times), p=popular.odds), strict=True
        )
    ]
    renames = [request for request in steady if request.kind is Kind.RENAME]
    bursts = [
        request for at in _burst_times(load, rng) for request in _burst(at, load, namespace, renames, rng)
    ]
    return sorted(steady + bursts, key=lambda request: request.at)


@dataclass(frozen=True)
class _Popularity:
    files: Ints
    odds: Floats


def _by_popularity(load: Load, namespace: Namespace, rng: np.random.Generator) -> _Popularity:
    odds = np.arange(1, namespace.files + 1, dtype=np.float64) ** -load.zipf
    return _Popularity(rng.permutation(namespace.files), odds / odds.sum())


def _request(
    at: float, file: int, load: Load, namespace: Namespace, rng: np.random.Generator, renames: float
) -> Request:
    if rng.random() < load.reads:
        return Request(at, Kind.READ, file)
    lot = rng.random()
    if lot < renames:
        return Request(at, Kind.RENAME, int(rng.integers(1, namespace.directories)))
    if lot < renames + load.creates_of_writes:
        return Request(at, Kind.CREATE, namespace.directory_of(file))
    return Request(at, Kind.WRITE, file)


def _burst_times(load: Load, rng: np.random.Generator) -> list[float]:
    if not load.burst_share:
        return []
    count = rng.poisson(load.duration / load.burst_every)
    return [float(at) for at in np.sort(rng.uniform(0, load.duration - load.burst_length, count))]


def _burst(
    start: float, load: Load, namespace: Namespace, renames: list[Request], rng: np.random.Generator
) -> list[Request]:
    """Requests for the files of one directory (or for one of them), often one that was just renamed."""
    before = [request.target for request in renames if request.at < start]
    follows = rng.random() < load.bursts_after_rename
    files = namespace.below(before[-1]) if before and follows else []
    if not files:
        files = namespace.below(namespace.directory_of(int(rng.integers(namespace.files))))
    if load.burst_on is BurstOn.FILE:
        files = [files[int(rng.integers(len(files)))]]
    count = rng.poisson(load.rate * load.burst_share * load.burst_every)
    return [
        _request(start + float(after), files[int(which)], load, namespace, rng, renames=0.0)
        for after, which in zip(
            rng.uniform(0, load.burst_length, count), rng.integers(len(files), size=count), strict=True
        )
    ]
