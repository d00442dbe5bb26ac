# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a plan does not know: said in the plan, and in the way of one that it would decide."""

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from .. import clock
from ..engine.inside import AT_ONCE
from ..engine.names import HEAVY
from ..errors import NotPermitted
from ..judge.analysis import FAILED, Analysis
from ..judge.judgement import Caveats, DirectoryJudgement
from ..judge.verdict import Verdict
from ..model import NO_PIN
from .families import Family
from .plan import PIN_STEP, Prediction, Row, Step
from .ranks import format_ranks
from .shell import word

FRESH = 3600.0  # s
MANY = 500  # pins
NAMED = 3  # directories
WORTH_TELLING = 0.01  # of all requests
ALMOST_ALL = 0.9  # of a rank's requests: no plan makes another one the fullest
UNEVEN = 1.15  # times the mean: requests come and go so much
MOST_OF_IT = 0.5  # of a heavy directory, in one of those in it: no two ranks can share that evenly
MUCH = 0.25  # of the fullest rank's requests: ranks with less have room, whoever has it


def caveats(
    seen: Caveats,
    rows: Sequence[DirectoryJudgement],
    families: Mapping[int, Family],
    scattered: Collection[int],
    *,
    balanced: bool,
) -> tuple[str, ...]:
    """One sentence each. ``balanced``: the MDSs' own balancer is on when the plan is done."""
    found = []
    left = "are not pinned, and the balancer may move them" if balanced else "stay there"
    if not any(row.seen.requests for row in rows):
        found.append(
            "nothing was asked of these directories during the analysis: this plan goes by what is in them"
        )
    if not seen.capacity_known:
        found.append(
            "the capacity of a rank is not known: the imbalance factors are what they are if a rank is full"
        )
    if seen.unread:
        found.append(f"{_unread(seen)}: they count where they are, and {left}")
    if seen.much_elsewhere:
        found.append(
            f"{seen.elsewhere:.0%} of the requests are beside or above these directories: they count where "
            f"they are, and {left}"
        )
    found += seen.of_the_unlisted + seen.of_the_ranks + seen.of_the_unmapped
    if seen.missing:
        found.append(f"{seen.missing} times a rank did not tell its sessions: its older ones were used")
    if seen.passing and seen.passing_load >= WORTH_TELLING:
        found.append(
            f"{seen.passing} directories with {seen.passing_load:.0%} of the requests came or went during "
            "the analysis: they are left out; the scheduler places new ones"
        )
    found += _of_gone(seen.gone)
    for i, family in families.items():
        name = rows[i].seen.directory.name
        if family.held:
            found.append(
                f"{name!r}: {1.0 - family.left[0]:.0%} of it is in directories that an operator pinned: that "
                "stays where it is"
            )
        found += _of_family(name, family, i in scattered)
        found += _of_children(name, family, i in scattered)
    return tuple(found)


def _of_gone(paths: Sequence[str]) -> list[str]:
    if len(paths) == 1:
        return [f"{paths[0]!r} is gone: it is no part of this plan"]
    if paths:
        return [f"{len(paths):,} directories are gone: {_some(paths)}: they are no part of this plan"]
    return []


