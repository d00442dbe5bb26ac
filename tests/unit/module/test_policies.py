# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which policy was asked for."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mds_partitioner.errors import BadInput, Unavailable
from mds_partitioner.policy import policies

OWN = "return {[0] = 0}"


@pytest.mark.parametrize("name", policies.SHIPPED)
def test_a_shipped_policy_is_that_which_came_with_the_code(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert policies.choose(name, None) == (name, "")
    (tmp_path / f"{name}.lua").write_text(OWN)  # an upgrade; the manager was not restarted yet
    monkeypatch.setattr(policies, "HOME", tmp_path)
    assert "BAL_LOG" in policies.source_of(name)


def test_where_none_is_named_it_is_the_first_of_ours() -> None:
    assert policies.choose(None, None) == policies.choose("lunule", None) == ("lunule", "")


def test_an_operators_own_is_given_or_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.lua"
    file.write_text(OWN)
    assert (
        policies.choose(None, OWN)
        == policies.choose("custom", OWN)
        == policies.choose(str(file), None)
        == ("custom", OWN)
    )


@pytest.mark.parametrize(
    ("policy", "given", "why"),
    [
        ("heat", None, "'heat' is not a policy: use lunule or greedyspill"),
        ("own.lua", None, "'own.lua' is not a policy"),
        ("/nowhere/own.lua", None, "No such file"),
        (None, "  \n", "the policy given with '-i FILE' is empty"),
        ("custom", "-- a\0b\nreturn {}", "the policy given with '-i FILE' has a NUL byte"),
        ("custom", None, "the policy given with '-i FILE' is empty"),
        ("greedyspill", "return 1", "give it with '--policy custom', not 'greedyspill'"),
        ("lunule", "return 1", "give it with '--policy custom', not 'lunule'"),
        (None, "-" * (policies.LARGEST + 1), "at most 49152 are allowed"),
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(
    policy: str | None, given: str | None, why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        policies.choose(policy, given)


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "own.lua"
    file.write_text("-" * 10 * policies.LARGEST)
    with pytest.raises(BadInput, match="at most 49152"):
        policies.choose(str(file), None)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "own.lua"
    os.mkfifo(pipe)
    with pytest.raises(BadInput, match=r"own\.lua': it is no regular file"):
        policies.choose(str(pipe), None)


def test_a_file_on_a_mount_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = threading.Event()
    monkeypatch.setattr(policies, "FILE_TIME", 0.01)
    monkeypatch.setattr(policies, "_content", lambda path: answers.wait(60))
    with pytest.raises(Unavailable, match=r"reading the policy '/mnt/own\.lua': no answer within 0\.01 s"):
        policies.choose("/mnt/own.lua", None)
    answers.set()


def test_a_policy_that_is_not_installed_says_where_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "HOME", Path("/nowhere/mantle"))
    monkeypatch.setitem(policies._TEXTS, "lunule", policies._shipped("lunule"))
    why = r"/nowhere/mantle/lunule\.lua: No such file.*install the folder 'mantle' there and restart"
    with pytest.raises(Unavailable, match=why):
        policies.source_of("lunule")


def test_recorded_loads_have_every_metric_of_mantle() -> None:
    for case in policies.recorded_cases():
        for rank in case:
            assert set(rank) == {"auth.meta_load", "all.meta_load", "req_rate", "queue_len", "cpu_load_avg"}


@pytest.mark.parametrize("text", ["--" + "é" * 10_000, "--" + "\t" * 30_000, "-- " + "x" * 49_200])
def test_a_policy_that_the_mon_would_not_keep_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"bytes, as it is kept \(JSON, in ASCII\): at most 49152 are allowed"):
        policies.choose(policies.CUSTOM, text)
    assert policies.choose(policies.CUSTOM, text[:8_000]) == (policies.CUSTOM, text[:8_000])
