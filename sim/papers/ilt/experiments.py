# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which runs the report is made of. A cell is a system in a setting; each is run once."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from sim.papers.ilt.parameters import BurstOn, Costs, Design, Load, Setting
from sim.papers.ilt.run import SYSTEMS, Outcome, play

Cell = tuple[str, Setting]
Outcomes = dict[Cell, Outcome]

SEEDS: Final = (1, 2, 3, 4, 5)
AS_ASSUMED: Final = Setting()
COMMITTED: Final = replace(AS_ASSUMED, design=Design(commit=Costs().disk, commit_moved=Costs().disk))
# Whatever the paper leaves open, decided for its own system.
FAVOURABLE: Final = Setting(
    load=Load(renames_of_writes=0.05),
    design=Design(access_time_updates=0.0, commit_moved=Costs().disk, rename_by_item=False),
)
READINGS: Final = {
    "as assumed": AS_ASSUMED,
    "writes wait for the disk": COMMITTED,
    "all in the paper's favour": FAVOURABLE,
}

# The sweeps: shorter runs, of fewer seeds.
SWEEP_SEEDS: Final = (1, 2)
SWEEP_DURATION: Final = 6_000.0
RATE_DURATION: Final = 3_000.0

# Figure 6: 1/C in ms.
DISPATCHER_DURATION: Final = 12_000.0
DISPATCHER_TIMES: Final = (0.1, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.83)
# Requests/ms.
RATES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)

SERVER_ADDED_AT: Final = 5_000.0
SERVER_ADDED: Final = Setting(
    load=Load(renames_of_writes=0.0), design=Design(server_added_at=SERVER_ADDED_AT)
)


def swept(setting: Setting, duration: float = SWEEP_DURATION) -> list[Setting]:
    """The setting's shorter runs, one a seed."""
    load = replace(setting.load, duration=duration)
    return [replace(setting, load=load, seed=seed) for seed in SWEEP_SEEDS]


def seeded(setting: Setting) -> list[Setting]:
    """The setting's runs of the paper's length, one a seed."""
    return [replace(setting, seed=seed) for seed in SEEDS]


def _load(**changes: Any) -> Setting:
    return replace(AS_ASSUMED, load=replace(Load(), **changes))


def _design(**changes: Any) -> Setting:
    return replace(AS_ASSUMED, design=replace(Design(), **changes))


# One thing changed at a time.
VARIANTS: Final[dict[str, Setting]] = {
    "as assumed": AS_ASSUMED,
    "no bursts": _load(burst_share=0.0),
    "bursts for one file": _load(burst_on=BurstOn.FILE),
    "every file as popular as any other": _load(zipf=0.0),
    "popularity steeper (Zipf 1.2)": _load(zipf=1.2),
    "no renames": _load(renames_of_writes=0.0),
    "5 % of the writes are renames": _load(renames_of_writes=0.05),
    "no access times": _design(access_time_updates=0.0),
    "every read writes an access time": _design(access_time_updates=1.0),
    "a replica renames one entry": _design(rename_by_item=False),
    "writes wait for the disk": COMMITTED,
    "moved metadata waits for the disk": _design(commit_moved=Costs().disk),
    "table of 64 entries": _design(entries=64),
    "table never adjusted": _design(adjust_every=None),
    "one server at a quarter of the speed": _design(first_server_speed=0.25),
    "the same, table never adjusted": _design(first_server_speed=0.25, adjust_every=None),
    "twice the requests": _load(rate=2 * Load().rate),
    "four times the requests": _load(rate=4 * Load().rate),
}


def at_rate(rate: float) -> list[Setting]:
    """Runs of one rate, without renames: their sizes would hide what the rate does."""
    return swept(_load(rate=rate, renames_of_writes=0.0), RATE_DURATION)


def dispatched(time: float | None, poisson: bool) -> list[Setting]:
    """Runs with a dispatcher of mean service time `time` (ms; None: no dispatcher).

    `poisson`: without bursts and without renames.
    """
    load = replace(Load(), burst_share=0.0, renames_of_writes=0.0) if poisson else Load()
    design = replace(Design(), dispatcher_rate=None if time is None else 1 / time)
    return swept(Setting(load=load, design=design), DISPATCHER_DURATION)


def cells() -> list[Cell]:
    """Every run of the report, once."""
    everywhere = [run for setting in READINGS.values() for run in seeded(setting)]
    everywhere += [run for setting in VARIANTS.values() for run in swept(setting)]
    everywhere += [run for rate in RATES for run in at_rate(rate)]
    everywhere.append(SERVER_ADDED)
    dispatcher = [
        run
        for poisson in (False, True)
        for time in (None, *DISPATCHER_TIMES)
        for run in dispatched(time, poisson)
    ]
    wanted = [(system, setting) for setting in everywhere for system in SYSTEMS]
    return list(dict.fromkeys([*wanted, *(("ILT", setting) for setting in dispatcher)]))


def run(wanted: Iterable[Cell], seen: Callable[[], None]) -> Outcomes:
    """Plays each cell and calls `seen` after it."""
    outcomes = {}
    for system, setting in wanted:
        outcomes[system, setting] = play(system, setting)
        seen()
    return outcomes
