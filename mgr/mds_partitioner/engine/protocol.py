# SPDX-License-Identifier: LGPL-2.1-or-later
"""JSON lines: one request a line in, one answer a line out, until the input ends.

Request ``{"id": int, "call": name, "args": {...}}``; answer ``{"id", "ok": true, "result"}`` or
``{"id", "ok": false, "error": {"kind": "bad_input" | "internal" | "no_memory", "message"}}``. ``id`` is null
where the request's own could not be read.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import BinaryIO

from .bad_input import BadInputError
from .inputs import Json, shown

Calls = Mapping[str, Callable[[dict[str, Json]], dict[str, Json]]]
CHUNK = 1 << 20


def read_line(stream: BinaryIO) -> bytes | None:
    """The next line, or None at the end of input. Without memory for it: skip it whole, raise MemoryError."""
    chunks: list[bytes] = []
    chunk = b""
    try:
        while not chunk.endswith(b"\n"):
            chunk = stream.readline(CHUNK)
            if not chunk:
                break
            chunks.append(chunk)
        return b"".join(chunks) if chunks else None
    except MemoryError:
        chunks.clear()
        while chunk and not chunk.endswith(b"\n"):
            chunk = stream.readline(CHUNK)
        raise


def parse(line: bytes) -> dict[str, Json]:
    """The request as an object."""
    try:
        request: Json = json.loads(line)
    except (ValueError, RecursionError) as why:
        raise BadInputError(f"the request is not JSON: {why}") from None
    if not isinstance(request, dict):
        raise BadInputError(f"the request is {shown(request)}; allowed: an object with id, call and args")
    return request


def request_id(request: Mapping[str, Json]) -> int | None:
    number = request.get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def compute(request: Mapping[str, Json], calls: Calls) -> dict[str, Json]:
    """Check the request's envelope and make the call."""
    if request_id(request) is None:
        raise BadInputError(f"id is {shown(request.get('id'))}; allowed: a whole number")
    call, args = request.get("call"), request.get("args")
    if not isinstance(call, str) or call not in calls:
        raise BadInputError(f"call is {shown(call)}; allowed: {', '.join(sorted(calls))}")
    if not isinstance(args, dict):
        raise BadInputError(f"args is {shown(args)}; allowed: an object")
    return calls[call](args)


def failure(number: int | None, kind: str, message: str) -> bytes:
    return json.dumps({"id": number, "ok": False, "error": {"kind": kind, "message": message}}).encode()


def answer(line: bytes, calls: Calls) -> bytes:
    """The answer to one request line, without its newline. Never raises but MemoryError for the line
    itself."""
    number: int | None = None
    try:
        request = parse(line)
        number = request_id(request)
        result = compute(request, calls)
        reply = {"id": number, "ok": True, "result": result}
        return json.dumps(reply, allow_nan=False, separators=(",", ":")).encode()
    except BadInputError as why:
        return failure(number, "bad_input", str(why))
    except MemoryError:
        return failure(number, "no_memory", "the request needs more memory than the engine may use")
    except Exception as why:
        traceback.print_exc(file=sys.stderr)
        return failure(number, "internal", f"{type(why).__name__}: {why}")


def serve(source: BinaryIO, sink: BinaryIO, calls: Calls) -> None:
    """Answer requests until the input ends."""
    while True:
        try:
            line = read_line(source)
        except MemoryError:
            reply = failure(None, "no_memory", "the request does not fit the memory the engine may use")
        else:
            if line is None:
                return
            reply = answer(line, calls)
        sink.write(reply + b"\n")
        sink.flush()
