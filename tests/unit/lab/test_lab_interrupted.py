# SPDX-License-Identifier: LGPL-2.1-or-later
"""A start that is ended at a bad moment leaves nothing."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from lab import releases, requirements, rootfs, state, supervisor
from lab.cluster import Shape
from lab.lifecycle import Leash, Order
from lab.progress import Progress
from lab.signals import EndedError, held, signals_raise


def end() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_end_waits_while_it_is_held() -> None:
    with signals_raise():
        done = []
        with pytest.raises(EndedError), held(), held():
            end()
            done.append("made")
        assert done == ["made"]


def test_an_up_that_is_ended_as_it_takes_its_name_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = state.try_lock

    def taken(name: str) -> int | None:
        lock = take(name)
        end()
        return lock

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(requirements, "check", lambda *_: None)
    monkeypatch.setattr(state, "try_lock", taken)
    monkeypatch.setattr(rootfs, "acquire", lambda *_: pytest.fail("it goes on"))
    monkeypatch.setattr(supervisor, "start", lambda *_: pytest.fail("it goes on"))
    order = Order("it-unit-int", releases.get("tentacle"), Shape(1, 0, 1))
    with signals_raise(), pytest.raises(EndedError):
        Leash(order).start(Progress())
    assert list(state.base_dir().iterdir()) == []
