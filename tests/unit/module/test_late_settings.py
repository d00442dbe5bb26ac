# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a replaced manager had sent to the mon may come after its successor has undone it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import plan
from scheduled import Cluster, Manager

from mds_partitioner.act.late import EVERY, LATE
from mds_partitioner.act.run import ROLLED_BACK
from mds_partitioner.errors import InDoubt, PartitionerError
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.schedule.record import ACT, OFF

SOON = int(EVERY) + 1  # s


def sent_and_replaced(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Manager:
    """The scheduler's option was sent by a manager that was cut off; the next one has undone all."""
    first = Manager(cluster)
    first.scheduling.start(first.fs, ACT)

    def cut_off(option: str, value: str) -> None:
        raise InDoubt(f"no answer: {option} {value}")

    with monkeypatch.context() as cut:
        cut.setattr(cluster, "set_mds_option", cut_off)
        first.run(3)
    second = Manager(cluster)
    second.scheduling.stop(second.fs, rollback=True)
    second.run(60)
    assert second.scheduling.get(second.fs).mode == OFF
    assert not cluster.store.items(f"option/{TO_AUTH}/")
    return second


def test_an_option_that_comes_late_is_put_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = sent_and_replaced(cluster, monkeypatch)
    cluster.options[TO_AUTH] = "true"
    manager.run(SOON)
    assert cluster.options[TO_AUTH] == ""
    cluster.options[TO_AUTH] = "true"  # by an operator
    manager.run(SOON)
    assert cluster.options[TO_AUTH] == "true"


@pytest.mark.parametrize("again", [True, False])
def test_an_option_that_is_wanted_or_comes_after_a_while_is_left(
    monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    cluster = Cluster()
    manager = sent_and_replaced(cluster, monkeypatch)
    if again:
        manager.scheduling.start(manager.fs, ACT)
        manager.run(30)
    else:
        cluster.steady += LATE
        cluster.options[TO_AUTH] = "true"
    assert cluster.options[TO_AUTH] == "true"
    manager.run(SOON)
    assert cluster.options[TO_AUTH] == "true"


def test_what_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = sent_and_replaced(cluster, monkeypatch)
    cluster.options[TO_AUTH] = "true"

    def refused(option: str, value: str) -> None:
        raise PartitionerError("refused")

    with monkeypatch.context() as away:
        away.setattr(cluster, "set_mds_option", refused)
        manager.run(SOON)
    manager.run(SOON)
    assert cluster.options[TO_AUTH] == ""


def test_a_setting_of_the_file_system_that_comes_late_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    first = Manager(cluster)
    made = replace(plan(cluster, {100: 1}, mask="0x3", name="mine"), created=cluster.wall)
    first.partitioner.plans.save(made)
    first.partitioner.start(first.fs, "mine")
    mon = cluster.mon

    def cut_off(prefix: str, **arguments: Any) -> str:
        if prefix == "fs set" and arguments["var"] == "balance_automate":
            raise InDoubt("no answer")
        return mon(prefix, **arguments)

    with monkeypatch.context() as cut:
        cut.setattr(cluster, "mon", cut_off)
        first.run(10)
    second = Manager(cluster)
    second.partitioner.rollback(second.fs, "mine")
    second.run(30)
    (run,) = second.partitioner.plans.of(second.fs)
    assert run.head.state == ROLLED_BACK and not cluster.state.balance_automate
    cluster.state = replace(cluster.state, balance_automate=True)
    second.run(SOON)
    assert not cluster.state.balance_automate
