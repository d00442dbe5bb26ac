# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``balance status`` shows: the policy, and what each rank decided lately and why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from .. import clock
from ..judge.verdict import Verdict
from ..model import FsState
from ..plan.ranks import format_ranks, mask_of
from ..policy.beats import unreadable_in
from ..policy.decisions import Decision, Watch
from ..policy.hints import Hints, why_nobody
from ..policy.switch import ON, SET, TURNING_OFF, TURNING_ON, Switch, balances, effective, taken_over
from .imbalance import factor_told
from .text import count, cut, printable, table

OFF, UNREADABLE = "off", "unreadable"
# What is null while there is no policy of ours.
OF_A_POLICY = (
    *("policy", "object", "hints", "replaced", "to_auth", "judged_at", "imbalance_factor", "threshold"),
    "capacity",
)
DOING = {
    TURNING_ON: "it is being put in force",
    TURNING_OFF: "it is being taken out: settings are put back and objects removed as soon as that works",
}
LUNULE = "lunule"
MANY_PASSED_ON = 0.3  # of what ranks serve: of scans 0.46 to 0.70, and a third slower (docs/evidence.md)
HIDDEN = 0.5  # of what the fullest rank is above the mean: less of it is left with forwards
BALANCED = ": balanced"  # how mantle/lunule.lua ends its line when nothing has to move
DECISION_WIDTH = 120  # cells of a terminal: what a policy logs may be long


def value(fs: FsState, switch: Switch | None, watch: Watch, unreadable: str = "") -> dict[str, Any]:
    """As plain data; loads in req/s, targets in popularity, moved in inodes. What a rank that is silent
    serves is None.

    :param unreadable: why the record of its policy cannot be read, if there is such a one
    """
    base: dict[str, Any] = {
        "fs": fs.name,
        "state": switch.state if switch else UNREADABLE if unreadable else OFF,
        "balancer": fs.balancer,
        "balance_automate": fs.balance_automate,
    }
    if switch is None:
        return (
            base
            | dict.fromkeys(OF_A_POLICY)
            | {"in_force": False, "fallbacks": [], "problem": _unread(fs, unreadable), "ranks": []}
        )
    return base | {
        "policy": switch.policy,
        "object": switch.object,
        "in_force": effective(fs, switch),
        "hints": asdict(switch.hints),
        "replaced": {"balancer": switch.old_balancer, "balance_automate": switch.old_automate},
        "to_auth": switch.to_auth,
        "judged_at": watch.judged_at if watch.verdict else None,
        "imbalance_factor": watch.verdict.factor if watch.verdict else None,
        "threshold": switch.hints.threshold,
        "capacity": asdict(watch.verdict.capacity) if watch.verdict else None,
        "fallbacks": [str(who) for who in watch.fallbacks],
        "problem": watch.problem,
        "ranks": [_rank_value(fs, watch, rank) for rank in fs.ranks_in],
    }


def _unread(fs: FsState, why: str) -> str:
    """What an operator is to know of a record that cannot be read."""
    if not why:
        return ""
    now = (
        f"'{fs.balancer}' is in force as it is"
        if fs.balance_automate and balances(fs)
        else "no policy of ours is in force"
    )
    return f"the record of its policy cannot be read: {why}; {now}: 'balance off' takes it out and forgets it"


def _role(watch: Watch, rank: int) -> str:
    """By the decisions of the last beat, as the column beside it has them; no other moment's judgement."""
    orders = {decision.rank: decision.targets for decision in _last_decisions(watch)}
    if any(amount > 0 for amount in orders.get(rank, ())):
        return "exporter"
    return "importer" if any(targets[rank : rank + 1] > (0,) for targets in orders.values()) else "-"


def _last_decisions(watch: Watch) -> list[Decision]:
    """Of the newest beat that was decided on."""
    last = [decisions[-1] for decisions in watch.decisions.values() if decisions]
    newest = max((decision.time for decision in last), default=0.0)
    return [decision for decision in last if decision.time == newest]


def _rank_value(fs: FsState, watch: Watch, rank: int) -> dict[str, Any]:
    exported, imported = watch.moved(rank)
    told = {s.rank: round(s.requests, 2) for s in watch.history.latest if s.rated}
    return {
        "rank": rank,
        "requests": told.get(rank),
        "role": _role(watch, rank),
        "exported_inodes": exported,
        "imported_inodes": imported,
        "decisions": [asdict(decision) for decision in watch.decisions.get(rank, ())],
    }


def text(fs: FsState, switch: Switch | None, watch: Watch, unreadable: str = "") -> str:
    """For people: one row a rank. ``unreadable`` as in ``value``"""
    if switch is None and unreadable:
        return f"'{fs.name}': {printable(_unread(fs, unreadable))}"
    if switch is None:
        how = f"the balancer '{fs.balancer}'" if fs.balancer else "the built-in balancer"
        return f"'{fs.name}': no policy of mds_partitioner; " + (
            f"{how} is on" if fs.balance_automate else "balance_automate is off"
        )
    return "\n".join([*_head(fs, switch, watch), "", _table(fs, watch), *_tail(fs, switch, watch)])


