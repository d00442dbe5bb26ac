# SPDX-License-Identifier: LGPL-2.1-or-later
"""Everything the report shows, computed once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import track

from sim.load.clients import Clients
from sim.load.crowd import gather
from sim.model.tree import Part, plant
from sim.papers.lunule.experiment import MINUTE, Run, play
from sim.papers.lunule.published import LIGHT, LUNULE, SPILL, VANILLA
from sim.papers.lunule.setting import METADATA, Setting
from sim.papers.lunule.workloads import CNN, MD, NLP, WEB, ZIPF, Workload, with_data, workload
from sim.scenario import Event

T = TypeVar("T")

BALANCERS: Final = {
    VANILLA: "vanilla",
    SPILL: "greedyspill",
    LIGHT: "lunule-light",
    LUNULE: "lunule-paper",
}
OTHERS: Final = {"Ceph 20.2": "builtin", "lunule.lua": "lunule"}  # not the paper's
WORKLOADS: Final = (CNN, NLP, ZIPF, WEB, MD)  # as Figures 6 and 7 have them
SCALES: Final = (1, 2, 4, 8, 16)  # ranks
PHASES: Final = 4  # of Figure 12b
PHASE: Final = 600.0  # s; the paper shows no number
NEW: Final = 10  # clients a phase
HASHED: Final = "Dir-Hash"
SEEDS: Final = (1, 2, 3)  # of Figures 6 and 7; the first of all else
DATA: Final = (0.001, 0.005)  # s of a data operation in Figure 8: the paper does not tell
_LONGEST: Final = 12 * 3600.0  # s
_GROWING: Final = (600.0, 1200.0, 1800.0)  # s: a fifth rank, a sixth, the end


@dataclass(frozen=True)
class Study:
    """single: a run of each seed by workload and balancer (Figures 6 and 7); data: by workload, balancer and
    the time of a data operation (8); growing, phases: 12a and 12b; scale: by ranks (13a); web: 13b, by
    balancer and the setting's forwards; varied: CNN by what was changed and balancer."""

    setting: Setting
    single: Mapping[tuple[str, str], Sequence[Run]]
    data: Mapping[tuple[str, str, float], Run]
    growing: Run
    phases: Run
    scale: Mapping[int, Run]
    web: Mapping[tuple[str, float], Run]
    varied: Mapping[tuple[str, str], Run]


def changes(base: Setting) -> dict[str, Setting]:
    """What the paper does not give, one thing changed at a time."""
    return {
        "as assumed": base,
        "spread 0.01": replace(base, spread=0.01),
        "spread 0.1": replace(base, spread=0.1),
        "spread 1": replace(base, spread=1.0),
        "export_delay 0.5 s": replace(base, export_delay=0.5),
        "forwards 0.5": replace(base, forwards=0.5),
    }


def study(setting: Setting) -> Study:
    """Some three minutes on one core. Shows its progress on stderr."""
    cells = product(WORKLOADS, (*BALANCERS, *OTHERS))
    single = {
        (w, b): [_single(w, b, setting, seed) for seed in SEEDS] for w, b in _shown(cells, "Figures 6 and 7")
    }
    ways = product(METADATA, (VANILLA, LUNULE), DATA)
    return Study(
        setting,
        single,
        {(w, b, data): _data(w, b, setting, data) for w, b, data in _shown(ways, "Figure 8")},
        _growing(setting),
        _phases(setting),
        {ranks: _scaled(ranks, setting) for ranks in _shown(SCALES, "Figure 13a")},
        {
            (b, forwards): _web(b, replace(setting, forwards=forwards))
            for b, forwards in _shown(product((VANILLA, LUNULE, HASHED), (0.0, 0.5)), "Figure 13b")
        },
        {
            (label, b): single[CNN, b][0] if other == setting else _single(CNN, b, other, SEEDS[0])
            for (label, other), b in _shown(
                product(changes(setting).items(), (VANILLA, LUNULE)), "other settings"
            )
        },
    )


def _shown(items: Iterable[T], what: str) -> Iterable[T]:
    return track(list(items), f"lunule: {what}", console=Console(stderr=True), transient=True)


def _policy(balancer: str) -> str:
    return {**BALANCERS, **OTHERS, HASHED: "nothing"}[balancer]


def _endless(setting: Setting) -> Setting:
    """Figures 6, 7, 12 and 13 show a time; jobs that have no length of their own last longer."""
    return replace(setting, web_requests=math.inf, zipf_requests=math.inf)


def _single(name: str, balancer: str, setting: Setting, seed: int) -> Run:
    work = workload(name, _endless(setting))
    return play(work, _policy(balancer), setting, seed, work.minutes * MINUTE)


def _data(name: str, balancer: str, setting: Setting, data: float) -> Run:
    work = workload(name, with_data(name, setting, data))
    return play(work, _policy(balancer), setting, SEEDS[0], _LONGEST)


def _growing(setting: Setting) -> Run:
    """Figure 12a: four ranks, and one more at 10 and at 20 minutes."""
    few, more = replace(setting, ranks=4), 2
    events = [Event(at, few.ranks + k, "is added") for k, at in enumerate(_GROWING[:more])]
    return play(workload(ZIPF, _endless(few)), _policy(LUNULE), few, SEEDS[0], _GROWING[more], more, events)


def _phases(setting: Setting) -> Run:
    """Figure 12b: ten clients, and ten more in each phase."""
    return play(_in_phases(setting), _policy(LUNULE), setting, SEEDS[0], PHASES * PHASE)


def _in_phases(setting: Setting) -> Workload:
    tree = plant([Part(ZIPF, NEW * PHASES, (1,), float(setting.zipf_files))])
    kinds = [
        Clients(
            f"phase {k}",
            (NEW * k, NEW * (k + 1)),
            apart=True,
            count=NEW,
            threads=1,
            think=setting.think,
            begins=k * PHASE,
        )
        for k in range(PHASES)
    ]
    return Workload(ZIPF, tree, lambda seed: gather(kinds, tree, seed), setting.capacity, PHASE / MINUTE)


def _scaled(ranks: int, setting: Setting) -> Run:
    """Figure 13a: MD on so many ranks."""
    scaled = replace(setting, ranks=ranks, clients=ranks * setting.clients_of_a_rank)
    work = workload(MD, scaled)
    return play(work, _policy(LUNULE), scaled, SEEDS[0], work.minutes * MINUTE)


def _web(balancer: str, setting: Setting) -> Run:
    work = workload(WEB, _endless(setting))
    return play(work, _policy(balancer), setting, SEEDS[0], work.minutes * MINUTE, hashed=balancer == HASHED)
