# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a balancer is given before a cell."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab import cluster
from lab.api import Lab

FS = cluster.FS_NAME


@dataclass(frozen=True)
class Setting:
    """A cluster whose metadata is all on rank 0, and what is known of the run to come."""

    lab: Lab
    ranks: int
    capacity: float  # C, req/s a rank, as measured while rank 0 was saturated
    demand: Mapping[str, float]  # operations in each directory during the run: for the oracle only
    shares: tuple[float, ...] = ()  # what each rank has of the mean one's CPU, for the oracle; none: the same
