# SPDX-License-Identifier: LGPL-2.1-or-later
"""The five workloads of Table 1: trees, and what each client does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sim.load.clients import Clients
from sim.load.crowd import Crowd, Group, gather
from sim.model.tree import Part, Tree, plant
from sim.papers.lunule.setting import METADATA, Setting
from sim.papers.lunule.walk import Walk, WalkingCrowd

CNN, NLP, ZIPF, WEB, MD = "CNN", "NLP", "Zipf", "Web", "MD"


@dataclass(frozen=True)
class Workload:
    """Made for a number of clients. crowd: by seed; minutes: until Figures 6 and 7 end; capacity: req/s."""

    name: str
    tree: Tree
    crowd: Callable[[int], Crowd]
    capacity: float
    minutes: float


def workload(name: str, setting: Setting) -> Workload:
    """One of Table 1, for as many clients as the setting has."""
    return _MAKERS[name](setting)


def with_data(name: str, setting: Setting, data: float) -> Setting:
    """The same where clients also read the files (Figure 8). data: s of a data operation."""
    metadata = METADATA[name]
    return replace(setting, think=setting.think + (1.0 - metadata) / metadata * data)


def _clients(setting: Setting) -> Clients:
    """All of them, alike: one thread each."""
    return Clients("clients", (0, 1), count=setting.clients, threads=1, think=setting.think)


def _scan(name: str, setting: Setting, below: tuple[int, ...], files: int) -> Workload:
    """Every client goes through the whole data set."""
    tree = plant([Part(name, 1, below, float(files))])
    way = tree.leaves(0)

    def crowd(seed: int) -> Crowd:
        rng = np.random.default_rng([seed, 4])
        one = replace(_clients(setting), count=1, uses="scan", requests=float(way.size * files))
        starts = np.sort(rng.uniform(0.0, setting.spread, setting.clients))
        groups = [Group(one, Walk(way.size, files, at), slice(k, k + 1)) for k, at in enumerate(starts)]
        return WalkingCrowd(groups, [way] * setting.clients, seed)

    return Workload(name, tree, crowd, setting.capacity, setting.minutes)


def _cnn(setting: Setting) -> Workload:
    return _scan(CNN, setting, (setting.cnn_directories,), setting.cnn_files)


def _nlp(setting: Setting) -> Workload:
    return _scan(NLP, setting, (setting.nlp_folders * setting.nlp_fragments,), setting.nlp_files)


def _web(setting: Setting) -> Workload:
    branches = setting.web_branches
    tree = plant([Part(WEB, 1, (branches, branches), setting.web_files / branches**2)])
    kind = replace(_clients(setting), uses="zipf", zipf=setting.web_zipf, requests=setting.web_requests)
    return Workload(WEB, tree, lambda seed: gather([kind], tree, seed), setting.capacity, setting.minutes)


def _zipf(setting: Setting) -> Workload:
    tree = plant([Part(ZIPF, setting.clients, (1,), float(setting.zipf_files))])
    kind = replace(_clients(setting), on=(0, setting.clients), apart=True, requests=setting.zipf_requests)
    return Workload(ZIPF, tree, lambda seed: gather([kind], tree, seed), setting.capacity, setting.minutes)


def _md(setting: Setting) -> Workload:
    tree = plant([Part(MD, setting.clients, (1,), 0.0)])
    kind = replace(_clients(setting), on=(0, setting.clients), apart=True, does="create")
    return Workload(
        MD, tree, lambda seed: gather([kind], tree, seed), setting.create_capacity, setting.create_minutes
    )


_MAKERS: Final[Mapping[str, Callable[[Setting], Workload]]] = {
    CNN: _cnn,
    NLP: _nlp,
    ZIPF: _zipf,
    WEB: _web,
    MD: _md,
}
