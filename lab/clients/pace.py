# SPDX-License-Identifier: LGPL-2.1-or-later
"""When a worker does its next operation: at its share of the client's rate, in the client's turn."""

import random
import threading
import time

from lab.clients.spec import ClientSpec


class Pace:
    """Of one of several workers."""

    def __init__(self, client: ClientSpec, began: float, rng: random.Random) -> None:
        """began: of the client's run, s on the steady clock."""
        self._client, self._began = client, began
        self._gap = 0.0 if client.rate is None else client.workers / client.rate
        self._next = time.monotonic() + rng.random() * self._gap

    def wait(self, stop: threading.Event) -> bool:
        """Wait until the next operation is due; False when it is time to stop."""
        stop.wait(self._client.pause(time.monotonic() - self._began))
        if self._gap:
            # Time lost to slow answers is not made up for by a burst.
            self._next = max(self._next + self._gap, time.monotonic())
            stop.wait(self._next - time.monotonic())
        return not stop.is_set()
