# SPDX-License-Identifier: LGPL-2.1-or-later
"""The balancers that an operator can choose between: how each is switched on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lab import cluster
from lab.api import Lab
from lab.demo import module

FS = cluster.FS_NAME


@dataclass(frozen=True)
class Setting:
    """What a balancer is given: the clients' directories by client, and the ranks there are."""

    paths: Mapping[str, str]
    ranks: int
    capacity: float  # C, req/s a rank, as measured while rank 0 was saturated


SwitchOn = Callable[[Lab, Setting], None]


def _none(lab: Lab, setting: Setting) -> None:
    """All load stays on rank 0."""


def _builtin(lab: Lab, setting: Setting) -> None:
    lab.monitor.command("fs set", fs_name=FS, var="balance_automate", val="true")


def _policy(name: str, selection: str = "mindex") -> SwitchOn:
    def switch_on(lab: Lab, setting: Setting) -> None:
        module.set_option(lab, "selection", selection)
        # As an analysis would have told: every balancer is judged with the same C.
        module.set_option(lab, "rank_capacity", f"{setting.capacity:.0f}")
        module.text(lab, "balance on", fs=FS, policy=name)

    return switch_on


BALANCERS: Mapping[str, SwitchOn] = {
    "none": _none,
    "builtin": _builtin,
    "greedyspill": _policy("greedyspill"),
    "lunule": _policy("lunule"),
    # These two differ on MDSs with the hook only.
    "lunule-heat": _policy("lunule", "heat"),
    "lunule-mindex": _policy("lunule", "mindex"),
}
