# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands that make a plan: the one to begin with, and one anew, with the options that it was made with."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.names import FANOUT
from ..model import FsState
from .circumstances import check_ranks
from .plan import CONFIG_STEP, Plan
from .ranks import format_ranks
from .shell import word


def options(
    heavy: str | None, ranks: Sequence[int] | None = None, *, to_auth: bool = False, force: bool = False
) -> str:
    """As they are typed, each with a space before it. ``heavy``, ``ranks``: None: left out"""
    given = {
        f" --heavy {heavy}": heavy is not None,
        f" --ranks {format_ranks(ranks or ())}": ranks is not None,
        " --to-auth": to_auth,
        " --force": force,
    }
    return "".join(option for option, is_given in given.items() if is_given)


def suggested(fs: str) -> str:
    """The command that makes the plan which brought most where it was measured (docs/evidence.md)."""
    return f"ceph mds_partitioner partition plan {word(fs)}{options(FANOUT, to_auth=True)}"


def plan_anew(
    plan: Plan, fs: FsState, heavy: str | None = None, *, to_auth: bool = False, force: bool = False
) -> str:
    """The command that makes another one as this was made, and as is asked for on top of that.

    :param fs: as it is today: ranks that a plan may not use any more are left out
    :param heavy: None: that of the plan; one of the scheduler's has none
    """
    sets = not plan.scheduled and any(step.kind == CONFIG_STEP for step in plan.steps)
    left = sorted(set(plan.ranks or ()) & set(check_ranks(fs, None)))
    as_before = options(
        heavy or plan.heavy_mode or None, left or None, to_auth=to_auth or sets, force=force or plan.force
    )
    return f"ceph mds_partitioner partition plan {word(fs.name)}{as_before}"
