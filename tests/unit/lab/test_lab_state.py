# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which labs are alive, and the command line's refusals."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import cli, lifecycle, state, supervisor
from lab.errors import LabError


@pytest.fixture(autouse=True)
def _labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield


def left_over(name: str) -> None:
    """A lab whose supervisor and reaper are gone."""
    state.lab_dir(name).mkdir()
    state.save(state.LabState(name=name, release="reef", supervisor_pid=os.getpid(), supervisor_start=1))


def test_a_lab_is_alive_while_its_lock_is_held() -> None:
    lock = state.try_lock("a")
    assert lock is not None
    assert state.is_alive("a") and state.try_lock("a") is None
    assert not state.is_alive("b")
    os.close(lock)
    assert not state.is_alive("a")


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "-a", "a" * 33, "a b"])
def test_bad_names(name: str) -> None:
    with pytest.raises(LabError, match="bad lab name"):
        state.check_name(name)


def test_state_survives_and_names_are_listed() -> None:
    left_over("a")
    lock = state.try_lock("a")
    assert lock is not None
    assert state.load("a").release == "reef"
    assert state.names() == ["a"]
    os.close(lock)
    with pytest.raises(LabError, match="no lab 'a' is running"):
        state.load("a")


def test_an_unreadable_state_is_said() -> None:
    left_over("a")
    (state.lab_dir("a") / "state.json").write_text("{")
    lock = state.try_lock("a")
    assert lock is not None
    with pytest.raises(LabError, match="cannot be read"):
        state.load("a")
    os.close(lock)


def test_another_users_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / f"mds-partitioner-{os.getuid()}").symlink_to(tmp_path / "real")
    with pytest.raises(LabError, match="belongs to someone else"):
        state.base_dir()


def test_down_removes_what_a_dead_lab_left_and_signals_nobody() -> None:
    left_over("a")
    assert lifecycle.end("a")
    assert state.names() == []
    assert not lifecycle.end("a")


def test_start_time_names_a_process_for_good() -> None:
    assert supervisor.start_time(os.getpid()) == supervisor.start_time(os.getpid())
    assert supervisor.start_time(2**22 + 1) is None


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["ceph", "-s"], "no lab 'default' is running"),
        (["--name", "x", "exec", "--", "true"], "no lab 'x' is running"),
        (["exec", "--"], "nothing to run"),
        (["kill", "mds.a"], "no lab 'default' is running"),
        (["quota", "much"], "bad quota 'much'"),
        (["up", "--conf", "nonsense"], "bad option 'nonsense'"),
        (["up", "--mds", "0"], "--mds 0 is out of range"),
        (["up", "--name", "UP"], "bad lab name 'UP'"),
        (["clients", "/nonexistent/load.json"], "cannot read the load"),
    ],
)
def test_errors_are_one_sentence_and_a_status(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 1
    error = capsys.readouterr().err
    assert error.startswith("lab: ") and says in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "argv", [[], ["fly"], ["up", "--release", "quincy"], ["up", "--mds", "four"], ["down", "x"]]
)
def test_wrong_usage_is_status_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main(argv)
    assert error.value.code == 2


@pytest.mark.parametrize("text", ["9", "KILL", "SIGKILL"])
def test_signals_by_name_or_number(text: str) -> None:
    assert cli.signal_number(text) == 9


@pytest.mark.parametrize("text", ["", "0", "NOPE", "99"])
def test_unknown_signals(text: str) -> None:
    with pytest.raises(LabError, match="no signal"):
        cli.signal_number(text)
