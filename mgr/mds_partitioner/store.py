# SPDX-License-Identifier: LGPL-2.1-or-later
"""What outlives a manager."""

from typing import Protocol


class Store(Protocol):
    """Durable keys and values (``mon.KeyValue``)."""

    def put(self, key: str, value: str) -> None: ...
    def delete(self, key: str) -> None: ...
    def items(self, prefix: str) -> dict[str, str]: ...
