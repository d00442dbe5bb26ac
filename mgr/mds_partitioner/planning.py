# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans are made: of what was found last, and of directories as they are now."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from . import clock
from .act import choice
from .act.journal import check_name
from .act.registry import Plans
from .act.run import (
    Run,
    moved_at,
    owned_distributed,
    owned_masks,
    owned_pins,
    owned_values,
    steps_in_force,
)
from .analyzer import Analyzer
from .ceph.host import Host
from .clock import Now
from .engine_client import EngineClient
from .errors import Busy, NotFound
from .model import FsState
from .options import Settings
from .plan.caveats import of_failed
from .plan.circumstances import Ours, Wish, brood_of, check_ranks, gather
from .plan.plan import AUTOMATE, FS_STEP, Plan
from .plan.planner import make_plan
from .plan.present import present
from .policy.switch import policy_in_force

ANEW = 2  # times that a plan is made anew, as something was deleted meanwhile


class Planning:
    """Makes the plans of all file systems."""

    def __init__(
        self,
        host: Host,
        engine: EngineClient,
        analyzer: Analyzer,
        plans: Plans,
        settings: Callable[[], Settings],
        now: Callable[[], Now] = clock.read,
    ) -> None:
        self._host, self._engine, self._analyzer = host, engine, analyzer
        self._plans, self._settings, self._now = plans, settings, now
        self._lock = threading.Lock()  # of what follows
        self._making = Counter[int]()  # plans that are being made, by fscid

    def refuse_while_made(self, fs: FsState) -> None:
        """:raises Busy: a plan is being made: whoever names none may mean that one"""
        with self._lock:
            made = self._making[fs.fscid]
        if made:
            raise Busy(
                f"a plan of '{fs.name}' is being made: give 'partition plan' again for what comes out, and "
                "start it then, by its name"
            )

    @contextmanager
    def _counted(self, fs: FsState) -> Iterator[None]:
        with self._lock:
            self._making[fs.fscid] += 1
        try:
            yield
        finally:
            with self._lock:
                self._making[fs.fscid] -= 1

    def plan(
        self,
        fs: FsState,
        *,
        name: str | None,
        heavy: str,
        ranks: Sequence[int] | None,
        force: bool,
        to_auth: bool = False,
        save: bool = True,
    ) -> Plan:
        """Make a plan from what was found last, of directories as they are now, and save it.

        :raises BadInput: an unknown heavy mode, a rank that does not exist, a bad name
        :raises Busy: the name is taken, or a plan is being executed
        """
        if name is not None:
            choice.refuse_reserved(check_name(name))
        wish = Wish(heavy, check_ranks(fs, ranks), force, to_auth)
        found, now, settings = self._analyzer.found(fs), self._now(), self._settings().checked()
        failed = of_failed(self._analyzer.get(fs), found.ended)
        choice.refuse_active(self._plans.of(fs), fs.name)
        runs = self._plans.known()
        at = choice.later_than_all(runs, fs.fscid, now.wall)
        ours = self._ours(fs, runs, to_auth)

        def make() -> Plan:
            return make_plan(
                name or self._plans.free_name(),
                present(self._host, fs, found.judgement, ours.pins),
                wish.ranks,
                lambda judged: gather(self._host, fs, judged, wish, ours),
                settings,
                self._engine.call,
                lambda path, lasts: brood_of(self._host, fs, path, lasts),
                now.wall,
                found.ended,
            )

        only = None if ranks is None else wish.ranks
        with self._counted(fs):
            made = _of_what_is_there(make)
            made = replace(made, created=at, ranks=only, caveats=(*made.caveats, *failed))
            return self._plans.save(made, named=name is not None) if save else made

    def _ours(self, fs: FsState, runs: Sequence[Run], to_auth: bool) -> Ours:
        """What plans and policies of ours have set.

        :param runs: all plans
        :param to_auth: is it to be known what ``mds_forward_all_requests_to_auth`` is?
        """
        before = steps_in_force(runs, fs.fscid)
        switch, values = policy_in_force(self._host.store, fs), owned_values(before)
        made_before = {name for kind, _, name in values if kind == FS_STEP}
        return Ours(
            pins=owned_pins(before),
            masks=owned_masks(before),
            values=values,
            moved_at=moved_at(runs, fs.fscid),
            distributed=owned_distributed(before),
            policy=switch.policy if switch else None,
            for_policy=switch is not None and not switch.old_automate and AUTOMATE not in made_before,
            to_auth=self._plans.to_auth(fs) if to_auth else None,
        )


def _of_what_is_there(make: Callable[[], Plan]) -> Plan:
    """What is deleted while a plan is made is no part of it when it is made anew.

    :raises NotFound: something was deleted each time
    """
    for _ in range(ANEW):
        with suppress(NotFound):
            return make()
    return make()
