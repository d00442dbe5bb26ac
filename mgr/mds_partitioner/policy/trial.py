# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sandbox's answers as the balancer needs them: a policy is usable, or why not; what the ranks decide."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import BadInput, Unavailable
from . import policies
from .beats import Beat
from .sandbox.decide import Metrics, PolicyAnswer, decide
from .sandbox.refusals import PolicyError, SandboxError
from .sandbox.vet import vet


def refuse_unless_usable(contents: Iterable[str], beat: Beat | None, ranks: int | None = None) -> None:
    """Try texts of a policy on recorded loads, and on the last beat, before an MDS has to.

    :param ranks: that there are, where the texts have something of each; None: they have not

    :raises BadInput: an MDS could not use it
    :raises Unavailable: it could not be tried
    """
    cases: list[Metrics] = [*policies.recorded_cases()]
    if beat is not None:
        cases.append(beat.metrics)
    if ranks is not None:
        cases = [case for case in cases if len(case) == ranks] or [policies.idle_case(ranks)]
    try:
        for content in contents:
            vet(content, cases)
    except PolicyError as e:
        raise BadInput(f"the policy was not put in force: {e}") from e
    except SandboxError as e:
        raise Unavailable(f"the policy was not put in force: {e}") from e


def what_ranks_decide(content: str, beat: Beat) -> list[PolicyAnswer]:
    """Each rank's answer to a beat, as a stock MDS gives it. :raises Unavailable: it cannot be told"""
    try:
        return decide(content, [beat.metrics])[0]
    except (PolicyError, SandboxError) as e:
        raise Unavailable(f"what the ranks decided is not known: {e}") from e
