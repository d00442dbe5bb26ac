# SPDX-License-Identifier: LGPL-2.1-or-later
"""What analyses leave to the next manager."""

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from test_archive import found, shelf
from world import SETTINGS, World

from mds_partitioner.analyzer import BEGUN_ANEW, Analyzer
from mds_partitioner.errors import Busy, NotFound, Unavailable
from mds_partitioner.judge.analysis import FINISHED, RUNNING
from mds_partitioner.judge.archive import Archive
from mds_partitioner.judge.window import Checkpoint


class Ranks:
    """No rank is ever sampled: the analyses here do not get that far. One file system hangs."""

    def __init__(self, hangs: int = -1) -> None:
        self.hangs, self.over = hangs, threading.Event()
        self.asked = threading.Semaphore(0)

    def history(self, fs: Any, now: float) -> Any:
        """Ranks.history."""
        if fs.fscid == self.hangs:
            assert self.over.wait(60)
        self.asked.release()
        raise Unavailable("no sample")


@pytest.fixture
def manager(request: pytest.FixtureRequest) -> Callable[[World], Analyzer]:
    def begun(world: World) -> Analyzer:
        parts: Any = (world, None, Ranks(), lambda: SETTINGS, logging.getLogger("test"))
        analyzer = Analyzer(*parts)
        analyzer.begin()
        request.addfinalizer(analyzer.shutdown)
        return analyzer

    return begun


def test_what_was_found_is_there_after_a_fail_over(manager: Callable[[World], Analyzer]) -> None:
    world = World()
    shelf(world.store).save(world.state.fscid, found())
    analyzer = manager(world)
    assert analyzer.get(world.state).state == FINISHED
    assert len(analyzer.judgement(world.state).directories) == 3


def test_an_analysis_that_ran_begins_anew_and_says_so(manager: Callable[[World], Analyzer]) -> None:
    world = World()
    shelf(world.store).save(world.state.fscid, found())
    wanted = {"fs": "cephfs", "duration": 600, "directories": [], "begun": time.time()}
    world.store.put(f"analysis/{world.state.fscid}", json.dumps(wanted))
    analyzer = manager(world)
    analysis = analyzer.get(world.state)
    assert analysis.state == RUNNING and analysis.note.startswith(BEGUN_ANEW)
    with pytest.raises(Busy):
        analyzer.judgement(world.state)


def test_one_that_had_ended_is_not_begun_anew(manager: Callable[[World], Analyzer]) -> None:
    """Its manager died, or the mon did not answer, before it could say so."""
    world = World()
    shelf(world.store).save(world.state.fscid, found())
    wanted = {"fs": "cephfs", "duration": 600, "directories": [], "begun": found().ended - 600}
    world.store.put(f"analysis/{world.state.fscid}", json.dumps(wanted))
    analyzer = manager(world)
    assert analyzer.get(world.state).state == FINISHED
    assert world.store.items("analysis/") == {}


def test_a_long_analysis_goes_on_from_its_checkpoint(manager: Callable[[World], Analyzer]) -> None:
    world = World()
    wanted = {"fs": "cephfs", "duration": 3600, "directories": [], "begun": time.time()}
    world.store.put(f"analysis/{world.state.fscid}", json.dumps(wanted))
    kept = Archive(world.store, "checkpoint/", Checkpoint)
    kept.save(world.state.fscid, Checkpoint(1800.0, 180, 0, ()))
    analyzer = manager(world)
    analysis = analyzer.get(world.state)
    assert 0.5 <= analysis.progress(time.monotonic()) < 0.6
    assert analysis.epochs == 180 and "after epoch 180 is lost" in analysis.note
    analyzer.stop(world.state)
    assert world.store.items("checkpoint/") == world.store.items("analysis/") == {}


def test_of_a_file_system_that_is_gone_nothing_is_kept(manager: Callable[[World], Analyzer]) -> None:
    world = World()
    shelf(world.store).save(99, found())
    world.store.put(
        "analysis/99", json.dumps({"fs": "gone", "duration": 600, "directories": [], "begun": time.time()})
    )
    with pytest.raises(NotFound):
        manager(world).get(world.state)
    assert world.store.items("") == {}


def test_before_it_has_begun_nobody_is_told_that_nothing_was_analyzed() -> None:
    parts: Any = (World(), None, Ranks(), lambda: SETTINGS, logging.getLogger("test"))
    with pytest.raises(Unavailable, match="starting"):
        Analyzer(*parts).get(World().state)


def test_what_cannot_be_read_hides_nothing_else(manager: Callable[[World], Analyzer]) -> None:
    world = World()
    world.store.put(f"judgement/{world.state.fscid}/seal", "{}")
    with pytest.raises(NotFound):
        manager(world).get(world.state)


def test_a_file_system_that_hangs_holds_up_no_other_analysis() -> None:
    world, ranks = World(), Ranks(hangs=2)
    other = replace(world.state, name="other", fscid=2)
    world.fs_by_id = {1: world.state, 2: other}.get  # type: ignore[method-assign]
    parts: Any = (world, None, ranks, lambda: SETTINGS, logging.getLogger("test"))
    analyzer = Analyzer(*parts)
    analyzer.begin()
    try:
        analyzer.start(other, 600, [])
        analyzer.start(world.state, 600, [])
        assert ranks.asked.acquire(timeout=60)
    finally:
        ranks.over.set()
        analyzer.shutdown()