def _some(names: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if names[NAMED:] else ""
    return ", ".join(map(repr, names[:NAMED])) + more


def _of_family(name: str, family: Family, scattered: bool) -> list[str]:
    parent = family.parent.path
    if scattered:
        return [f"directories in {parent!r} come and go: they are distributed when they are made"]
    if family.unlisted:
        return [f"{parent!r} has too many entries for what is in it to be pinned: it stays in one piece"]
    if family.own:
        return [
            f"{name!r}: {family.own:.0%} of its requests are for what is right in it, beside the directories "
            "in it that are pinned: that stays together"
        ]
    if family.passing and family.staying > 0.0:
        return [
            f"{name!r}: {family.passing} directories are new or come and go, and stay where their parent "
            f"is ({family.staying:.0%} of it); plan again when they have lasted"
        ]
    return []


def _of_children(name: str, family: Family, scattered: bool) -> list[str]:
    """What is not known of those that are pinned, or that they cannot do."""
    if scattered or family.unlisted or len(family.lasting) < 2:
        return []
    if family.inside is None:
        return [
            f"{name!r}: what the directories in it are asked for was not seen, and they count by what is in "
            "them: analyze for some minutes"
        ]
    hottest = max(family.weights, default=0.0) * (1.0 - family.staying)
    if hottest <= MOST_OF_IT:
        return []
    child = family.lasting[max(range(len(family.weights)), key=lambda k: family.weights[k])]
    return [
        f"{name!r}: {hottest:.0%} of it is in {child.path!r}, which stays in one piece: the scheduler takes "
        "it apart, and so does a plan when it is analyzed by itself ('analyze start' with --directories)"
    ]


def of_links(*, taken_apart: bool) -> tuple[str, ...]:
    """One sentence where parts of a directory are pinned. Nobody looks for links: MDSs count them by rank."""
    if not taken_apart:
        return ()
    return (
        "directories are taken apart: where clients hard-link between children of one, that can raise "
        "MDS_DAMAGE, and nothing is rolled back meanwhile: do not start it there",
    )


def many_pins(in_heavy: int, others: int, moves: int) -> tuple[str, ...]:
    """One sentence where so many are set; none where there are a few.

    :param in_heavy: in heavy directories; others: of all others
    :param moves: that may be under way at a time
    """
    found = []
    if in_heavy > MANY:
        found.append(
            f"{in_heavy:,} directories of heavy ones are pinned one by one, and each is a subtree of its own "
            "then: --heavy mask pins none of them"
        )
    if others > MANY:
        found.append(
            f"{others:,} directories are pinned, {moves} at a time (max_moves), and each is a subtree of its "
            "own then: MDSs look at all of these on every tick"
        )
    return tuple(found)


def of_unpinned(
    judged: Sequence[DirectoryJudgement], rows: Sequence[Row], steps: Sequence[Step], *, balanced: bool
) -> tuple[str, ...]:
    """One sentence on what an operator's balancer may move when the plan is done; none where it may not."""
    pinned = {step.row for step in steps if step.kind == PIN_STEP}
    free = (i for i, row in enumerate(judged) if row.seen.pin == NO_PIN and i not in pinned)
    left = sum(rows[i].new == rows[i].current for i in free)
    if not (balanced and steps and left):
        return ()
    return (
        f"the MDSs' balancer is on (balance_automate): it may move the {left} directories that stay where "
        "they are, and have no pin",
    )


def of_free(names: Sequence[str]) -> tuple[str, ...]:
    """One sentence on what is not heavy and has no pin when a balancer within a mask is on; none without."""
    if not names:
        return ()
    return (
        f"no pin is set on {_some(names)}: the balancer may move what no setting below it holds; pin it "
        "yourself, or use --heavy fanout, which needs no balancer",
    )


def of_saturated(verdict: Verdict, fs: str, *, moves: bool) -> tuple[str, ...]:
    """One sentence on ranks that served as much as they can; none without such. ``moves``: the plan does
    something"""
    ranks = verdict.saturated
    if not ranks:
        return ()
    if not moves and set(verdict.full_of_little) == set(ranks):
        return (unlike(ranks, fs),)
    which = f"ranks {format_ranks(ranks)} were" if len(ranks) > 1 else f"rank {ranks[0]} was"
    then = " when this plan is done" if moves else ""
    return (f"{which} saturated: what is there may ask for more than was seen; analyze again{then}",)


def of_elastic(rows: Sequence[DirectoryJudgement]) -> tuple[str, ...]:
    """One sentence on heavy directories whose clients full ranks hold back; none without such."""
    names = [row.seen.directory.name for row in rows if row.klass == HEAVY and row.seen.elastic]
    if not names:
        return ()
    return (
        f"a full rank held back clients of {_some(names)}: what these ask for counts as more than was seen, "
        f"up to {AT_ONCE:.0f} times",
    )


def of_silent(ranks: Collection[int]) -> tuple[str, ...]:
    """One sentence on ranks that did not answer while the plan was made; none where all did."""
    if not ranks:
        return ()
    return (
        f"rank {format_ranks(ranks)} did not answer while this was planned: what is pinned there does not "
        "come along with what it is in, and what is there of heavy directories may seem to be elsewhere; "
        "plan again when it answers",
    )


def unlike(ranks: Sequence[int], fs: str) -> str:
    """One sentence on ranks that are full of less than the mean, and what relieves them."""
    which = f"ranks {format_ranks(ranks)} are" if len(ranks) > 1 else f"rank {ranks[0]} is"
    return (
        f"{which} full with less than the mean of all: no plan can relieve what is slower than the others; "
        f"the scheduler can: 'ceph mds_partitioner scheduler start {fs} --mode act'"
    )


def of_age(seconds: float) -> tuple[str, ...]:
    """One sentence on an analysis that ended so long ago; none on a young one."""
    if seconds <= FRESH:
        return ()
    return (f"the analysis ended {clock.lasting(seconds)} ago: analyze again if the load is another now",)


def of_failed(newest: Analysis, ended: float) -> tuple[str, ...]:
    """One sentence where the newest analysis came to nothing. ``ended``: when the one before did, Unix, s"""
    if newest.state != FAILED:
        return ()
    why = newest.problem or "no epoch"
    return (f"the newest analysis failed ({why}): this plan is of the one that ended {clock.told(ended)}",)


def less_even(prediction: Prediction, threshold: float) -> tuple[str, ...]:
    """One sentence on a plan that makes the ranks less even than they are. ``threshold``: of the factor"""
    before, after = prediction.imbalance_before, prediction.imbalance_after
    if after <= max(before, threshold):
        return ()
    return (
        f"by requests the ranks are less even afterwards (imbalance factor {before:.3f} to {after:.3f}): "
        "working sets and entries count as well, and ranks that it may not use get nothing",
    )


def of_the_held(
    prediction: Prediction, held: Mapping[int, float], ranks: Sequence[int], fs: str, mode: str
) -> tuple[str, ...]:
    """One sentence where the fullest rank cannot be relieved, and each other one may so have as much; none
    where these are even, or have little.

    :param held: by rank, req/s that stay there whatever is planned
    :param ranks: that the plan may use; mode: of heavy directories
    """
    after = {rank: prediction.load_after[str(rank)] for rank in ranks}
    fullest = max(ranks, key=lambda rank: after[rank])
    others = sorted(set(ranks) - {fullest})
    if len(others) < 2 or held.get(fullest, 0.0) < ALMOST_ALL * after[fullest]:
        return ()
    highest, mean = max(after[rank] for rank in others), fmean(after[rank] for rank in others)
    if highest <= UNEVEN * mean or highest < MUCH * after[fullest]:
        return ()
    return (
        f"{after[fullest]:.0f} req/s stay on rank {fullest} whatever is planned, so the others need not be "
        f"even, and are not (up to {highest:.0f} req/s, {mean:.0f} on the mean): 'ceph mds_partitioner "
        f"partition plan {word(fs)} --ranks {format_ranks(others)} --heavy {mode}' plans for these alone",
    )


def refuse_blind(seen: Caveats, prediction: Prediction, beside: Mapping[int, float], fs: str) -> None:
    """Refuse a plan that what was not read could undo.

    :param beside: by rank, req/s in the prediction that are of none of the directories
    :raises NotPermitted: the directories that were not read, or those of ranks that did not tell theirs, have
        more requests than the fullest rank is relieved of
    """
    before, after = (
        [load - beside.get(int(rank), 0.0) for rank, load in loads.items()]
        for loads in (prediction.load_before, prediction.load_after)
    )
    gain = max(max(before) - max(after), 0.0) / max(sum(before), 1e-300)
    if seen.unread and seen.unread_load / max(1.0 - seen.unread_load, 1e-300) > gain:
        raise NotPermitted(
            f"{_unread(seen)}, more than this plan would take off the fullest rank ({gain:.0%} of those that "
            f"were read): analyze for longer ('ceph mds_partitioner analyze start {fs} SECONDS'), raise "
            "mgr/mds_partitioner/rentries_per_epoch, or use --force"
        )
    if seen.unmapped and seen.unmapped_load > gain:
        raise NotPermitted(
            f"{seen.of_the_unmapped[0]}, and that is more than this plan would take off the fullest rank "
            f"({gain:.0%}): plan again when it answers, or use --force"
        )


def _unread(seen: Caveats) -> str:
    return (
        f"{seen.unread} directories with {seen.unread_load:.0%} of the requests were not read in time by the "
        "analysis"
    )
