# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a window of snapshots amounts to. Sums are kept, not snapshots: 3,000 subvolumes stay small."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model import Directory, DirectoryFacts, RankSample, Snapshot, SubtreeSample


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


@dataclass(frozen=True)
class WindowSummary:
    """The whole window. ``series`` holds one row of samples a rank, oldest first, all of one length."""

    fs: str
    epochs: int
    series: Mapping[int, tuple[RankSample, ...]]
    directories: tuple[Observed, ...]
    unread: int  # directories whose rentries were not read yet
    missing: int  # times a rank's sessions could not be read


@dataclass
class _Sum:
    last: SubtreeSample
    wss: float = 0.0
    requests: float = 0.0
    epochs: int = 0
    shared: bool = False
    counted: bool = False

    def add_wss(self, seen: SubtreeSample) -> None:
        """Keep the highest; one that was counted replaces all estimates."""
        if seen.counted == self.counted:
            self.wss = max(self.wss, seen.wss)
        elif seen.counted:
            self.wss, self.counted = seen.wss, True


@dataclass
class Window:
    """Collects snapshots of one file system."""

    fs: str
    epochs: int = 0
    _series: dict[int, list[RankSample]] = field(default_factory=dict)
    _sums: dict[str, _Sum] = field(default_factory=dict)
    _missing: int = 0

    def add(self, snapshot: Snapshot) -> None:
        """Add one epoch. When the set of ranks changes, the ranks' series begin anew."""
        ranks = {r.rank: r for r in snapshot.ranks}
        if set(ranks) != set(self._series):
            self._series = {rank: [] for rank in ranks}
        for rank, sample in ranks.items():
            self._series[rank].append(sample)
        for seen in snapshot.directories:
            total = self._sums.get(seen.directory.path)
            if total is None or total.last.directory != seen.directory:
                total = self._sums[seen.directory.path] = _Sum(seen)
            total.last = seen
            total.add_wss(seen)
            total.requests += seen.requests
            total.epochs += 1
            total.shared = total.shared or seen.shared
        present = {s.directory.path for s in snapshot.directories}
        self._sums = {path: total for path, total in self._sums.items() if path in present}
        self._missing += len(snapshot.missing)
        self.epochs += 1

    def summary(self, facts: Mapping[str, DirectoryFacts]) -> WindowSummary:
        """The window so far; directories without facts yet are counted in ``unread`` and left out."""
        rows = [_observed(s, facts[path]) for path, s in sorted(self._sums.items()) if path in facts]
        return WindowSummary(
            fs=self.fs,
            epochs=self.epochs,
            series={rank: tuple(samples) for rank, samples in sorted(self._series.items())},
            directories=tuple(rows),
            unread=len(self._sums) - len(rows),
            missing=self._missing,
        )


def _observed(total: _Sum, facts: DirectoryFacts) -> Observed:
    return Observed(
        directory=total.last.directory,
        wss=total.wss,
        requests=total.requests / total.epochs,
        rentries=facts.rentries,
        sessions=total.last.sessions,
        ranks=total.last.ranks,
        pin=facts.pin,
        ephemeral=total.last.ephemeral,
        shared=total.shared,
        counted=total.counted,
    )
