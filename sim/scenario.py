# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scenario: a cluster, its load over time, what befalls it, who balances it, and what must come of that."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from mds_partitioner.options import Settings
from sim.errors import SimError
from sim.load.clients import STRICT, Clients, Count, Part, Positive, Time
from sim.model.arrays import Bools, Floats, Ints
from sim.model.physics import Physics
from sim.model.tree import Part as Planted
from sim.model.tree import Tree, plant
from sim.policies.base import DEFAULTS

HOME = Path(__file__).with_name("scenarios")
EVERY_RANK = "spread"


@dataclass(frozen=True, config=STRICT)
class Ranks:
    """capacity: req/s of each, or of all; more: ranks that events may add; mask: those left for balancing;
    to_auth: mds_forward_all_requests_to_auth, as the operator has it."""

    count: Annotated[int, Field(ge=1, le=1024)]
    capacity: Positive | tuple[Positive, ...] = 1100.0
    more: Annotated[int, Field(ge=0)] = 0
    mask: tuple[int, ...] | None = None
    to_auth: bool = False


@dataclass(frozen=True, config=STRICT)
class Subvolumes:
    """Subvolumes of one kind. directories: how many each has below it, level by level; inodes: of each of the
    lowest; rank: where they are at first, or one rank after the other ("spread"); pinned: by an operator."""

    name: str
    count: Count
    directories: tuple[Count, ...] = (1,)
    inodes: Time = 1000.0
    rank: int | Literal["spread"] = 0
    pinned: bool = False


@dataclass(frozen=True, config=STRICT)
class Event:
    """Something that befalls a rank at a time (s): ``slows`` multiplies its capacity by ``times``."""

    at: Time
    rank: int
    what: Literal["dies", "is added", "stops", "slows"]
    times: Positive = 1.0


@dataclass(frozen=True, config=STRICT)
class Balance:
    """In ``part`` of the epochs from a second on (until another): the imbalance factor is at most
    ``imbalance``, the fullest rank has at most ``fullest`` times the mean, and the one with most requests
    inside, for its capacity, ``crowded`` times the mean of these."""

    since: Time
    until: Time = float("inf")
    imbalance: Positive | None = None
    fullest: Positive | None = None
    crowded: Positive | None = None
    part: Part = 1.0


@dataclass(frozen=True, config=STRICT)
class Steady:
    """From a second on (until another) at most so many subtrees move, and so many directories go back to a
    rank that they left less than ``soon`` s ago; and thrashing is at most ``thrash``: loads that go up and
    down again, in parts of the mean load of all ranks."""

    since: Time = 0.0
    until: Time = float("inf")
    moves: Annotated[int, Field(ge=0)] | None = None
    returns: Annotated[int, Field(ge=0)] | None = None
    soon: Positive = 120.0
    thrash: Time | None = None


@dataclass(frozen=True, config=STRICT)
class Cost:
    """Inodes that move: at most ``times`` what the oracle moves, and ``beyond`` more."""

    times: Time
    beyond: Time = 0.0


@dataclass(frozen=True, config=STRICT)
class Throughput:
    """Requests answered from a second on: at least this part of what clients get with the oracle."""

    part: Positive
    since: Time = 0.0


@dataclass(frozen=True, config=STRICT)
class Assertions:
    """What must come of it. Safety is always asserted: nothing goes to a rank that is down or masked out."""

    balance: tuple[Balance, ...] = ()
    steady: tuple[Steady, ...] = ()
    cost: Cost | None = None
    throughput: Throughput | None = None


def _several(value: Any) -> Any:
    """One may be named without brackets."""
    return (value,) if isinstance(value, str) else value


Kind = Literal["balance", "steady", "cost", "throughput"]


@dataclass(frozen=True, config=STRICT)
class Failure:
    """Of a policy that fails today: the kinds of assertions that it breaks, and why.

    :ivar kept: what of these kinds it keeps all the same: no worse than that
    """

    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)]
    why: str
    kept: Assertions = Field(default_factory=Assertions)


@dataclass(frozen=True, config=STRICT)
class Scenario:
    """What a file says.

    :ivar about: one sentence: what happens and what must not
    :ivar fails_with: policies each of which must fail
    :ivar known_failure: what the policy breaks today, and why; then it must
    :ivar elsewhere: ``known_failure`` of other policies, by name, for when they are judged instead
    :ivar quick: part of ``make test``
    :ivar options: of the module, in place of their defaults
    :ivar policies: what is said to a policy alone, by its name
    """

    about: str
    policy: str
    fails_with: Annotated[tuple[str, ...], BeforeValidator(_several), Field(min_length=1)]
    seconds: Positive
    ranks: Ranks
    subvolumes: tuple[Subvolumes, ...]
    clients: tuple[Clients, ...]
    must: Assertions
    seeds: tuple[int, ...] = (1, 2, 3)
    events: tuple[Event, ...] = ()
    physics: Physics = Field(default_factory=Physics)
    options: dict[str, Any] = Field(default_factory=dict)
    policies: dict[str, dict[str, Any]] = Field(default_factory=dict)
    known_failure: Failure | None = None
    elsewhere: dict[str, Failure] = Field(default_factory=dict)
    quick: bool = False
    name: str = ""

    @property
    def most_ranks(self) -> int:
        """Those that are there at first and those that come."""
        return self.ranks.count + self.ranks.more

    @property
    def declared(self) -> Assertions:
        """What its policy keeps although it fails."""
        return Assertions() if self.known_failure is None else self.known_failure.kept

    @property
    def settings(self) -> Settings:
        """The module's options in force."""
        return replace(DEFAULTS, **self.options)

    @property
    def forbids(self) -> bool:
        """Is there a rank, at any time, that nothing may be ordered to?"""
        missing = self.ranks.more > 0 or any(event.what in ("dies", "stops") for event in self.events)
        return missing or self.ranks.mask is not None


