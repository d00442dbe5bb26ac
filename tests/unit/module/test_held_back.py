# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whom a full rank holds back, on an MDS that takes messages as Ceph's DispatchQueue does."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

import pytest

from mds_partitioner.model import Session
from mds_partitioner.observe.attribution import attribute
from mds_partitioner.observe.heat import Heat
from mds_partitioner.observe.held_back import held_back

A, B = "/volumes/_nogroup/a", "/volumes/_nogroup/b"
CAPACITY = 600.0  # req/s
SECONDS = 60.0
WAY = 0.001  # s, there and back


@dataclass(frozen=True)
class Client:
    """One session's. rate: req/s that it asks for at most; None: as many as are answered."""

    workers: int
    rate: float | None = None

    def next(self, due: float, answered: float) -> float:
        """When a worker asks again, that was to ask at ``due``."""
        gap = 0.0 if self.rate is None else self.workers / self.rate
        return max(due + gap, answered + WAY)


def served(clients: list[Client]) -> tuple[dict[tuple[int, int], float], float]:
    """req/s by rank and client, and the mean latency, s: one thread, and a message of each connection in
    turn (PrioritizedQueue::SubQueue)."""
    coming = [
        ((worker + i / len(clients)) / (client.rate or 1000.0), i)
        for i, client in enumerate(clients)
        for worker in range(client.workers)
    ]
    heapq.heapify(coming)
    queues: dict[int, deque[float]] = {i: deque() for i in range(len(clients))}
    now, last, waited, count = 0.0, -1, 0.0, [0] * len(clients)
    while now < SECONDS:
        if not any(queues.values()):
            now = max(now, coming[0][0])
        while coming and coming[0][0] <= now:
            due, i = heapq.heappop(coming)
            queues[i].append(due)
        waiting = [i for i, queue in queues.items() if queue]
        last = next((i for i in waiting if i > last), waiting[0])
        due, now = queues[last].popleft(), now + 1.0 / CAPACITY
        waited, count[last] = waited + now - due, count[last] + 1
        heapq.heappush(coming, (clients[last].next(due, now), last))
    return {(0, i): n / SECONDS for i, n in enumerate(count)}, waited / sum(count)


def held(clients: list[Client]) -> set[int]:
    rates, latency = served(clients)
    return {client for _, client in held_back(rates, {0: latency})}


def test_clients_that_ask_for_a_rate_are_served_it_and_the_others_are_held_back() -> None:
    """The demo's clients."""
    rates = [*[Client(2, 50.0)] * 6, *[Client(1, 7.0)] * 16]
    got, _ = served([*[Client(24)] * 2, *rates])
    assert [got[0, i] for i in range(2, 8)] == pytest.approx([50.0] * 6, rel=0.05)
    assert got[0, 0] == pytest.approx((CAPACITY - 300.0 - 112.0) / 2, rel=0.05)
    assert held([*[Client(24)] * 2, *rates]) == {0, 1}


def test_many_clients_of_one_request_at_a_time_are_held_back_alike() -> None:
    assert held([*[Client(1)] * 48, *[Client(2, 5.0)] * 10]) == set(range(48))


def test_one_client_that_takes_what_is_left_is_held_back() -> None:
    assert held([Client(64), Client(4, 100.0), Client(4, 100.0)]) == {0}


def test_clients_that_are_served_all_they_ask_for_are_not_held_back() -> None:
    assert held([Client(4, 60.0)] * 8) == set()


def test_only_ranks_that_are_full_hold_back() -> None:
    found = [Session(0, 1, A, 10, 90.0), Session(0, 2, B, 10, 10.0), Session(1, 1, A, 10, 50.0)]
    rates = {0: 200.0, 1: 50.0}
    shares = attribute(found, rates, {}, {A, B}, full={0: 0.05})
    assert {path: (share.requests, share.held_back) for path, share in shares.items()} == {
        A: (230.0, 180.0),
        B: (20.0, 0.0),
    }
    assert {share.held_back for share in attribute(found, rates, {}, {A, B}).values()} == {0.0}


def test_what_is_shared_out_by_heat_is_held_back_in_the_same_parts() -> None:
    heat = {0: Heat(4.0, {A: 3.0})}
    shares = attribute([Session(0, 1, "/", 10, 5.0)], {0: 80.0}, heat, {A}, full={0: 0.05})
    assert (shares[A].requests, shares[A].held_back) == (60.0, 60.0)


def test_managers_mounts_are_nobodys() -> None:
    found = [Session(0, 1, A, 10, 50.0, ours=True), Session(0, 2, A, 10, 50.0)]
    assert attribute(found, {0: 200.0}, {}, {A}, full={0: 0.05})[A].held_back == 100.0
