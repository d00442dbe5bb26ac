# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine's judgement of an analysis: directories, ranks, and how many MDSs to run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Optional

from ..model import Churning
from ..options import Settings
from .verdict import Engine, Verdict, column, rank_arguments, read_verdict
from .window import Observed, WindowSummary

MUCH = 0.1  # of all requests
ROUNDING = 1e-9  # of all requests: sums of the same in another order differ by less
CALM = (0.5, 1.5)  # times the mean of a load that may be called one
LATELY = 3  # epochs


@dataclass(frozen=True)
class DirectoryJudgement:
    """One directory, its workload in LINE's points and its class."""

    seen: Observed
    workload: float
    klass: str  # light, moderate, heavy


@dataclass(frozen=True)
class RankJudgement:
    """One rank over the window; loads in req/s, latency in s. The forecast is from the last epochs."""

    rank: int
    load: float
    forecast: float
    latency: float  # mean of all its requests; 0: it had none
    inodes: int
    caps: int
    sessions: int
    subtrees: int
    saturated: bool

    @property
    def waited(self) -> Optional[float]:
        """The latency; None without requests."""
        return self.latency if self.load > 0.0 else None


@dataclass(frozen=True)
class Caveats:
    """What an analysis could not see, for those who act on it."""

    epochs: int  # that were sampled
    unread: int  # directories whose rentries and pin were not read yet; they are not in the judgement
    unread_load: float  # part of all directories' requests that are theirs, 0 to 1
    missing: int  # times a rank's sessions could not be read
    by_heat: int  # directories whose requests and working set were partly shared out by heat
    gone: tuple[str, ...] = ()  # directories that were named, or judged, and are gone since
    capacity_known: bool = True  # else how much an uneven load hurts is not
    elsewhere: float = 0.0  # part of the ranks' requests that are of no such directory, 0 to 1
    lately: float = 1.0  # what ranks served in the last epochs, in times of their mean
    unmapped: tuple[int, ...] = ()  # ranks that never told their subtrees: these are shown on others
    unmapped_load: float = 0.0  # part of the ranks' requests that are theirs, 0 to 1
    seconds: float = 0.0  # from the first sample to the last
    passing: int = 0  # directories that came or went, and others like them with these
    passing_load: float = 0.0  # part of all directories' requests that were theirs, 0 to 1
    ranks_of: Optional[int] = None  # epochs that the ranks' loads are of, where others held them before
    unlisted: Mapping[str, int] = field(default_factory=dict)  # entries of what has too many, by path

    @property
    def much_elsewhere(self) -> bool:
        """Is that more than samples differ by?"""
        return self.elsewhere >= MUCH

    @property
    def of_the_ranks(self) -> list[str]:
        """What is to be known of the ranks' loads, a sentence each."""
        told = []
        if not CALM[0] <= self.lately <= CALM[1]:
            why = "it began before the load" if self.lately > 1.0 else "the load has ended meanwhile"
            told.append(
                f"in the last epochs the ranks served {self.lately:.2f} times their mean: {why}; "
                "analyze again while it is there"
            )
        if self.ranks_of is not None:
            told.append(
                f"the ranks' loads are of the last {self.ranks_of} of {self.epochs} epochs, as other daemons "
                "held them before, or another manager looked; those of the directories are of all"
            )
        return told

    @property
    def of_the_unmapped(self) -> list[str]:
        """That what some ranks serve is shown on others: a sentence, if it is so."""
        if not self.unmapped:
            return []
        return [
            f"rank {', '.join(map(str, self.unmapped))}, with {self.unmapped_load:.0%} of the requests, did "
            "not tell its subtrees: what it serves is shown on other ranks"
        ]

    @property
    def of_the_unlisted(self) -> list[str]:
        """That there may be directories which nobody has seen, a sentence for each place."""
        return [
            f"{path!r} has {entries:,} entries, too many to be listed: what is in it is left out, but for "
            "what was known before; 'analyze start' with --directories looks at what you name"
            for path, entries in self.unlisted.items()
        ]

    def span(self, epoch: float) -> float:
        """s from the first sample to the last; of an analysis of an older version, if no epoch failed."""
        return self.seconds or max(0, self.epochs - 1) * epoch


