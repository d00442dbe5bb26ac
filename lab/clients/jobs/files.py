# SPDX-License-Identifier: LGPL-2.1-or-later
"""Operations that several jobs have in common."""

import os
from collections.abc import Callable
from typing import Any


def stat(fs: Any, path: str) -> None:
    """Ask for a file's attributes."""
    fs.stat(path)


def open_and_close(fs: Any, path: str) -> None:
    """Open a file for reading; no data is read."""
    fs.close(fs.open(path, os.O_RDONLY, 0o644))


def readdir(fs: Any, path: str) -> None:
    """List a directory."""
    handle = fs.opendir(path)
    try:
        while fs.readdir(handle) is not None:
            pass
    finally:
        fs.closedir(handle)


TOUCH: dict[str, Callable[[Any, str], None]] = {"stat": stat, "open": open_and_close}
