# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/monitoring.md names every metric that a scrape has, and no other."""

import re
from pathlib import Path

from monitor_snapshots import snapshot

from mds_partitioner.monitor.metrics import PREFIX, active_metric, families

PAGE = Path(__file__).resolve().parents[3] / "docs" / "monitoring.md"


def test_the_table_has_what_a_scrape_has() -> None:
    table = PAGE.read_text().partition("| metric | labels | what |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    found = [*families(snapshot()), active_metric(True)]
    scraped = {f.name + ("_total" if f.type == "counter" else "") for f in found}
    assert {f"{PREFIX}_{name}" for name in named} == scraped
