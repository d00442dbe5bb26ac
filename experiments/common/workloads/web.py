# SPDX-License-Identifier: LGPL-2.1-or-later
"""Web: every client reads the files of an access log, in its order, from a shared document root."""

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads import accesslog
from experiments.common.workloads.base import CLIENTS, SEED, UNCACHED, WORKERS, Workload
from lab.clients import weblog
from lab.clients.spec import ClientSpec, LoadSpec

FILES = 6000
# Requests for static files, Breslau et al., INFOCOM '99: 0.64 to 0.83.
ALPHA = 0.8
SOURCE = "/tmp/access.log"


@functools.cache
def log(requests: int) -> str:
    """The log's text."""
    return "".join(accesslog.lines(FILES, requests, ALPHA, SEED))


@dataclass(frozen=True)
class Web(Workload):
    """One document root."""

    requests: int  # a client
    clients: int = CLIENTS

    @property
    def name(self) -> str:
        """Web."""
        return "web"

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One, which all clients mount."""
        return ("web",)

    def inputs(self) -> Mapping[str, str]:
        """The log."""
        return {SOURCE: log(self.requests)}

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """One client makes all files that the log names."""
        return LoadSpec((self._client(paths, 0),), seed=SEED)

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients read the log."""
        return LoadSpec(tuple(self._client(paths, k) for k in range(self.clients)), seed=SEED)

    def _client(self, paths: Mapping[str, str], number: int) -> ClientSpec:
        return ClientSpec(
            name=f"web{number}",
            path=paths["web"],
            job="weblog",
            source=SOURCE,
            workers=WORKERS,
            cache=UNCACHED,
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """Requests for files in each directory, and for the names of directories, which clients forget."""
        asked: Counter[str] = Counter()
        for request in weblog.requests(log(self.requests).splitlines()):
            place = request.path
            while place:
                place = place.rpartition("/")[0]
                asked[place] += 1
        return {paths["web"] + place: float(count * self.clients) for place, count in asked.items()}


WEB = Web(requests=12_000)