_ADAPTER = TypeAdapter(Scenario)


def read(path: Path) -> Scenario:
    """A file's scenario. :raises SimError: it says something that cannot be; the message names it"""
    try:
        return parse(path.read_text(), path.stem)
    except OSError as e:
        raise SimError(f"cannot read the scenario {path}: {e.strerror}") from e


def parse(text: str, name: str) -> Scenario:
    """A text's scenario. :raises SimError: as above"""
    try:
        scenario = _ADAPTER.validate_python({**tomllib.loads(text), "name": name})
    except tomllib.TOMLDecodeError as e:
        raise SimError(f"scenario '{name}' is not TOML: {e}") from e
    except ValidationError as e:
        raise SimError(f"scenario '{name}': {'; '.join(map(_told, e.errors()))}") from e
    _check(scenario)
    return scenario


def _told(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    value = "" if isinstance(error["input"], dict) else f" is {error['input']!r}"
    return f"{where}{value}: {error['msg']}"


def _check(scenario: Scenario) -> None:
    """What one field cannot tell alone."""
    from sim.policies import POLICIES

    def must(good: bool, what: str) -> None:
        if not good:
            raise SimError(f"scenario '{scenario.name}': {what}")

    for policy in (scenario.policy, *scenario.fails_with, *scenario.policies, *scenario.elsewhere):
        must(policy in POLICIES, f"'{policy}' is no policy; allowed: {', '.join(POLICIES)}")
    total = sum(kind.count for kind in scenario.subvolumes)
    for kind in scenario.clients:
        good = 0 <= kind.on[0] < kind.on[1] <= total
        must(good, f"clients '{kind.name}': on is {list(kind.on)}; allowed: [from, up to], 0 to {total}")
    ranks, most = scenario.ranks, scenario.most_ranks
    if isinstance(ranks.capacity, tuple):
        must(len(ranks.capacity) == most, f"ranks.capacity has {len(ranks.capacity)} values; allowed: {most}")
    placed = [(s.rank, f"subvolumes '{s.name}': rank", ranks.count) for s in scenario.subvolumes]
    masked = [(r, "ranks.mask", most) for r in ranks.mask or ()]
    struck = [(e.rank, f"the event at {e.at:g} s: rank", most) for e in scenario.events]
    for rank, where, below in (*placed, *masked, *struck):
        must(rank == EVERY_RANK or 0 <= int(rank) < below, f"{where} is {rank}; allowed: 0 to {below - 1}")
    for option in scenario.options:
        must(option in vars(DEFAULTS), f"options: '{option}' is none of the module's")


def find(names: list[str]) -> list[Scenario]:
    """The named scenarios, or files; all when none is named. :raises SimError: one is not there"""
    if not names:
        return [read(path) for path in sorted(HOME.glob("*.toml"))]
    return [read(Path(name) if name.endswith(".toml") else _shipped(name)) for name in names]


def _shipped(name: str) -> Path:
    path = HOME / f"{name}.toml"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in HOME.glob("*.toml")))
        raise SimError(f"there is no scenario '{name}'; there are: {there}")
    return path


def instead(scenario: Scenario, policy: str) -> Scenario:
    """The same with another policy, and what is declared of that one.

    :raises SimError: it is none, or one that must fail
    """
    from sim.policies import POLICIES

    if policy not in POLICIES:
        raise SimError(f"'{policy}' is no policy; allowed: {', '.join(POLICIES)}")
    if policy == scenario.policy:
        return scenario
    if policy in scenario.fails_with:
        raise SimError(f"scenario '{scenario.name}': '{policy}' is a policy that must fail")
    return replace(scenario, policy=policy, known_failure=scenario.elsewhere.get(policy))


def tree_of(scenario: Scenario) -> Tree:
    """All directories."""
    return plant([Planted(s.name, s.count, s.directories, s.inodes) for s in scenario.subvolumes])


def first_places(scenario: Scenario, tree: Tree) -> tuple[Ints, Ints]:
    """(directories,) each: the rank that each is on at first, and the pin that an operator has given it."""
    auth, pins = np.zeros(tree.size, dtype=np.int64), np.full(tree.size, -1, dtype=np.int64)
    number = 0
    for kind in scenario.subvolumes:
        for k in range(kind.count):
            root = int(tree.roots[number])
            rank = k % scenario.ranks.count if kind.rank == EVERY_RANK else int(kind.rank)
            auth[root : int(tree.end[root])] = rank
            if kind.pinned:
                pins[root] = rank
            number += 1
    return auth, pins


def capacity_of(scenario: Scenario) -> tuple[Floats, Bools]:
    """(ranks,) each: req/s, and whether it is there at first."""
    most = scenario.most_ranks
    return (
        np.broadcast_to(np.asarray(scenario.ranks.capacity, dtype=np.float64), (most,)).copy(),
        np.arange(most) < scenario.ranks.count,
    )