@dataclass(frozen=True)
class Judgement:
    """What an analysis found."""

    fs: str
    verdict: Verdict  # on each rank's mean load over the analysis
    ranks: tuple[RankJudgement, ...]
    directories: tuple[DirectoryJudgement, ...]
    recommended: Optional[int]  # None: the capacity of a rank is unknown
    recommended_reason: str
    cache_limit: int  # bytes a rank
    caveats: Caveats
    churning: tuple[Churning, ...] = ()


def _elsewhere(window: WindowSummary) -> float:
    """Part of the requests, 0 to 1: clients are at work beside the subvolumes, or above them."""
    served = sum(window.loads.values())
    beside = served - window.known
    return beside / served if window.directories and beside > ROUNDING * served else 0.0


def _part(window: WindowSummary, ranks: Collection[int]) -> float:
    """Of the requests, 0 to 1, those that these ranks served."""
    served = sum(window.loads.values())
    return sum(window.loads.get(rank, 0.0) for rank in ranks) / served if served else 0.0


def _lately(window: WindowSummary) -> float:
    """What ranks served in the last epochs, in times of their mean. Of a short one there is no other time."""
    mean = sum(window.loads.values())
    rows = [row[-LATELY:] for row in window.series.values()]
    if not mean or window.rank_epochs <= 2 * LATELY:
        return 1.0
    return sum(fmean(s.requests for s in row) for row in rows if row) / mean


def judge(
    window: WindowSummary, settings: Settings, cache_limit: int, learned: Optional[float], engine: Engine
) -> Judgement:
    """Ask the engine about a window: of all ranks, as a plan may use them all, whatever the mask is.

    :param cache_limit: ``mds_cache_memory_limit``, bytes
    :param learned: capacity learned earlier, req/s a rank
    """
    rows = window.directories
    arguments = rank_arguments(window.series, settings, learned)
    answer = engine(
        "analyze",
        arguments
        | {
            "mean_loads": [window.loads[rank] for rank in window.series],
            "busy_load": window.busy,
            "saturated_part": [window.saturated.get(rank, 0.0) for rank in window.series],
            "subvolumes": {
                "wss": [r.wss for r in rows],
                "reqs": [r.requests for r in rows],
                "rentries": [r.rentries for r in rows],
                "held_back": [r.held_back for r in rows],
            },
            "wss_at_once": window.wss,
            "cache_limit_bytes": cache_limit,
            "bytes_per_inode": settings.bytes_per_inode,
        },
    )
    verdict = read_verdict(answer, arguments)
    return Judgement(
        fs=window.fs,
        verdict=verdict,
        ranks=_rank_judgements(window, verdict),
        directories=tuple(
            DirectoryJudgement(row, float(w), str(c))
            for row, w, c in zip(rows, column(answer, "workload", rows), column(answer, "class", rows))
        ),
        recommended=answer["recommended"]["ranks"],
        recommended_reason=str(answer["recommended"]["reason"]),
        cache_limit=cache_limit,
        caveats=Caveats(
            epochs=window.epochs,
            unread=window.unread,
            unread_load=window.unread_load,
            missing=window.missing,
            by_heat=sum(row.shared for row in rows),
            gone=window.gone,
            capacity_known=verdict.capacity.value is not None,
            elsewhere=_elsewhere(window),
            lately=_lately(window),
            seconds=window.seconds,
            passing=window.passing,
            passing_load=window.passing_load,
            unmapped=window.unmapped,
            unmapped_load=_part(window, window.unmapped),
            unlisted=window.unlisted,
            ranks_of=window.rank_epochs if 0 < window.rank_epochs < window.epochs else None,
        ),
        churning=window.churning,
    )


def _rank_judgements(window: WindowSummary, verdict: Verdict) -> tuple[RankJudgement, ...]:
    return tuple(
        RankJudgement(
            rank=rank,
            load=load,
            forecast=forecast,
            latency=window.latency.get(rank, 0.0),
            inodes=row[-1].inodes,
            caps=row[-1].caps,
            sessions=row[-1].sessions,
            subtrees=row[-1].subtrees,
            saturated=rank in verdict.saturated,
        )
        for (rank, row), load, forecast in zip(window.series.items(), verdict.loads, verdict.forecast)
    )
