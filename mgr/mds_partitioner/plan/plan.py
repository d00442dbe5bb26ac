# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan is a value: it can be saved, printed, executed, stopped and undone."""

import json
from dataclasses import dataclass
from typing import Any, Optional

from ..ceph.filesystem import BAL_MASK, DISTRIBUTED, PIN
from .shell import word

PIN_STEP, MASK_STEP, FS_STEP, CONFIG_STEP = "pin", "mask", "fs", "config"
DISTRIBUTED_STEP = "distributed"
AUTOMATE, RANK_MASK = "balance_automate", "bal_rank_mask"  # targets of FS_STEP
About = tuple[str, int, str]
"""What a step changes: its kind, and a directory's inode number, or the name of a setting or an option."""
ATTRIBUTES = {PIN_STEP: PIN, MASK_STEP: BAL_MASK, DISTRIBUTED_STEP: DISTRIBUTED}

OF_ALL = -1  # row of a setting or an option
IN_SEAL = ("analyzed", "ranks", "metadata_pool", "in_place")


@dataclass(frozen=True)
class Row:
    """One directory in a plan."""

    name: str
    path: str
    ino: int
    wss: float  # inodes
    reqs: float  # req/s
    rentries: int
    workload: float  # LINE's points
    klass: str
    current: tuple[int, ...]
    new: tuple[int, ...]
    reason: str
    why: str = ""  # more than the reason's code can say


@dataclass(frozen=True)
class Step:
    """One change: what places a directory, a setting of the file system, or an option of all MDSs.

    :ivar phase: steps of a row's phase begin when all of the row's phases before have ended, those of a
        setting or an option when all rows' have
    :ivar row: index of the row it belongs to, ``OF_ALL`` for a setting or an option
    :ivar expected: the value the planner saw; another one found at execution was set by an operator since
    :ivar home: the rank the directory itself was on, to go back to; -1 when it was on several
    """

    phase: int
    kind: str
    row: int
    target: str  # path of a directory, or name of a setting or an option
    ino: int
    value: str
    expected: str
    home: int = -1

    @property
    def about(self) -> About:
        """What it changes, however its directory is called."""
        return self.kind, self.ino, "" if self.ino else self.target

    def command(self, fs: str) -> str:
        """The command an operator would type."""
        attribute = ATTRIBUTES.get(self.kind)
        if attribute is not None:
            return f"setfattr -n {attribute} -v {self.value} {word('<mount>' + self.target)}"
        if self.kind == CONFIG_STEP:
            return f"ceph config set mds {self.target} {self.value}"
        return f"ceph fs set {word(fs)} {self.target} {self.value}"


@dataclass(frozen=True)
class Prediction:
    """Before and after, as the planner sees it. Loads in req/s by rank; fullest in workload points."""

    imbalance_before: float
    imbalance_after: float
    fullest_rank_before: int
    fullest_before: float
    fullest_rank_after: int
    fullest_after: float
    lower_bound: float
    load_before: dict[str, float]
    load_after: dict[str, float]
    inodes_to_move: float


@dataclass(frozen=True)
class Plan:
    """What to change, and why.

    :ivar caveats: what the plan does not know, one sentence each
    :ivar scheduled: the scheduler made it
    :ivar analyzed: when the analysis ended that it is made from, as created; None: it is from none
    :ivar ranks: those that it was to use; None: all that there were, or an earlier version made it
    :ivar metadata_pool: its file system's, whatever that is called; None: an earlier version made it
    :ivar in_place: rows taken apart of which a child was pinned to its rank already, and has no step; () also
        where an earlier version made it
    :ivar replaces: journal ids of the plans that this one was merged from
    """

    name: str
    fs: str
    fscid: int
    created: float  # seconds since the Unix epoch
    heavy_mode: str  # mask or fanout
    heavy_ranks: tuple[int, ...]
    force: bool
    estimate: str  # how working sets and requests were found
    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    prediction: Prediction
    caveats: tuple[str, ...] = ()
    scheduled: bool = False
    replaces: tuple[str, ...] = ()
    analyzed: Optional[float] = None
    ranks: Optional[tuple[int, ...]] = None
    metadata_pool: Optional[int] = None
    in_place: tuple[int, ...] = ()

    def to_json(self) -> str:
        """The journal's body of a plan. Version 0.9.0 refuses a field that it does not know, so what came
        later is kept in the seal (act/journal.py)."""
        body = {name: value for name, value in vars(self).items() if name not in IN_SEAL}
        return json.dumps(body, sort_keys=True, default=vars)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """What ``to_json`` wrote, without what is in the seal."""
        data: dict[str, Any] = json.loads(text)
        rows = (
            Row(**{**r, "current": tuple(r["current"]), "new": tuple(r["new"])}) for r in data.pop("rows")
        )
        steps = (Step(**s) for s in data.pop("steps"))
        data["heavy_ranks"] = tuple(data["heavy_ranks"])
        for name in ("caveats", "replaces"):
            data[name] = tuple(data.get(name, ()))
        data["prediction"] = Prediction(**data["prediction"])
        return cls(rows=tuple(rows), steps=tuple(steps), **data)

    def ranks_used(self) -> set[int]:
        """Ranks that must exist for the plan to be executed."""
        pins = {int(s.value) for s in self.steps if s.kind == PIN_STEP and int(s.value) >= 0}
        return pins | set(self.heavy_ranks)
