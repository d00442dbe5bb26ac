# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the epochs of an analysis amount to. Sums are kept, not samples: a week of them stays small."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Optional

from ..model import Churning, Directory, DirectoryFacts, Observation, RankSample, SubtreeSample
from .history import History
from .insides import Insides, InsidesSum

PARTLY = 0.1  # of its requests are of clients that are held back: with less it is hardly asked for more
PARTS = 20  # equal ones, of a directory's requests
OFTEN = 0.05  # of the epochs: where a rank was full in fewer, that was a hiccup, or a burst
MOST_LOOKED_INTO = 64  # directories of which it is remembered what is inside


@dataclass(frozen=True)
class Observed:
    """One directory over the window."""

    directory: Directory
    wss: float  # inodes, at its highest: counted by the MDSs, or else capabilities held
    requests: float  # req/s, mean
    rentries: int
    sessions: int
    ranks: tuple[int, ...]
    pin: int
    ephemeral: bool
    shared: bool  # partly estimated from heat
    counted: bool = False  # wss is not an estimate
    parts: tuple[int, ...] = ()  # rank of each equal part of its requests since it is there; (): not known
    passing: bool = False  # it is new, and as many as there are new beside it went while somebody looked
    inside: Optional[Insides] = None  # of the busiest: what it could be divided into
    held_back: float = 0.0  # of the requests, req/s, mean: of clients that would ask for more

    @property
    def elastic(self) -> bool:
        """Would its clients ask for more, were they served more?"""
        return self.requests > 0.0 and self.held_back >= PARTLY * self.requests

    @property
    def by_rank(self) -> dict[int, float]:
        """Its requests by the rank that served them, req/s."""
        on = self.parts or self.ranks
        return {rank: self.requests * on.count(rank) / len(on) for rank in on}

    @property
    def load_ranks(self) -> tuple[int, ...]:
        """The ranks that its load is on, one entry an equal part: on some of ``ranks`` may be hardly any."""
        if not self.parts or not set(self.parts) <= set(self.ranks):
            return self.ranks
        return self.parts if len(set(self.parts)) > 1 else self.parts[:1]


@dataclass(frozen=True)
class WindowSummary:
    """The whole window. ``series``: the last epochs, a row of samples a rank, oldest first, of one length."""

    fs: str
    epochs: int
    loads: Mapping[int, float]  # req/s by rank, mean over the window
    series: Mapping[int, tuple[RankSample, ...]]
    directories: tuple[Observed, ...]
    unread: int  # directories whose rentries were not read yet
    unread_load: float  # part of all directories' requests that are theirs, 0 to 1
    missing: int  # times a rank's sessions could not be read
    seconds: float = 0.0  # from the first sample to the last
    wss: float = 0.0  # inodes, of all directories of one epoch together, at its highest
    gone: tuple[str, ...] = ()  # directories that the operator named and that were gone at the end
    churning: tuple[Churning, ...] = ()
    unmapped: tuple[int, ...] = ()  # ranks that never told their subtrees
    rank_epochs: int = 0  # that ``loads`` are the mean of: since the same daemons held the ranks
    passing: int = 0  # directories that went, or that ``passing`` says will
    passing_load: float = 0.0  # part of all directories' requests that are theirs, 0 to 1
    # req/s of all directories in these epochs, mean; also of those that are gone, and of the managers' mounts
    known: float = 0.0
    # By rank, if it ever was: part of those of these epochs in which the ranks could be judged.
    saturated: Mapping[int, float] = field(default_factory=dict)
    latency: Mapping[int, float] = field(default_factory=dict)  # s by rank, mean of these epochs' requests
    busy: float = 0.0  # req/s of all ranks, mean of those in which one was full; 0: so it was hardly ever
    unlisted: Mapping[str, int] = field(default_factory=dict)  # as of the last epoch


def highest(before: tuple[float, bool], seen: tuple[float, bool]) -> tuple[float, bool]:
    """The higher working set of two, inodes, and whether it was counted: what was replaces all estimates."""
    if before[1] == seen[1]:
        return max(before, seen)
    return before if before[1] else seen


@dataclass
class DirectorySum:
    """One directory's epochs so far."""

    last: SubtreeSample
    wss: float = 0.0
    requests: float = 0.0
    held_back: float = 0.0
    epochs: int = 0
    shared: bool = False
    counted: bool = False
    inside: InsidesSum = field(default_factory=InsidesSum)
    served: tuple[float, ...] = ()  # req/s by each rank, summed over the epochs since it is on these

    def add_wss(self, seen: SubtreeSample) -> None:
        """Keep the highest."""
        self.wss, self.counted = highest((self.wss, self.counted), (seen.wss, seen.counted))

    def add_served(self, seen: SubtreeSample) -> None:
        """An epoch in which it did little says little of where its load is. On other ranks it begins anew."""
        before = self.served if seen.ranks == self.last.ranks else ()
        self.served = tuple(map(sum, zip_longest(before, seen.served, fillvalue=0.0)))