def _head(fs: FsState, switch: Switch, watch: Watch) -> list[str]:
    lines = [f"'{fs.name}': {switch.state}, policy {switch.policy} ({switch.object})", _hints(switch.hints)]
    if switch.to_auth == SET:
        lines.append("requests go to the authority until 'balance off' (mds_forward_all_requests_to_auth)")
        lines += _passed_on(watch)
    if watch.verdict is not None:
        known = watch.verdict.capacity
        ago = f"{clock.lasting(time.time() - watch.judged_at)} ago"
        lines.append(f"measured {ago}: {factor_told(watch.verdict)}; capacity of a rank: {known}")
        if known.value is not None and switch.hints.capacity is None:
            lines.append(
                "the MDSs decide without that capacity yet: it is told them with the next push of hints"
            )
        elif known.value is not None and round(known.value, 1) != switch.hints.capacity:
            lines.append(f"the MDSs decide by C {switch.hints.capacity:g} req/s until the next push of hints")
        elif switch.policy == LUNULE:
            lines += _unseen(fs, switch, watch, watch.verdict)
        lines += _outside(fs, watch.verdict)
    return lines


def _passed_on(watch: Watch) -> list[str]:
    """What the option costs, as of scans of a directory whose children are on several ranks."""
    latest = watch.history.latest
    requests, forwards = (sum(of) for of in ([s.requests for s in latest], [s.forwards for s in latest]))
    if not requests or forwards < MANY_PASSED_ON * requests:
        return []
    return [
        f"ranks serve {count(requests)} req/s, and pass on {count(forwards)}: if that lasts, the option "
        "costs more than it brings; 'balance on' without --to-auth takes it back"
    ]


def _outside(fs: FsState, verdict: Verdict) -> list[str]:
    """Ranks of whose load the factor tells, and of which no policy takes anything."""
    mask = mask_of(fs)
    if mask is None or not verdict.triggered or verdict.triggered_within:
        return []
    loads = zip(verdict.ranks, verdict.loads)
    above = [rank for rank, load in loads if rank not in mask and load > verdict.mean]
    return [
        f"rank {rank} has more than the mean, and is outside bal_rank_mask: the policy takes nothing from it"
        for rank in above
    ]


def _unseen(fs: FsState, switch: Switch, watch: Watch, verdict: Verdict) -> list[str]:
    """Why lunule sees nothing to do where the module does: only its loads contain forwards."""
    latest = watch.history.latest
    forwards = sum(s.forwards for s in latest)
    last = _last_decisions(watch)
    balanced = bool(last) and all(decision.line.endswith(BALANCED) for decision in last)
    hidden = _gap([s.requests + s.forwards for s in latest]) < HIDDEN * _gap([s.requests for s in latest])
    if not (verdict.triggered_within and balanced and hidden) or switch.to_auth == SET:
        return []
    return [
        f"the MDSs count {forwards:.0f} req/s of forwards as load, which this factor leaves out, and so find "
        f"the ranks balanced: 'balance on {fs.name} --to-auth' avoids many forwards"
    ]


def _gap(loads: Sequence[float]) -> float:
    """By how much the fullest rank is above the mean, req/s."""
    return max(loads) - fmean(loads) if loads else 0.0


def _hints(hints: Hints) -> str:
    mask = "every rank" if hints.mask is None else format_ranks(hints.mask)
    parts = [f"hints: ranks {mask}", "C unknown" if hints.capacity is None else f"C {hints.capacity:g} req/s"]
    if hints.resting:
        parts.append(f"resting {format_ranks(hints.resting)}")
    parts += [f"rank {rank} grows by {g.by:g} req/s" for rank, g in sorted(hints.growth.items())]
    return ", ".join(parts)


def _table(fs: FsState, watch: Watch) -> str:
    rows = []
    for rank in fs.ranks_in:
        row = _rank_value(fs, watch, rank)
        last: Decision | None = next(iter(reversed(watch.decisions.get(rank, ()))), None)
        rows.append(
            (
                rank,
                "-" if row["requests"] is None else count(row["requests"]),
                row["role"],
                count(row["exported_inodes"]),
                count(row["imported_inodes"]),
                "-" if last is None else f"{clock.lasting(time.time() - last.time)} ago",
                "-" if last is None else cut(last.line, DECISION_WIDTH),
            )
        )
    columns = ("Rank", "reqs/s", "Role", "Exported", "Imported", "Decided", "Decision")
    return table(columns, rows, left=("Role", "Decision"))


def _tail(fs: FsState, switch: Switch, watch: Watch) -> list[str]:
    nobody = why_nobody(fs)
    lines = [] if nobody is None else [f"without effect: {nobody}"]
    if not switch.hints.interval:
        lines.append("without effect: mds_bal_interval is 0, so MDSs balance nothing: set it to 10")
    if why := unreadable_in(switch.hints.interval):
        lines.append(f"without effect: {why}: set it to 10")
    ended = switch.state == TURNING_ON and taken_over(fs, switch)  # it is not gone on with
    if switch.state != ON and not ended:
        lines.append(DOING[switch.state])
    elif nobody is None and not effective(fs, switch):
        lines.append(
            f"not in force: balancer is '{fs.balancer}' and balance_automate "
            f"{str(fs.balance_automate).lower()}, as an operator set them since"
        )
    lines += [f"FELL BACK to the built-in balancer: {printable(str(who))}" for who in watch.fallbacks]
    if watch.problem:
        lines.append(f"problem: {printable(watch.problem)}")
    return ["", *lines] if lines else []
