# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is read off a run."""

from collections.abc import Callable, Sequence

import numpy as np

from sim.papers.ilt.experiments import Outcomes
from sim.papers.ilt.parameters import Setting
from sim.papers.ilt.run import Outcome
from sim.papers.ilt.workload import Kind

Measure = Callable[[Outcome], float]


def median(outcomes: Outcomes, system: str, settings: Sequence[Setting], measure: Measure) -> float:
    """Of one system's runs."""
    return float(np.median([measure(outcomes[system, setting]) for setting in settings]))


def response(outcome: Outcome) -> float:
    """Mean, ms."""
    return float(outcome.responses.mean())


def read_response(outcome: Outcome) -> float:
    """Mean of the reads, ms."""
    return outcome.by_kind[Kind.READ]


def late_response(outcome: Outcome) -> float:
    """99th percentile, ms."""
    return float(np.percentile(outcome.responses, 99))


def waiting(outcome: Outcome) -> float:
    """Requests waiting at a server, mean over servers and time."""
    return float(outcome.waiting.mean())


def variance_of_servers(outcome: Outcome) -> float:
    """Of the requests waiting: between the servers' means."""
    return float(outcome.waiting.mean(axis=1).var())


def variance_of_moments(outcome: Outcome) -> float:
    """Of the requests waiting: over servers and windows."""
    return float(outcome.waiting.var())


def forwards(outcome: Outcome) -> float:
    return outcome.counts.forwards


def moved(outcome: Outcome) -> float:
    """Metadata sent from server to server."""
    return outcome.counts.metadata_moved


def entries_moved(outcome: Outcome) -> float:
    return outcome.counts.entries_moved