@dataclass(frozen=True)
class Gone:
    """Directories of one parent that were there in some epoch, and not in a later one."""

    parent: str
    number: int = 0
    requests: float = 0.0  # req/s, summed over their epochs

    def plus(self, total: DirectorySum) -> "Gone":
        """With one more."""
        return Gone(self.parent, self.number + 1, self.requests + total.requests)


@dataclass(frozen=True)
class Checkpoint:
    """What a window had summed up when it was saved, for a manager that goes on with it."""

    elapsed: float  # s that the analysis has run
    epochs: int
    missing: int
    directories: tuple[DirectorySum, ...]
    went: tuple[Gone, ...] = ()
    wss: float = 0.0  # inodes, of all directories of one epoch; 0 in what an older version saved
    counted: bool = False  # it is not an estimate


@dataclass
class Window:
    """Collects the epochs of one analysis."""

    fs: str
    epochs: int = 0
    _before: float = 0.0  # s that it had lasted when it was saved
    _first: Optional[float] = None  # when the first sample after that was taken, monotonic, s
    _history: History = field(default_factory=History)
    _loads: dict[int, float] = field(default_factory=dict)  # req/s, summed over _rank_epochs
    _waited: dict[int, float] = field(default_factory=dict)  # requests x latency, summed over _rank_epochs
    _rank_epochs: int = 0
    _judged: int = 0  # of _rank_epochs: in which it could be told who is saturated
    _saturated: Counter[int] = field(default_factory=Counter)  # by rank: of _judged
    _busy: float = 0.0  # req/s of all ranks, summed over those of _judged in which one was full
    _busy_epochs: int = 0
    _known: float = 0.0  # req/s of all directories and of the managers' mounts, summed over _rank_epochs
    _sums: dict[str, DirectorySum] = field(default_factory=dict)
    _went: dict[str, Gone] = field(default_factory=dict)  # by parent
    _wss: tuple[float, bool] = (0.0, False)  # inodes of all directories of one epoch; are they counted?
    _missing: int = 0
    _gone: tuple[str, ...] = ()
    _churning: tuple[Churning, ...] = ()
    _unmapped: tuple[int, ...] = ()
    _unlisted: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def resumed(cls, fs: str, kept: Checkpoint) -> "Window":
        """Go on from a checkpoint. What the ranks did before is not in it: their history begins anew, too."""
        sums = {total.last.directory.path: total for total in kept.directories}
        went = {gone.parent: gone for gone in kept.went}
        wss = (kept.wss, kept.counted)
        for total in kept.directories:  # an older version kept the highest of each alone
            wss = highest(wss, (total.wss, total.counted))
        return cls(fs, kept.epochs, kept.elapsed, _sums=sums, _went=went, _wss=wss, _missing=kept.missing)

    @property
    def ready(self) -> bool:
        """Can it be judged? One that has just been gone on with knows nothing of the ranks yet."""
        return self._rank_epochs > 0

    @property
    def _lasted(self) -> float:
        """s from the first sample to the last, to a tenth."""
        here = 0.0 if self._first is None else self._history.taken - self._first
        return round(self._before + here, 1)

    def checkpoint(self, elapsed: float) -> Checkpoint:
        """The sums so far. ``elapsed`` in s."""
        sums, went = tuple(self._sums.values()), tuple(self._went.values())
        return Checkpoint(elapsed, self.epochs, self._missing, sums, went, *self._wss)

    def add(self, observation: Observation, history: History) -> None:
        """Add one epoch. When the history of the ranks began anew, so do their means."""
        if history.began != self._history.began:
            self._loads, self._waited, self._rank_epochs, self._known = {}, {}, 0, 0.0
            self._judged, self._saturated = 0, Counter()
            self._busy, self._busy_epochs = 0.0, 0
        self._history = history
        self._first = history.taken if self._first is None else self._first
        self._loads = {s.rank: self._loads.get(s.rank, 0.0) + s.requests for s in history.latest}
        waited = {s.rank: s.requests * s.latency for s in history.latest}
        self._waited = {rank: self._waited.get(rank, 0.0) + more for rank, more in waited.items()}
        self._rank_epochs += 1
        if observation.saturated is not None:
            self._judged += 1
            self._saturated.update(observation.saturated)
        if observation.busy:
            self._busy += sum(s.requests for s in history.latest)
            self._busy_epochs += 1
        wss = sum(seen.wss for seen in observation.directories)
        self._wss = highest(self._wss, (wss, any(seen.counted for seen in observation.directories)))
        self._known += observation.managers + sum(seen.requests for seen in observation.directories)
        renamed: dict[str, DirectorySum] = {}
        present = {seen.directory: seen.directory.path for seen in observation.directories}
        paths = {directory.ino: path for directory, path in present.items()}
        for path in [p for p, known in self._sums.items() if known.last.directory not in present]:
            gone, parent = self._sums.pop(path), path.rpartition("/")[0]
            now = paths.get(gone.last.directory.ino)
            if now is not None and now != path:
                renamed[now] = gone
            else:
                self._went[parent] = self._went.get(parent, Gone(parent)).plus(gone)
        self._sums |= renamed
        for seen in observation.directories:
            total = self._sums.get(seen.directory.path)
            if total is None:
                total = self._sums[seen.directory.path] = DirectorySum(seen)
            total.add_served(seen)
            total.last = seen
            total.add_wss(seen)
            total.requests += seen.requests
            total.held_back += seen.held_back
            total.epochs += 1
            total.shared = total.shared or seen.shared
            below = observation.inside.get(seen.directory.path)
            if below is not None:
                total.inside.add(below, seen.requests)
        self._forget_insides()
        self._missing += len(observation.missing)
        self._gone, self._churning = observation.gone, observation.churning
        self._unmapped, self._unlisted = observation.unmapped, observation.unlisted
        self.epochs += 1

    def _forget_insides(self) -> None:
        """Of all but the busiest: over a week many may be among these for a while."""
        looked = [total for total in self._sums.values() if total.inside.looks]
        for total in sorted(looked, key=lambda total: -total.requests)[MOST_LOOKED_INTO:]:
            total.inside = InsidesSum()

    def _passing(self) -> set[str]:
        """Paths of the directories that were there for half of the time at most, where as many went."""
        new = [path for path, total in self._sums.items() if 2 * total.epochs <= self.epochs]
        number = Counter(path.rpartition("/")[0] for path in new)
        went = {parent for parent, gone in self._went.items() if gone.number >= number[parent]}
        return {path for path in new if path.rpartition("/")[0] in went}

    def summary(self, facts: Mapping[str, DirectoryFacts]) -> WindowSummary:
        """The window so far; directories without facts yet are counted in ``unread`` and left out."""
        passing = self._passing()
        rows = [
            _observed(s, facts[path], path in passing)
            for path, s in sorted(self._sums.items())
            if path in facts
        ]
        went = sum(gone.requests for gone in self._went.values())
        asked = went + sum(total.requests for total in self._sums.values())
        lost = went + sum(self._sums[path].requests for path in passing)
        unread = [s.requests / s.epochs for path, s in self._sums.items() if path not in facts]
        requests = sum(unread) + sum(row.requests for row in rows)
        return WindowSummary(
            fs=self.fs,
            epochs=self.epochs,
            loads={rank: total / self._rank_epochs for rank, total in self._loads.items()},
            series=self._history.series(),
            directories=tuple(rows),
            unread=len(unread),
            unread_load=sum(unread) / requests if requests else 0.0,
            missing=self._missing,
            seconds=self._lasted,
            wss=self._wss[0],
            gone=self._gone,
            churning=self._churning,
            unmapped=self._unmapped,
            passing=len(passing) + sum(gone.number for gone in self._went.values()),
            passing_load=lost / asked if asked else 0.0,
            rank_epochs=self._rank_epochs,
            known=self._known / max(1, self._rank_epochs),
            saturated={rank: number / self._judged for rank, number in self._saturated.items()},
            busy=self._busy / self._busy_epochs if self._busy_epochs >= max(2, OFTEN * self._judged) else 0.0,
            latency={rank: self._waited[rank] / load for rank, load in self._loads.items() if load > 0.0},
            unlisted=self._unlisted,
        )


