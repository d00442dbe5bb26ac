# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pins of subvolumes, as LINE has them: analyzed under load, then `partition` before the run."""

from collections.abc import Callable
from typing import Any

from experiments.common.balancers.setting import FS, Setting
from experiments.common.balancers.subtrees import PIN, Pin
from lab import module
from lab.api import Lab
from lab.errors import LabError
from lab.waiting import until

OPTIONS = {"epoch": "5", "max_moves": "16", "rest_period": "0"}
"""Of the module, so that an analysis takes seconds and the same subvolume may move in the next cell."""
_POLL_S = 1.0
_DONE_S = 150.0


def analyze(lab: Lab, seconds: int) -> None:
    """Begin an analysis of the load there is; it ends by itself."""
    module.text(lab, "analyze start", fs=FS, duration=seconds)


def analyzed(lab: Lab, patience: float = 60.0) -> None:
    """Wait for the analysis."""

    def done() -> bool:
        answer = module.ask(lab, "analyze status", fs=FS)
        if answer["result"] is None and answer["state"] != "running":
            raise LabError(f"the analysis {answer['state']}: {answer.get('problem', '')}")
        return answer["result"] is not None

    until(done, patience, "the analysis has a result", every=_POLL_S)


def partition(*, heavy: str, to_auth: bool) -> Callable[[Setting], list[Pin]]:
    """`partition` with these options: plans and executes; returns the pins made."""
    return lambda setting: _execute(setting.lab, heavy, to_auth)


def _execute(lab: Lab, heavy: str, to_auth: bool) -> list[Pin]:
    plan = module.ask(lab, "partition plan", fs=FS, heavy=heavy, to_auth=to_auth)
    pins = [Pin(step["target"], PIN, step["value"]) for step in plan["steps"] if step["kind"] == "pin"]
    if not plan["steps"]:
        return []
    module.text(lab, "partition start", fs=FS, plan=plan["name"])

    def ended() -> dict[str, Any] | None:
        answer = module.ask(lab, "partition status", fs=FS)
        return None if answer["state"] in ("running", "paused") else answer

    answer = until(ended, _DONE_S, "the plan has ended", every=_POLL_S)
    if answer["state"] != "done":
        raise LabError(f"the plan is {answer['state']}: {answer.get('why', '')}")
    return pins


def forget(lab: Lab) -> None:
    """Remove the plans; their pins become ours."""
    for row in module.ask(lab, "partition ls", fs=FS)["rows"]:
        module.text(lab, "partition rm", fs=FS, plan=row["name"])
