# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long lunule.lua takes to decide, in real Lua 5.3: `make bench-policy`.

An MDS answers nobody meanwhile. Loading is part of it, as Mantle loads the text in every beat.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lupa import lua53

POLICY = Path(__file__).resolve().parents[2] / "mantle" / "lunule.lua"
SIZES = (4, 16, 64, 256)
DECISIONS = 300
GOAL_MS = 2.0  # at 256 ranks
SEED = 2021


def decide(ranks: int, chosen: random.Random, text: str) -> float:
    """One decision of a random exporter on random loads, ms."""
    lua: Any = lua53.LuaRuntime(register_eval=False, register_builtins=False)
    lines: list[str] = []
    mds = lua.table()
    for rank in range(ranks):
        # A tenth of the ranks do nearly everything: above the threshold at every size, long rows.
        load = chosen.uniform(8_000, 10_000) if rank % 10 == 0 else chosen.uniform(0, 500)
        mds[rank] = lua.table_from({"req_rate": load, "auth.meta_load": 7 * load})
    lua.globals().mds, lua.globals().whoami = mds, chosen.randrange(0, ranks, 10)
    # With the hook there is more to do: the order is remembered.
    lua.globals().hook, lua.globals().epoch, lua.globals().history = 1, 1, lua.table()
    lua.globals().BAL_LOG = lambda level, line: lines.append(line)
    began = time.perf_counter()
    targets, _selection = lua.execute(text)
    passed = time.perf_counter() - began
    assert len(list(targets)) == ranks and "exporter" in lines[0]
    return 1000 * passed


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("docs/results/policy-time.json"))
    args = parser.parse_args(argv)
    chosen, text = random.Random(SEED), POLICY.read_text()
    times = {ranks: sorted(decide(ranks, chosen, text) for _ in range(DECISIONS)) for ranks in SIZES}
    value = {
        "command": "make bench-policy",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average_at_start": [round(x, 2) for x in os.getloadavg()],
        "decisions": DECISIONS,
        "goal_ms_at_256_ranks": GOAL_MS,
        "ms_by_ranks": {
            ranks: {"median": round(statistics.median(t), 3), "p95": round(t[int(0.95 * len(t))], 3)}
            for ranks, t in times.items()
        },
    }
    args.out.write_text(json.dumps(value, indent=1) + "\n")
    print(json.dumps(value, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
