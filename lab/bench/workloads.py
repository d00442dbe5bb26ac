# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the clients do: phases of load, one client a subvolume."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.clients.spec import ClientSpec, LoadSpec

SEED = 2021


@dataclass(frozen=True)
class Phase:
    """A load for a time; every phase has the same clients."""

    name: str
    mix: Mapping[str, float]
    workers: int
    cache: int | None = None  # dentries a client caches; None: a quarter of its working set
    zipf: float = 0.0  # exponent of the files' popularity


@dataclass(frozen=True)
class Workload:
    """Directories and files for each client, made before the clock starts, then phases."""

    name: str
    clients: int
    dirs: int
    files: int  # in each directory
    phases: Sequence[Phase]

    def names(self) -> list[str]:
        """The clients, and the subvolumes they mount."""
        return [f"c{number}" for number in range(self.clients)]

    def load(self, phase: Phase, paths: Mapping[str, str]) -> LoadSpec:
        """The clients' work in a phase, given the subvolumes' paths."""
        return LoadSpec(
            tuple(
                ClientSpec(
                    name=name,
                    path=paths[name],
                    mix=phase.mix,
                    workers=phase.workers,
                    dirs=self.dirs,
                    files=self.files,
                    cache=phase.cache,
                    zipf=phase.zipf,
                )
                for name in self.names()
            ),
            seed=SEED,
        )


WORKLOADS: Mapping[str, Workload] = {
    w.name: w
    for w in (
        Workload(
            "create-reread",
            clients=8,
            dirs=1,
            files=1000,
            phases=(
                Phase("create", {"create": 1.0}, workers=4),
                # Hardly a cache, as the paper mounts its clients: every access is asked of an MDS.
                Phase("reread", {"stat": 3.0, "open": 1.0}, workers=4, cache=10),
            ),
        ),
        # As CNN training reads its images: each file once, so what was hot never is again.
        Workload(
            "scan",
            clients=8,
            dirs=100,
            files=200,
            phases=(Phase("scan", {"scan": 1.0}, workers=4, cache=10),),
        ),
        Workload(
            "zipf",
            clients=8,
            dirs=1,
            files=10_000,
            phases=(Phase("zipf", {"stat": 3.0, "open": 1.0}, workers=4, cache=10, zipf=1.0),),
        ),
    )
}
