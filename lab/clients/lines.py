# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client's standard output: JSON lines."""

import contextlib
import json
import os
from typing import Any


def say(line: dict[str, Any]) -> None:
    """Print a line."""
    # One write a line: all clients of a set share the pipe, and short writes do not mix.
    # When nobody reads any more, there is still an unmount to come to.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(line, separators=(",", ":")).encode() + b"\n")
