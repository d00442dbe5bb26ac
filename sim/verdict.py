# SPDX-License-Identifier: LGPL-2.1-or-later
"""What becomes of a scenario: its policy must hold, or fail as declared, and another one must fail."""

from collections.abc import Mapping
from dataclasses import dataclass

from sim.assertions import Finding, check, needs_oracle
from sim.course import Recording
from sim.parallel import Job
from sim.policies.oracle import Oracle
from sim.scenario import Scenario


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
    :ivar other: of the policy that must fail
    :ivar problem: why the scenario fails; "" when it passes
    """

    scenario: Scenario
    runs: tuple[Checked, ...]
    other: Checked
    oracle: Recording | None
    problem: str


def jobs(scenario: Scenario) -> list[Job]:
    """The runs that a scenario needs."""
    needed = [(scenario.policy, seed) for seed in scenario.seeds]
    needed.append((scenario.fails_with, scenario.seeds[0]))
    if needs_oracle(scenario.must):
        needed += [(Oracle.name, seed) for seed in scenario.seeds]
    return list(dict.fromkeys(needed))


def judge(scenario: Scenario, recordings: Mapping[Job, Recording]) -> Verdict:
    """From all runs of ``jobs``."""

    def checked(policy: str, seed: int) -> Checked:
        recording = recordings[policy, seed]
        return Checked(recording, check(scenario.must, recording, recordings.get((Oracle.name, seed))))

    runs = tuple(checked(scenario.policy, seed) for seed in scenario.seeds)
    other = checked(scenario.fails_with, scenario.seeds[0])
    oracle = recordings.get((Oracle.name, scenario.seeds[0]))
    return Verdict(scenario, runs, other, oracle, _problem(scenario, runs, other))


def _problem(scenario: Scenario, runs: tuple[Checked, ...], other: Checked) -> str:
    bad = [run.recording.seed for run in runs if run.broken]
    if not other.broken:
        return f"'{scenario.fails_with}' passes, and must fail: the scenario tells nothing"
    if scenario.known_failure and not bad:
        return f"'{scenario.policy}' passes, and was declared to fail: {scenario.known_failure}"
    if bad and not scenario.known_failure:
        return f"'{scenario.policy}' fails with seed {', '.join(map(str, bad))}"
    return ""
