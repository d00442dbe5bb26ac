# SPDX-License-Identifier: LGPL-2.1-or-later
"""What programs that measure on a lab have in common: how they end, what a result says of its making."""

import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiments.common import provenance
from lab import state
from lab.errors import LabError
from lab.signals import EndedError, signals_raise


def exit_status(program: str, work: Callable[[], None], left: str = "the lab is gone") -> int:
    """Do the work; say in a sentence what went wrong, or that it was interrupted and what is left."""
    try:
        with signals_raise():
            work()
    except LabError as e:
        print(f"{program}: {e}", file=sys.stderr)
        return 1
    except EndedError as e:
        print(f"{program}: interrupted; {left}", file=sys.stderr)
        return 128 + e.signum
    return 0


def about(module: str, argv: Sequence[str], **more: Any) -> dict[str, Any]:
    """The command, when and where it ran, and what else ran: taken before the work begins."""
    return {
        "command": shlex.join(["python3", "-m", module, *argv]),
        "version": provenance.version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "load_average_at_start": [round(x, 2) for x in os.getloadavg()],
        "other_labs_at_start": sum(state.is_alive(name) for name in state.names()),
        **more,
    }


def save(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result, whole or not at all, as the one before may be all there is; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    part.replace(path)
