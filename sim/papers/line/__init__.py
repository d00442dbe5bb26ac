# SPDX-License-Identifier: LGPL-2.1-or-later
"""Oh (Ceph Days Korea 2023): static partitioning by workload, and the balancer within bal_rank_mask."""

from pathlib import Path
from typing import Final

NAME: Final = "line"


def report(out: Path) -> str:
    """Runs everything; the picture goes to `out`. The report, as Markdown."""
    from sim.papers.line import reporting

    return reporting.report(out)
