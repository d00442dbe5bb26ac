# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which files a result was made by: kept with it, compared with today's when it is shown."""

import functools
import hashlib
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.sandbox import checkout

_MODULE = "mgr/mds_partitioner"
_DECIDES = (
    *(f"{_MODULE}/{folder}" for folder in ("engine", "judge", "observe", "plan", "act", "verify")),
    *(f"{_MODULE}/{file}.py" for file in ("options", "partitioner", "ranks")),
)
PARTS: Mapping[str, tuple[str, ...]] = {
    "workload": ("lab/clients", "experiments/common/workloads"),
    "balancers": ("experiments/common/balancers",),
    "demo": ("lab/clients", "demo/scene.py"),
    "policy": ("mantle", f"{_MODULE}/policy", f"{_MODULE}/ranks.py"),
    "planner": (*_DECIDES, f"{_MODULE}/analyzer.py"),
    "scheduler": (*_DECIDES, f"{_MODULE}/schedule", f"{_MODULE}/scheduling.py"),
    "hook": ("mds/patches",),
    "simulator": ("sim",),
}
"""Files and folders of the checkout, by the part of the project that they are."""
_HEX = 16
BEFORE = "before digests"
"""In place of a version, of a result that has none."""


def digest(part: str, root: Path | None = None) -> str:
    """Of all files of a part, names and contents; what an interpreter leaves beside them does not count."""
    top = root or checkout()
    found = hashlib.sha256()
    for path in sorted(_files(top, PARTS[part])):
        found.update(f"{path.relative_to(top)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()[:_HEX]


def _files(top: Path, places: Iterable[str]) -> list[Path]:
    under = [path for place in places for path in ((top / place), *(top / place).rglob("*"))]
    return [path for path in under if path.is_file() and "__pycache__" not in path.parts]


@functools.cache
def _today(part: str) -> str:
    return digest(part)


def made_by(parts: Iterable[str]) -> dict[str, Any]:
    """What a result keeps of the files that make it."""
    return {"version": version(), "digests": {part: digest(part) for part in parts}}


def version() -> str:
    """The commit that this program runs from; "-dirty" if files were changed since."""
    command = ["git", "-C", str(checkout()), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown version"


def measured_at(result: Mapping[str, Any]) -> str | None:
    """Where a result's files are not today's: the version that it is of. None: they are the same."""
    if "digests" not in result:
        return BEFORE
    same = all(PARTS.get(part) and _today(part) == kept for part, kept in result["digests"].items())
    return None if same else str(result["version"])


_FEW = 3  # versions that are named


def age(results: Iterable[Mapping[str, Any]]) -> str:
    """Of which versions results are, where not of today's files; else nothing. A sentence for a table."""
    every = list(results)
    old = sorted({version for result in every if (version := measured_at(result)) is not None})
    if not old:
        return ""
    shown = ", ".join(old) if len(old) <= _FEW else f"{len(old)} versions, each cell tells its own"
    return f"Measured at: {shown} ({_whose(every)}, by other code than today's)."


def _whose(results: Sequence[Mapping[str, Any]]) -> str:
    """How many are old: of each balancer's, as no code of ours changes most of the others."""
    every = Counter(result.get("balancer", "") for result in results)
    old = Counter(result.get("balancer", "") for result in results if measured_at(result) is not None)
    return ", ".join(f"{name} {number} of {every[name]}".lstrip() for name, number in old.most_common())
