# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the schedulers remember is written for each file system by itself."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from scheduled import Cluster, Manager

from mds_partitioner.schedule.ledger import Ledger
from mds_partitioner.schedule.record import ACT

OTHER = 2
AT_LAST = 10.0  # s


def test_no_record_waits_for_another_file_systems_write(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    host: Any = cluster
    ledger = Ledger(host, logging.getLogger("test"), cluster.now)
    ledger.begin()
    watch = ledger.find(manager.fs)
    gate, reached = threading.Event(), threading.Event()
    put = cluster.store.put

    def slow(key: str, value: str) -> None:
        if f"/{manager.fs.fscid}/" in key:
            reached.set()
            gate.wait(AT_LAST)
        put(key, value)

    monkeypatch.setattr(cluster.store, "put", slow)
    stuck = threading.Thread(target=ledger.save, args=(manager.fs.fscid, watch), daemon=True)
    stuck.start()
    assert reached.wait(AT_LAST)
    other = threading.Thread(target=ledger.save, args=(OTHER, watch), daemon=True)
    other.start()
    other.join(AT_LAST / 2)
    waited = other.is_alive()
    gate.set()
    for thread in (stuck, other):
        thread.join(AT_LAST)
    assert not waited
    assert any(f"/{OTHER}/" in key for key in cluster.store.data)
