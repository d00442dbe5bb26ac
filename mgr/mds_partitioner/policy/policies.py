# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mantle policies: those the module comes with, and an operator's own."""

from __future__ import annotations

import json
import os
import stat
from functools import partial
from pathlib import Path

from ..errors import BadInput, Unavailable
from ..workers import Workers
from .beats import metrics

HOME = Path(__file__).resolve().parents[3] / "mantle"  # beside the folder of the manager's modules
GREEDYSPILL = "greedyspill"
SHIPPED = ("lunule", GREEDYSPILL)
CUSTOM = "custom"
LARGEST = 48 * 1024  # bytes: the mon's key/value store, where the journal is, takes 64 KiB
FILE_TIME = 5.0  # s for reading one: its mount may hang

_FILES = Workers("policies' files", 2)

# Loads that a policy must have an answer for before it goes near an MDS: req/s by rank.
RECORDED_LOADS: tuple[tuple[float, ...], ...] = (
    (0.0,),
    (250.0,),
    (0.0, 0.0, 0.0, 0.0),
    (1000.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 1000.0),
    (250.0, 250.0, 250.0, 250.0),
    (13530.0, 14567.0, 15625.0, 11610.0, 2692.0),  # Lunule, section 2: wrongly taken for balanced
    tuple(float(50 * (rank % 17)) for rank in range(32)),
)
POPULARITY = 7.2  # for each req/s: the steady value of a counter that halves in 5 s


def _shipped(policy: str) -> str | OSError:
    try:
        return (HOME / f"{policy}.lua").read_text(encoding="utf-8")
    except OSError as e:
        return e


# Read with the code that they came with: an upgrade replaces the files while the manager runs on.
_TEXTS = {policy: _shipped(policy) for policy in SHIPPED}


def source_of(policy: str) -> str:
    """A shipped policy's text. :raises Unavailable: it was not installed when the manager was started"""
    text = _TEXTS[policy]
    if isinstance(text, OSError):
        raise Unavailable(
            f"cannot read {text.filename}: {text.strerror}; install the folder 'mantle' there and restart "
            "the manager"
        )
    return text


def choose(policy: str | None, given: str | None) -> tuple[str, str]:
    """Kind and text of the policy that was asked for; the text is empty for a shipped one.

    :param policy: None: none was named
    :param given: the content of ``-i FILE``; ``ceph`` sends an empty file as it sends none, and only the
        policy ``custom`` says that one was meant
    :raises BadInput: no such policy, an empty one, or one that is too large
    :raises Unavailable: its file cannot be read in time
    """
    if policy is None:
        policy = SHIPPED[0] if given is None else CUSTOM
    if given is not None and policy != CUSTOM:
        raise BadInput(f"'-i FILE' is a policy of your own: give it with '--policy {CUSTOM}', not '{policy}'")
    if given is not None or policy == CUSTOM:
        text, name = given or "", "given with '-i FILE'"
    elif policy in SHIPPED:
        return policy, ""
    elif policy.startswith("/") and policy.endswith(".lua"):
        text, name = _read(policy), f"'{policy}'"
    else:
        raise BadInput(
            f"'{policy}' is not a policy: use {' or '.join(SHIPPED)}, '{CUSTOM}' with '-i FILE' for your "
            "own, or the absolute path of a .lua file on the active manager's host"
        )
    if "\0" in text:
        raise BadInput(f"the policy {name} has a NUL byte: an MDS would read it up to there only")
    if not text.strip():
        raise BadInput(f"the policy {name} is empty: give Lua that returns an amount for each rank")
    if len(json.dumps(text)) > LARGEST:
        raise BadInput(
            f"the policy has {len(json.dumps(text))} bytes, as it is kept (JSON, in ASCII): "
            f"at most {LARGEST} are allowed"
        )
    return CUSTOM, text


def _read(path: str) -> str:
    try:
        return _FILES.run(f"reading the policy '{path}'", FILE_TIME, partial(_content, path))
    except (OSError, ValueError) as e:
        raise BadInput(f"cannot read the policy '{path}': {e}; or give it with '-i FILE'") from e


def _content(path: str) -> str:
    """:raises ValueError: no UTF-8, or no file: a pipe would be waited for"""
    with open(path, encoding="utf-8", opener=lambda of, flags: os.open(of, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        return file.read(LARGEST + 1)


def recorded_cases() -> list[list[dict[str, float]]]:
    """RECORDED_LOADS as Mantle would show them."""
    return [[_metrics(load) for load in loads] for loads in RECORDED_LOADS]


def idle_case(ranks: int) -> list[dict[str, float]]:
    """The same of so many ranks that have nothing to do."""
    return [_metrics(0.0)] * ranks


def _metrics(load: float) -> dict[str, float]:
    heat = load * POPULARITY
    return metrics(heat, heat, load, 0.0, min(100.0, load / 10))
