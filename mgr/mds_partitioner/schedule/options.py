# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's options, and their values in force."""

from dataclasses import dataclass, fields

from mgr_module import MgrModule

from ..options import DAY, Settings, configured, option
from .core.state import Limits

DEFAULTS = Limits()
SCHEDULER_OPTIONS = [
    option(
        *("scheduler_interval", "secs", 5),
        "between two looks of the scheduler, but no less than between two reports of MDSs (mgr_stats_period)",
        1,
        DAY,
    ),
    option("scheduler_moves", "uint", DEFAULTS.moves, "subtrees that the scheduler moves at a time", 1),
    option("scheduler_inodes", "uint", int(DEFAULTS.inodes), "inodes that it moves at a time", 1),
    option("scheduler_inodes_an_hour", "uint", int(DEFAULTS.hourly), "inodes that it moves in an hour", 1),
    option("scheduler_moves_a_day", "uint", DEFAULTS.daily, "directories that it moves in a day", 1),
    option(
        "scheduler_pins",
        "uint",
        DEFAULTS.pins,
        "pinned directories from which on the scheduler pins no more",
        1,
    ),
    option(
        "scheduler_rest",
        "secs",
        int(DEFAULTS.rest),
        "what it moved is left alone, unless its load has really changed",
        0,
        int(DEFAULTS.memory),
    ),
    # Names and meaning of mgr/balancer's.
    option(
        "begin_time", "str", "0000", "HHMM from which on the scheduler may act; equal to end_time: always"
    ),
    option("end_time", "str", "0000", "time of day, HHMM, until which the scheduler may act"),
    option(
        "begin_weekday",
        "uint",
        0,
        "weekday from which on it may act; 0 is Sunday; equal to end_weekday: always",
        0,
        6,
    ),
    option(
        "end_weekday",
        "uint",
        0,
        "weekday until which it may act; if above begin_weekday it is the last, as for mgr/balancer",
        0,
        6,
    ),
]


@dataclass(frozen=True)
class SchedulerSettings:
    """Values in force; names and units as in SCHEDULER_OPTIONS."""

    scheduler_interval: int
    scheduler_moves: int
    scheduler_inodes: int
    scheduler_inodes_an_hour: int
    scheduler_moves_a_day: int
    scheduler_pins: int
    scheduler_rest: int
    begin_time: str
    end_time: str
    begin_weekday: int
    end_weekday: int

    @classmethod
    def read(cls, module: MgrModule) -> "SchedulerSettings":
        """What the operator has configured."""
        return cls(**configured(module, SCHEDULER_OPTIONS, [f.name for f in fields(cls)]))

    def limits(self, settings: Settings) -> Limits:
        """What the core may order."""
        return Limits(
            moves=self.scheduler_moves,
            inodes=float(self.scheduler_inodes),
            hourly=float(self.scheduler_inodes_an_hour),
            daily=self.scheduler_moves_a_day,
            pins=self.scheduler_pins,
            rest=float(self.scheduler_rest),
            deadline=float(settings.arrival_timeout),
            smoothness=settings.smoothness,
        )
