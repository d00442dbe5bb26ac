# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the lab measured of both, as it is recorded; measured by code of commit 503de79."""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_RESULT = Path(__file__).parents[3] / "docs/results/bench/dgist.json"
WORKERS = 2 * 7  # seven creators of two each


@dataclass(frozen=True)
class Creates:
    """delay: highest, of the OSD's answers, s; journal: an idle MDS's write, s; rate: op/s."""

    delay: float
    journal: float
    rate: float


@dataclass(frozen=True)
class Measured:
    """creates: by delay, none first; stats: op/s in one directory by clients, nothing being changed."""

    release: str
    creates: tuple[Creates, ...]
    stats: dict[int, float]


def measured() -> Measured:
    """Medians over the runs."""
    found = json.loads(_RESULT.read_text())
    delays = sorted({row["delay_ms"] for row in found["create"]})
    shared = [row for row in found["stat"] if row["shared"] and not row["changes"]]
    return Measured(
        found["release"],
        tuple(_creates([row for row in found["create"] if row["delay_ms"] == delay]) for delay in delays),
        {
            clients: statistics.median(row["ops"] for row in shared if row["clients"] == clients)
            for clients in sorted({row["clients"] for row in shared})
        },
    )


def _creates(rows: list[dict[str, Any]]) -> Creates:
    journal, rate = (statistics.median(row[key] for row in rows) for key in ("idle_journal_ms", "ops"))
    return Creates(rows[0]["delay_ms"] / 1000, journal / 1000, rate)
