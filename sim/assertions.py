# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a scenario asserts, looked up in a recording."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sim.course import Recording
from sim.measures import answered, crowded, epochs, factors, fullest, returns, thrashing, within
from sim.model.arrays import Floats
from sim.scenario import Assertions, Balance, Cost, Steady, Throughput

SAFETY = "safety"


@dataclass(frozen=True)
class Finding:
    """One assertion.

    :ivar kind: SAFETY, or as scenario.Kind
    :ivar asserted: in words
    :ivar seen: in words
    :ivar at: when it was first broken, s; None: it holds, or is about the whole run
    """

    kind: str
    holds: bool
    asserted: str
    seen: str
    at: float | None = None


def check(must: Assertions, recording: Recording, oracle: Recording | None) -> tuple[Finding, ...]:
    """All findings. ``oracle``: its recording of the same scenario and seed, where ``needs_oracle``."""
    found = [_safety(recording)]
    for balance in must.balance:
        found += _balance(balance, recording)
    for steady in must.steady:
        found += _steady(steady, recording)
    if must.cost is not None and oracle is not None:
        found.append(_cost(must.cost, recording, oracle))
    if must.throughput is not None and oracle is not None:
        found.append(_throughput(must.throughput, recording, oracle))
    return tuple(found)


def needs_oracle(must: Assertions) -> bool:
    """Is anything compared with the oracle?"""
    return must.cost is not None or must.throughput is not None


def _safety(recording: Recording) -> Finding:
    bad = recording.unsafe
    seen = f"{len(bad)} orders, first {bad[0].what}" if bad else "none"
    asserted = "nothing is ordered to a rank that is down, masked out or not there"
    return Finding(SAFETY, not bad, asserted, seen, bad[0].time if bad else None)


def _span(since: float, until: float) -> str:
    return f"from {since:g} s on" if np.isinf(until) else f"from {since:g} to {until:g} s"


def _balance(balance: Balance, recording: Recording) -> Iterator[Finding]:
    span = _span(balance.since, balance.until)
    if balance.part < 1.0:
        span += f", in {balance.part:.0%} of the epochs"
    if balance.imbalance is not None:
        name = f"IF at most {balance.imbalance:g} {span}"
        yield _at_most(name, factors(recording), balance.imbalance, balance, recording)
    if balance.fullest is not None:
        name = f"fullest rank at most {balance.fullest:g} of the mean {span}"
        yield _at_most(name, fullest(recording), balance.fullest, balance, recording)
    if balance.crowded is not None:
        name = f"the most requests inside a rank at most {balance.crowded:g} of the mean {span}"
        yield _at_most(name, crowded(recording), balance.crowded, balance, recording)


def _at_most(asserted: str, values: Floats, limit: float, balance: Balance, recording: Recording) -> Finding:
    times, _, _ = epochs(recording)
    own = within(times, balance.since, balance.until)
    values, times = values[own], times[own]
    if not values.size:
        return Finding("balance", False, asserted, "the run was over before")
    bad = values > limit
    seen = f"mean {values.mean():.3f}, at most {values.max():.3f}, over in {bad.mean():.0%} of the epochs"
    holds = float(bad.mean()) <= 1.0 - balance.part + 1e-9
    return Finding("balance", holds, asserted, seen, None if holds else float(times[bad][0]))


def _steady(steady: Steady, recording: Recording) -> Iterator[Finding]:
    span = _span(steady.since, steady.until)
    moves = [m for m in recording.moves if not m.forced and steady.since <= m.time < steady.until]
    if steady.moves is not None:
        holds = len(moves) <= steady.moves
        at = None if holds else moves[steady.moves].time
        yield Finding("steady", holds, f"at most {steady.moves} moves {span}", f"{len(moves)}", at)
    if steady.returns is not None:
        back = [m for m in returns(recording.moves, steady.soon) if steady.since <= m.time < steady.until]
        holds = len(back) <= steady.returns
        asserted = f"at most {steady.returns} directories go back within {steady.soon:g} s, {span}"
        yield Finding("steady", holds, asserted, f"{len(back)}", None if holds else back[steady.returns].time)
    if steady.thrash is not None:
        seen = thrashing(recording, steady.since, steady.until)
        asserted = f"thrashing at most {steady.thrash:g} of the mean load {span}"
        yield Finding("steady", seen <= steady.thrash, asserted, f"{seen:.3f}")


def _cost(cost: Cost, recording: Recording, oracle: Recording) -> Finding:
    most = cost.times * oracle.moved + cost.beyond
    asserted = f"at most {most:,.0f} inodes move ({cost.times:g} times the oracle's and {cost.beyond:,.0f})"
    return Finding("cost", recording.moved <= most, asserted, f"{recording.moved:,.0f}")


def _throughput(throughput: Throughput, recording: Recording, oracle: Recording) -> Finding:
    best = answered(oracle, throughput.since)
    part = answered(recording, throughput.since) / best if best else 1.0
    asserted = f"at least {throughput.part:g} of the oracle's requests from {throughput.since:g} s on"
    return Finding("throughput", part >= throughput.part, asserted, f"{part:.3f}")