def equal_parts(served: Sequence[float], ranks: Sequence[int]) -> tuple[int, ...]:
    """The rank of each of some PARTS equal parts of a directory's requests, ascending; () where it has none.

    :param served: of these, by each of ``ranks``
    """
    total = sum(served)
    if total <= 0.0:
        return ()
    parts = ((rank, round(PARTS * of / total)) for rank, of in sorted(zip(ranks, served)))
    return tuple(rank for rank, number in parts for _ in range(number))


def _wss(total: DirectorySum, facts: DirectoryFacts) -> float:
    """inodes. Who mounts what is above may hold most of them elsewhere: heat tells where it is at work, and
    not where it was when it got them. So no more than there are."""
    return min(total.wss, facts.rentries) if total.shared and not total.counted else total.wss


def _observed(total: DirectorySum, facts: DirectoryFacts, passing: bool) -> Observed:
    return Observed(
        directory=total.last.directory,
        wss=_wss(total, facts),
        requests=total.requests / total.epochs,
        rentries=facts.rentries,
        sessions=total.last.sessions,
        ranks=total.last.ranks,
        pin=facts.pin,
        ephemeral=total.last.ephemeral,
        shared=total.shared,
        counted=total.counted,
        parts=equal_parts(total.served, total.last.ranks),
        passing=passing,
        inside=total.inside.summary(),
        held_back=total.held_back / total.epochs,
    )
