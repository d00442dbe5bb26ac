# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a plan stands in the journal's keys (their names: journal.py), written and read back. No I/O."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from ..plan.plan import IN_SEAL, Plan
from ..store import marked, unmarked
from .run import ACTIVE, Head, Memory, Record, Run

PART = 48 * 1024  # characters of a value; ASCII, so bytes
BY_ITSELF = 60.0  # s after it was made, at most, in which the scheduler begins a plan


def parts_of(text: str) -> list[str]:
    """As many values as it takes: the mon takes 64 KiB a key."""
    return [text[at : at + PART] for at in range(0, len(text), PART)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_whole(parts: Mapping[str, str]) -> bool:
    """Was it created to the end, and is not being removed? :raises NewerFormat: who knows"""
    if "seal" in parts:
        with suppress(json.JSONDecodeError):
            unmarked(json.loads(parts["seal"]))
    if "seal" in parts and "head" not in parts and "body/0000" in parts:
        raise ValueError("its head is missing")  # that is written before the seal, and removed after it
    return {"seal", "head"} <= parts.keys()


def seal_of(plan: Plan, text: str) -> str:
    """Of a plan; text: of its body"""
    seal = marked({"name": plan.name, "parts": len(parts_of(text)), "digest": _digest(text)})
    return json.dumps(seal | {name: getattr(plan, name) for name in IN_SEAL})


def with_pool(seal: str, plan: Plan) -> str:
    """The same seal, with what the plan's metadata pool is known to be."""
    return json.dumps({**json.loads(seal), "metadata_pool": plan.metadata_pool})


def run_of(id_: str, parts: Mapping[str, str]) -> Run:
    """A plan and how far it got, by its keys without ID and incarnation.

    :raises NewerFormat: a later version wrote it
    :raises ValueError, LookupError, TypeError: what is there makes no sense
    """
    seal = unmarked(json.loads(parts["seal"]))
    text = "".join(parts[f"body/{i:04d}"] for i in range(seal["parts"]))
    if _digest(text) != seal["digest"]:
        raise ValueError("its parts are not those that were written")
    ranks = seal.get("ranks")
    plan = replace(
        Plan.from_json(text),
        analyzed=seal.get("analyzed"),
        ranks=None if ranks is None else tuple(ranks),
        metadata_pool=seal.get("metadata_pool"),
        in_place=tuple(seal.get("in_place", ())),
    )
    begun = "".join(part for key, part in sorted(parts.items()) if key.startswith("done/"))
    records = {int(i): Record(**record) for i, record in json.loads(begun or "{}").items()}
    records |= {
        int(key.removeprefix("step/")): Record(**json.loads(value))
        for key, value in parts.items()
        if key.startswith("step/")
    }
    if any(i >= len(plan.steps) for i in records):
        raise ValueError(f"it has {len(plan.steps)} steps and a record of step {max(records)}")
    head = Head(**json.loads(parts["head"]))
    if head.until is not None and not (isinstance(head.until, (int, float)) and math.isfinite(head.until)):
        raise ValueError(f"its pause ends at {head.until!r}: that is no time")
    begun_after = (head.started or 0.0) - plan.created
    if "analyzed" not in seal and plan.scheduled and head.state in ACTIVE and begun_after < BY_ITSELF:
        head = replace(head, started=plan.created)  # 0.9.0 wrote when it was begun: see ``by_hand``
    made = {i for key, value in parts.items() if key.startswith("made/") for i in json.loads(value)}
    return Run(id_, plan, head, records, Memory(made=made, told=frozenset(made), seal=parts["seal"]))


def name_of(id_: str, parts: Mapping[str, str]) -> str:
    """The name of a plan that cannot be read, or else its id."""
    try:
        return str(json.loads(parts["seal"])["name"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return id_
