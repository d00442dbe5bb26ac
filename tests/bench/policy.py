# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long lunule.lua takes to decide, in real Lua 5.3: `make bench-policy`.

An MDS answers nobody meanwhile. Loading is part of it, as Mantle loads the text in every beat.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "mgr" / "mds_partitioner"))

from policy.sandbox.luatext import lua

POLICY = Path(__file__).resolve().parents[2] / "mantle" / "lunule.lua"
SIZES = (4, 16, 64, 256)
DECISIONS = 300
GOAL_MS = 2.0  # at 256 ranks
SEED = 2021
CAPACITY = 10_000  # req/s of a rank


# Mantle loads the text in every beat. With the hook there is more to do: the order is remembered.
TIMED = """
local text, lines, began = {text}, {{}}, os.clock()
local env = {{ BAL_LOG = function(_, line) lines[#lines + 1] = line end, mds = {mds}, whoami = {whoami} }}
env.hook, env.epoch, env.history, env.hints = 1, 1, {{}}, {{ capacity = {capacity} }}
local targets = load(text, "=policy", "t", setmetatable(env, {{ __index = _G }}))()
local passed = os.clock() - began
assert(#targets + 1 == {ranks} and lines[1]:find("exporter"), lines[1])
io.write(1000 * passed)
"""


def decide(ranks: int, chosen: random.Random, text: str) -> float:
    """One decision of a random exporter on random loads, ms."""
    # A tenth of the ranks do nearly everything: above the threshold at every size, long rows.
    loads = [chosen.uniform(8_000, 10_000) if r % 10 == 0 else chosen.uniform(0, 500) for r in range(ranks)]
    mds = lua({rank: {"req_rate": load, "auth.meta_load": 7 * load} for rank, load in enumerate(loads)})
    whoami = chosen.randrange(0, ranks, 10)
    timed = TIMED.format(text=lua(text), mds=mds, whoami=whoami, ranks=ranks, capacity=CAPACITY)
    told = subprocess.run(["lua5.3", "-"], input=timed, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return float(told.stdout)


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
