# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the schedulers remember is written for each file system by itself."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from scheduled import Cluster, Manager

from mds_partitioner.errors import JournalError
from mds_partitioner.judge.archive import Archive
from mds_partitioner.schedule.ledger import Ledger
from mds_partitioner.schedule.record import ACT, OFF

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


def test_of_a_record_that_is_too_large_the_older_half_goes_and_no_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    kept = manager.scheduling.get(manager.fs)
    most = len(kept.turns) // 2
    save = Archive.save

    def small(archive: Any, fscid: int, value: Any) -> bool:
        return len(value.turns) <= most and bool(save(archive, fscid, value))

    monkeypatch.setattr(Archive, "save", small)
    manager.scheduling.stop(manager.fs, rollback=False)
    after = Manager(cluster).scheduling.get(manager.fs)
    assert after.mode == OFF and len(after.turns) <= most
    monkeypatch.setattr(Archive, "save", lambda *_: False)
    with pytest.raises(JournalError, match="too large to be kept"):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == OFF
