# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is compared with what in experiments.churn, and what a result is added to."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.churn import __main__ as churn
from lab.errors import LabError

WAYS = ("builtin", "plan", "scheduler")


def block(number: int, ops: float, ways: tuple[str, ...] = WAYS) -> list[dict[str, Any]]:
    """One run of each way; the plan does twice what the built-in balancer does, the scheduler thrice."""
    return [
        {"block": number, "way": way, "ops": ops * times, "ops_last": ops * times}
        for times, way in enumerate(WAYS, 1)
        if way in ways
    ]


def arguments(out: Path, **more: Any) -> argparse.Namespace:
    of = {"release": "tentacle", "ranks": 4, "mds_cpu": 15, "seconds": 110.0}
    return argparse.Namespace(**{**of, "ways": WAYS, "blocks": 1, "more": False, "out": out, **more})


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ways that were run, in order."""
    done: list[str] = []

    def run(way: str, *_: object) -> dict[str, Any]:
        done.append(way)
        return {"way": way, "ops": 100.0, "ops_last": 100.0}

    monkeypatch.setattr(churn, "run", run)
    return done


def test_ratios_are_within_a_block() -> None:
    ended = block(2, 200.0, ("plan",))
    runs = [*block(1, 100.0), *ended, *block(3, 300.0), *block(4, 400.0, ("builtin", "scheduler"))]
    assert len(runs) == 9
    found = churn.summary(runs)
    assert found["ratios"] == found["ratios_last"] == {"plan": [2.0, 2.0], "scheduler": [3.0, 3.0, 3.0]}
    assert found["median_ops"] == {"builtin": 300.0, "plan": 400.0, "scheduler": 900.0}


def test_more_begins_with_the_next_block(tmp_path: Path, ran: list[str]) -> None:
    out = tmp_path / "churn.json"
    churn._measure(arguments(out, blocks=2), [])
    assert ran == ["builtin", "plan", "scheduler", "plan", "scheduler", "builtin"]
    result = json.loads(out.read_text())
    result["runs"].pop()
    out.write_text(json.dumps(result))
    ran.clear()
    churn._measure(arguments(out, more=True), [])
    assert ran == ["scheduler", "builtin", "plan"], "the order goes on turning"
    result = json.loads(out.read_text())
    assert [run["block"] for run in result["runs"]] == [1, 1, 1, 2, 2, 3, 3, 3]
    assert len(result["ratios"]["plan"]) == 2


def test_a_result_is_not_written_over(tmp_path: Path, ran: list[str]) -> None:
    out = tmp_path / "churn.json"
    churn._measure(arguments(out), [])
    before = out.read_bytes()
    with pytest.raises(LabError, match=r"churn.json is there already: .*--more.*another --out"):
        churn._measure(arguments(out), [])
    with pytest.raises(LabError, match=r"churn.json has mds_cpu 15, not 20: give another --out"):
        churn._measure(arguments(out, more=True, mds_cpu=20), [])
    assert out.read_bytes() == before and len(ran) == 3


def test_runs_that_do_not_tell_their_block_are_not_added_to(tmp_path: Path, ran: list[str]) -> None:
    out = tmp_path / "churn.json"
    out.write_text(Path("docs/results/churn.json").read_text())
    with pytest.raises(LabError, match=r"has runs that do not tell their block: give another --out"):
        churn._measure(arguments(out, more=True), [])
    assert not ran
