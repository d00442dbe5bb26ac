# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mix: clients in four groups, each with one of the others' work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiments.common.workloads.base import SEED, Workload
from experiments.common.workloads.private import ZIPF
from experiments.common.workloads.scan import CNN, NLP
from experiments.common.workloads.web import WEB
from lab.clients.spec import ClientSpec, LoadSpec

_GROUP = 3  # clients


@dataclass(frozen=True)
class Mix(Workload):
    """Several workloads at once, each on data of its own."""

    parts: tuple[Workload, ...]

    @property
    def name(self) -> str:
        """Mix."""
        return "mix"

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(name for part in self.parts for name in part.subvolumes)

    def inputs(self) -> Mapping[str, str]:
        """Those of all parts."""
        return {path: text for part in self.parts for path, text in part.inputs().items()}

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """All parts' data."""
        loads = [part.data(paths) for part in self.parts]
        return LoadSpec(_clients([load for load in loads if load is not None]), seed=SEED)

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All parts' clients."""
        return LoadSpec(_clients([part.load(phase, paths, tag) for part in self.parts]), seed=SEED)

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """All parts'."""
        return {where: much for part in self.parts for where, much in part.demand(paths).items()}


def _clients(loads: list[LoadSpec]) -> tuple[ClientSpec, ...]:
    return tuple(client for load in loads for client in load.clients)


MIX = Mix(
    (
        replace(CNN, clients=_GROUP),
        replace(NLP, clients=_GROUP),
        replace(WEB, clients=_GROUP),
        replace(ZIPF, clients=_GROUP),
    )
)
