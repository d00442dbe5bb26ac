# SPDX-License-Identifier: LGPL-2.1-or-later
"""What becomes of a scenario: its policy must hold, or fail as declared, and others must fail.

Nobody may be declared to order something unsafe.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sim.assertions import SAFETY, Finding, check, needs_oracle
from sim.course import Recording
from sim.parallel import Job
from sim.policies.oracle import Oracle
from sim.scenario import Assertions, Scenario


@dataclass(frozen=True)
class Checked:
    """One run and what was found in it."""

    recording: Recording
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """What does not hold."""
        return tuple(finding for finding in self.findings if not finding.holds)


@dataclass(frozen=True)
class Verdict:
    """A scenario's.

    :ivar runs: of its policy, one a seed
    :ivar kept: of the same, what it keeps although it fails
    :ivar others: of the policies that must fail
    :ivar problem: why the scenario fails; "" when it passes
    """

    scenario: Scenario
    runs: tuple[Checked, ...]
    kept: tuple[Checked, ...]
    others: tuple[Checked, ...]
    oracle: Recording | None
    problem: str

    @property
    def unbroken(self) -> tuple[Finding, ...]:
        """What none of the policies that must fail breaks, and so was not seen to be able to fail. Safety
        only where there is a rank that nothing may go to."""
        each = zip(*(other.findings for other in self.others), strict=True)
        held = (found[0] for found in each if all(finding.holds for finding in found))
        return tuple(finding for finding in held if finding.kind != SAFETY or self.scenario.forbids)


def jobs(scenario: Scenario) -> list[Job]:
    """The runs that a scenario needs."""
    needed = [(scenario.policy, seed) for seed in scenario.seeds]
    needed += [(rival, scenario.seeds[0]) for rival in scenario.fails_with]
    if needs_oracle(scenario.must) or needs_oracle(scenario.declared):
        needed += [(Oracle.name, seed) for seed in scenario.seeds]
    return list(dict.fromkeys(needed))


def judge(scenario: Scenario, recordings: Mapping[Job, Recording]) -> Verdict:
    """From all runs of ``jobs``."""

    def checked(policy: str, seed: int, must: Assertions) -> Checked:
        recording = recordings[policy, seed]
        return Checked(recording, check(must, recording, recordings.get((Oracle.name, seed))))

    runs = tuple(checked(scenario.policy, seed, scenario.must) for seed in scenario.seeds)
    kept = tuple(checked(scenario.policy, seed, scenario.declared) for seed in scenario.seeds)
    others = tuple(checked(rival, scenario.seeds[0], scenario.must) for rival in scenario.fails_with)
    oracle = recordings.get((Oracle.name, scenario.seeds[0]))
    return Verdict(scenario, runs, kept, others, oracle, _problem(scenario, runs, kept, others))


def _problem(
    scenario: Scenario, runs: tuple[Checked, ...], kept: tuple[Checked, ...], others: tuple[Checked, ...]
) -> str:
    """Why it fails; nothing: it passes."""
    known = () if scenario.known_failure is None else scenario.known_failure.kinds
    policy, broken = scenario.policy, {finding.kind for run in runs for finding in run.broken}
    if SAFETY in broken:
        return f"'{policy}' is unsafe with seed {_seeds(runs, {SAFETY})}"
    if bad := broken - set(known):
        what = f" otherwise than declared ({', '.join(sorted(bad))})" if known else ""
        return f"'{policy}' fails{what} with seed {_seeds(runs, bad)}"
    if worse := [(run.recording.seed, found) for run in kept for found in run.broken]:
        seed, found = worse[0]
        return (
            f"'{policy}' fails by more than declared with seed {seed}: {found.asserted}; seen: {found.seen}"
        )
    if good := [other.recording.policy for other in others if not other.broken]:
        return f"'{good[0]}' passes, and must fail: the scenario tells nothing"
    if scenario.known_failure is not None and (held := set(known) - broken):
        why = scenario.known_failure.why
        return f"'{policy}' passes {', '.join(sorted(held))}, and was declared to fail: {why}"
    return ""


def _seeds(runs: tuple[Checked, ...], kinds: Collection[str]) -> str:
    """Of the runs that break any of these."""
    bad = (run for run in runs if any(finding.kind in kinds for finding in run.broken))
    return ", ".join(str(run.recording.seed) for run in bad)
