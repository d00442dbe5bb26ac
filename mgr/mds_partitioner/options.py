# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module's options (``ceph config set mgr mgr/mds_partitioner/NAME VALUE``) and their values in force."""

import logging
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mgr_module import MgrModule, Option, OptionLevel

from .engine.urgency import ROLE_THRESHOLD, SMOOTHNESS, THRESHOLD
from .errors import BadOption

DAY = 86_400  # s
LONGEST = 7 * DAY  # s of an analysis
# Of what has no sensible limit: the mon knows a least value only together with a most (MgrMonitor.cc).
MOST: dict[str, Any] = {"uint": 10**9, "float": 1e9, "secs": 3650 * DAY, "size": 1 << 50}


def option(name: str, kind: str, default: Any, desc: str, low: Any = None, high: Any = None) -> Option:
    """An option as this module declares them: advanced, and changed at runtime."""
    return Option(
        name=name,
        level=OptionLevel.ADVANCED,
        type=kind,
        default=default,
        desc=desc,
        min=low,
        max=MOST[kind] if high is None and low is not None else high,
        runtime=True,
    )


_unusable: dict[str, str] = {}  # what the log tells of values: they are read many times a minute

MODULE_OPTIONS = [
    option("epoch", "secs", 10, "time between two observations of a file system", 1, DAY),
    option(
        "analyze_duration", "secs", 600, "how long 'analyze start' samples unless told otherwise", 1, LONGEST
    ),
    option(
        "rank_capacity",
        "float",
        0.0,
        "most req/s a rank can serve; 0: learned, unknown until one was saturated",
        0,
    ),
    option(
        "imbalance_threshold",
        "float",
        THRESHOLD,
        "imbalance factor above which a file system is uneven",
        0,
        1,
    ),
    option(
        "smoothness",
        "float",
        SMOOTHNESS,
        "S of the urgency's logistic curve (Lunule, equation 2)",
        0.01,
        1,
    ),
    option(
        "role_threshold",
        "float",
        ROLE_THRESHOLD,
        "L of Lunule's Algorithm 1: squared relative distance from the mean",
        0,
    ),
    option("min_gain", "float", 0.05, "least part of the fullest rank that a plan must gain", 0, 1),
    option("max_moves", "uint", 4, "subtrees that may be moving at the same time", 1),
    option("rest_period", "secs", 600, "a moved subvolume is left alone, if the ranks are even", 0),
    option("arrival_timeout", "secs", 300, "how long a move is waited for before the plan goes on", 1),
    option(
        "epoch_capacity",
        "float",
        0.0,
        "Cap of Algorithm 1: most req/s that a rank hands over or takes in a beat; 0: no limit",
        0,
    ),
    option(
        "hint_interval",
        "secs",
        60,
        "least time between two pushes of a policy's hints; each makes a new FSMap",
        1,
    ),
    option(
        "hint_dead_band", "float", 0.1, "relative change of capacity or forecast that is worth a push", 0, 1
    ),
    Option(
        name="selection",
        level=OptionLevel.ADVANCED,
        type="str",
        default="mindex",
        enum_allowed=["mindex", "heat"],
        desc="what an MDS with our hook chooses subtrees by; others know heat only",
        runtime=True,
    ),
    option("rentries_per_epoch", "uint", 200, "directories whose statistics and pin are read in an epoch", 1),
    option("ranks_per_epoch", "uint", 8, "ranks whose sessions are listed again in an epoch", 1),
    option(
        "tell_concurrency",
        "uint",
        8,
        "commands to MDSs of a file system at once; read when the module starts",
        1,
        64,
    ),
    option(
        "bytes_per_inode", "uint", 3072, "MDS memory a cached inode takes with its dentry and capability", 1
    ),
    option("engine_python", "str", "python3", "the interpreter that runs the engine"),
    option("engine_deadline", "secs", 60, "how long the engine may take for an answer", 1, DAY),
    option("engine_memory", "size", 2 << 30, "memory limit of the engine", 256 << 20),
    option("engine_nice", "uint", 10, "niceness of the engine", 0, 19),
]


@dataclass(frozen=True)
class Settings:
    """The options' values at one moment; names and units as in MODULE_OPTIONS."""

    epoch: int
    analyze_duration: int
    rank_capacity: float
    imbalance_threshold: float
    smoothness: float
    role_threshold: float
    min_gain: float
    max_moves: int
    rest_period: int
    arrival_timeout: int
    epoch_capacity: float
    hint_interval: int
    hint_dead_band: float
    selection: str
    rentries_per_epoch: int
    ranks_per_epoch: int
    tell_concurrency: int
    bytes_per_inode: int
    engine_python: str
    engine_deadline: int
    engine_memory: int
    engine_nice: int

    @classmethod
    def read(cls, module: MgrModule) -> "Settings":
        """What the operator has configured."""
        return cls(**configured(module, MODULE_OPTIONS, [f.name for f in fields(cls)]))

    def checked(self) -> "Settings":
        """The same. :raises BadOption: one is no number: the mon takes that for one"""
        for known in MODULE_OPTIONS:
            value = getattr(self, known["name"])
            if isinstance(value, float) and not math.isfinite(value):
                raise BadOption(_refusal(known, value))
        return self


def configured(module: MgrModule, options: Sequence[Option], names: Collection[str]) -> dict[str, Any]:
    """Values of these options by name, as ``usable``."""
    wanted = [option for option in options if option["name"] in names]
    return {option["name"]: usable(option, module.get_module_option, module.log) for option in wanted}


def usable(option: Option, read: Callable[[str], Any], log: logging.Logger) -> Any:
    """The value of an option; seconds are whole ones. One that Ceph cannot read, as it was set with
    ``--force``, counts as none: whatever is wrong with it, an emergency stop is heard."""
    name = option["name"]
    try:
        value = read(name)
    except ValueError as e:
        if _unusable.get(name) != str(e):
            log.error("the option %s counts as not set: %s", name, e)
        _unusable[name] = str(e)
        return option["default"]
    _unusable.pop(name, None)
    return int(value) if option["type"] == "secs" else value  # Ceph gives a float (PyUtil.cc)


def _refusal(known: Option, value: float) -> str:
    name = known["name"]
    return (
        f"the option {name} is {value}: give a number from {known['min']:g} to {known['max']:g} "
        f"('ceph config set mgr mgr/mds_partitioner/{name} NUMBER')"
    )
