# SPDX-License-Identifier: LGPL-2.1-or-later
"""A part of the replay, and bugs put into the code that it must find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from replay import __main__ as main
from replay.__main__ import NAMES, shrink
from replay.player import Outcome, Player, play
from replay.script import FAIL, LOST, TAKEOVER, History, draw

from mds_partitioner.act import changes, core, executor
from mds_partitioner.act.core import StepCore, Transition
from mds_partitioner.act.journal import Journal
from mds_partitioner.act.run import DONE, UNDONE, Head, Record, Run
from mds_partitioner.clock import Now

HISTORIES = 150
ENOUGH = 2000  # within so many a bug is found; without one, none has a violation


def test_no_history_loses_or_leaves_anything() -> None:
    bad = {seed: o.violations for seed in range(HISTORIES) if (o := play(draw(seed, NAMES))).violations}
    assert not bad


def test_the_same_seed_is_the_same_history() -> None:
    history = draw(7, NAMES)
    assert draw(7, NAMES) == history
    assert play(history) == play(history)


@pytest.mark.parametrize(("label", "event"), [("put head done", FAIL), ("put plan", "operator sets")])
def test_what_comes_right_by_itself_is_no_violation(label: str, event: str) -> None:
    """The mon refuses the last write of all, and takes it later; an operator sets an option just before it is
    set, and has it back afterwards."""
    quiet = History(28, "fanout, forwarding to the authority", 0, 4, (), ())
    at = dict(play(quiet).where)[label]
    assert play(quiet.and_then(at, event)).violations == ()


@pytest.mark.parametrize(
    "faults",
    [
        ((39, LOST), (40, TAKEOVER)),  # a creation fails; its removal comes when the next manager has read it
        ((39, TAKEOVER), (60, TAKEOVER)),  # a seal comes late, and the second manager is removing the plan
        ((39, TAKEOVER), (106, TAKEOVER)),  # likewise, and the plan was made anew by its name
        ((20000, LOST), (20001, TAKEOVER)),  # a seal is put back that the next manager has not read
    ],
)
def test_what_a_replaced_manager_removes_or_seals_late_takes_nothing(
    faults: tuple[tuple[int, str], ...],
) -> None:
    history = History(8456, "a mask of the directory, with the hook", 0, 2, faults, ())
    assert play(history).violations == ()


def test_what_a_replaced_manager_has_found_deleted_is_not_lost() -> None:
    """It is rolled back no further, as its file system is removed."""
    events = ((22, "operator pins"), (10006, "replace"), (10031, "fs removed"))
    scenario = "two file systems, forwarding to the authority"
    assert play(History(7526, scenario, 1, 2, ((10018, TAKEOVER),), events)).violations == ()


def test_of_what_an_operator_has_set_the_last_must_be_there_at_the_end() -> None:
    player, target = Player(History(28, "fanout, forwarding to the authority", 0, 4, (), ())), ("pin", 1, 200)
    for value in ("2", "1"):
        player.operator._change(target, value)
    player.cluster.set(target, "2")
    player._check_restored()
    assert player.cluster.violations == [f"{target} is 2 after the rollback, not ['1']"]


@pytest.mark.parametrize(
    ("never", "violations", "status"),
    [([], (), 0), ([("put seal", "answer lost")], (), 1), ([], ("a key is left",), 1)],
)
def test_it_fails_when_a_history_does_or_when_a_fault_never_met_an_io_of_a_kind(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    never: list[tuple[str, str]],
    violations: tuple[str, ...],
    status: int,
) -> None:
    outcome = Outcome(draw(0, NAMES), violations, 30, ())
    monkeypatch.setattr(main, "outcomes", lambda seeds, jobs: iter([outcome]))
    monkeypatch.setattr(main.Sums, "directed", lambda self: 0)
    monkeypatch.setattr(main.Sums, "never", lambda self: never)
    monkeypatch.setattr("sys.argv", ["replay", "--histories", "1"])
    assert main.main() == status
    told = capsys.readouterr().out
    assert ("put seal / answer lost" in told) is bool(never)
    assert f"1 histories, {len(violations)} violations" in told


def found() -> History:
    for seed in range(ENOUGH):
        history = draw(seed, NAMES)
        if play(history).violations:
            return history
    raise AssertionError(f"{ENOUGH} histories, and none found it")


def no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is set before its record is durable."""
    do = executor.Executor._do

    def hasty(
        self: executor.Executor,
        run: Run,
        began: Head,
        i: int,
        change: changes.Change | None,
        what: Transition,
        was: str,
        now: Now,
    ) -> None:
        if what.write is not None and change is not None:
            change.write(what.write, was, lambda: True)
        do(self, run, began, i, change, Transition(what.record), was, now)

    monkeypatch.setattr(executor.Executor, "_do", hasty)


def operators_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's value is replaced."""
    monkeypatch.setattr(
        StepCore,
        "_begin",
        lambda self, ranks, force: Transition(Record("intent", "-1", 0.0), self._step.value),
    )


def undone_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step counts as undone before the old value was read back."""
    back = StepCore.back

    def hasty(self: StepCore, home: str | None) -> Transition:
        what = back(self, home)
        return Transition(self._to(UNDONE).record, what.write) if what.write is not None else what

    monkeypatch.setattr(StepCore, "back", hasty)


def in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that was given up is not waited for."""
    monkeypatch.setattr(changes.DirectoryChange, "in_doubt", lambda self: False)


def decided_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core decides while a change that was given up may still be made."""
    forward = StepCore.forward

    def hasty(self: StepCore, *args: Any) -> Transition:
        self._seen = replace(self._seen, in_doubt=False)
        return forward(self, *args)

    monkeypatch.setattr(StepCore, "forward", hasty)


def deaf_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop is not looked at during the tick."""
    monkeypatch.setattr(executor, "_overruled", lambda run, began: False)


def no_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Managers write to the same keys."""
    init = Journal.__init__
    monkeypatch.setattr(Journal, "__init__", lambda self, store, incarnation: init(self, store, 0))


def no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an interrupted removal left stays."""
    monkeypatch.setattr(Journal, "sweep", lambda self, id_: None)


def too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is done while moves are under way."""
    monkeypatch.setattr(core, "has_ended", lambda plan, heading, records: len(records) == len(plan.steps))


def one_holds_up_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rollback forgets the steps that were under way."""
    monkeypatch.setattr(core, "IN_FORCE", (DONE,))


BUGS = [no_record, operators_value, undone_unseen, in_doubt, decided_in_doubt, deaf_to_stop, no_fence]


@pytest.mark.parametrize("bug", [*BUGS, no_sweep, too_early, one_holds_up_all], ids=lambda bug: bug.__name__)
def test_a_bug_of_this_kind_is_found(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    history = found()
    small = shrink(history)
    assert play(small).violations
    assert len(small.faults) + len(small.actions) <= len(history.faults) + len(history.actions)
