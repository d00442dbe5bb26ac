# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manager module: options and the loop. It wires and delegates; its commands are in commands/."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from mgr_module import MgrModule, MgrStandbyModule, NotifyType
from mgr_util import build_url

from . import clock, cycles
from .abreast import Abreast
from .act.journal import Journal
from .act.mover import Mover
from .act.registry import Plans
from .act.run import paused_by_guard
from .analyzer import Analyzer
from .ceph.compat import Commands
from .ceph.host import Host
from .commands.analyze import AnalyzeCommands
from .commands.balance import BalanceCommands
from .commands.overview import OverviewCommands
from .commands.partition import PartitionCommands
from .commands.scheduler import SchedulerCommands
from .desk import Desk
from .engine.names import DEBIANS
from .engine_client import EngineClient
from .errors import JournalError, NotFound, Unavailable
from .loop import Loop
from .model import FsState
from .monitor import endpoint, health
from .monitor.options import MONITOR_OPTIONS, Address, MonitorSettings
from .monitor.sampler import scheduler_state
from .monitor.service import Monitor
from .monitor.stages import BALANCE, JUDGE, MOVE, OBSERVE, SCHEDULE, Errors
from .monitor.state import SchedulerState
from .options import MODULE_OPTIONS, Settings
from .partitioner import Partitioner
from .planning import Planning
from .policy.balancer import Balancer
from .policy.switch import balances, effective, user
from .ranks import Ranks
from .schedule.ledger import Ledger
from .schedule.options import SCHEDULER_OPTIONS, SchedulerSettings
from .schedule.rounds import Rounds
from .scheduling import Scheduling

NEEDED = {"cephfs": "python3-cephfs", "yaml": "python3-yaml", "prettytable": "python3-prettytable"}
NEEDED |= {"wcwidth": "python3-wcwidth"}
BUSY_TICK, IDLE_TICK = 1.0, 10.0  # s
STANDBY_TICK = 10.0  # s between two looks at the options
MOVES, POLICIES, LOOKS, DIRECTORIES = "mover", "balancer", "scheduler", "scheduler's directories"
ALL_OPTIONS = [*MODULE_OPTIONS, *SCHEDULER_OPTIONS, *MONITOR_OPTIONS]


class Module(
    OverviewCommands, AnalyzeCommands, PartitionCommands, BalanceCommands, SchedulerCommands, MgrModule
):
    """Keeps the metadata load of file systems even over their active MDS ranks."""

    CLICommand = Commands
    MODULE_OPTIONS = ALL_OPTIONS
    NOTIFY_TYPES: ClassVar = [NotifyType.fs_map]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ended = threading.Event()
        self._errors = Errors()
        self.desk = Desk()
        self.engine = EngineClient(self.settings, self.log)
        self.host = Host(self, self.settings().tell_concurrency)
        self.ranks = Ranks(self.host, self.engine.call, self.settings, self.log)
        self.analyzer = Analyzer(self.host, self.engine.call, self.ranks, self.settings, self.log)
        journal = Journal(self.host.store, self.host.incarnation())
        plans = Plans(self.host, journal, clock.read, self.log)
        self.ledger = Ledger(self.host, self.log)
        self.scheduling = Scheduling(
            *(self.host, self.ledger, plans, balances), lambda: SchedulerSettings.read(self)
        )
        self.planning = Planning(self.host, self.engine, self.analyzer, plans, self.settings)
        self.partitioner = Partitioner(
            *(self.host, journal, plans), on_progress=self._progress, scheduled=self.scheduling.in_the_way
        )
        self.mover = Mover(
            *(self.host, journal, plans, self.settings, self.log),
            on_progress=self._progress,
            unwanted=self.scheduling.unwanted,
            failed=self._errors.of(MOVE),
        )
        self.balancer = Balancer(
            *(self.host, self.ranks, self.settings, self.partitioner.under_way, self.log),
            needs=self.partitioner.balancing,
            failed=self._errors.of(BALANCE),
        )
        plans.leave_automate = self.balancer.leave_automate
        self.rounds = Rounds(
            *(self.host, self.engine.call, self.ranks, self.ledger, plans, self.partitioner.undo, balances),
            lambda: (self.settings(), SchedulerSettings.read(self)),
            self.log,
            left=self.balancer.left,
            planned=self.wake,
            failed=self._errors.of(SCHEDULE),
        )
        self.monitor = Monitor(
            *(self.host, self.ranks, self.analyzer, plans, self._errors),
            lambda: (self.settings(), MonitorSettings.read(self)),
            self.log,
            fallen_back=self._fallen_back,
            scheduler=self._scheduler,
            publish=self._publish,
        )
        self.endpoint = endpoint.of_active(
            lambda: self.monitor.snapshot, lambda: self.settings().epoch, self._late, self.log
        )
        self.health_sources: list[health.Source] = [
            self._paused,
            self._unreadable,
            lambda: health.fallen_back(self.balancer.fallen_back()),
            lambda: health.imbalanced(
                self.monitor.snapshot, MonitorSettings.read(self).imbalance_epochs, time.time()
            ),
            lambda: health.scheduler_stuck(self.monitor.snapshot, self._lasts()),
            lambda: health.scheduler_advises(self.monitor.snapshot, self._lasts()),
            lambda: health.scheduler_misjudges(self.monitor.snapshot),
            lambda: health.stale(self._late(), self.monitor.snapshot.time, self.get_mgr_id()),
            lambda: health.unjudged(self.monitor.snapshot, time.monotonic()),
            lambda: health.engine_down(self.monitor.snapshot),
            lambda: health.endpoint_down(self.endpoint.failed, self.get_mgr_id()),
        ]
        self._abreast = {what: Abreast(what, self.wake) for what in (MOVES, POLICIES, LOOKS, DIRECTORIES)}
        looks, directories = self._abreast[LOOKS].run, self._abreast[DIRECTORIES].run
        self._loops = (
            self._loop(MOVES, MOVE, self.partitioner.plans.load, self._move),
            self._loop(POLICIES, BALANCE, self.balancer.begin, self._balance),
            self._loop(LOOKS, SCHEDULE, self.ledger.begin, lambda: self.rounds.tick(looks)),
            self._loop(DIRECTORIES, SCHEDULE, lambda: None, lambda: self.rounds.read(directories)),
            self._loop("capacities", JUDGE, lambda: self.ranks.begin(time.monotonic()), lambda: None),
            self._loop("analyzer", OBSERVE, self.analyzer.begin, lambda: None),
            self._loop("health checks", OBSERVE, lambda: None, self._tell_health),
        )

    def _late(self) -> float:
        """s by which an epoch of the monitor's is overdue; below 0: none is."""
        return self.monitor.late(time.monotonic())

    def _lasts(self) -> float:
        """s, for which it must be uneven before operators are told."""
        return MonitorSettings.read(self).imbalance_epochs * self.settings().epoch

    @staticmethod
    def can_run() -> tuple[bool, str]:
        """What the module itself lacks on this host, if anything.

        What the engine, the endpoint and the sandbox of policies lack, they tell when they are needed; the
        engine may have another Python than this one.
        """
        missing = [package for name, package in NEEDED.items() if not importlib.util.find_spec(name)]
        if missing:
            return False, f"install {' '.join(missing)} {DEBIANS} on the hosts of the managers"
        return True, ""

    def settings(self) -> Settings:
        """The options in force."""
        return Settings.read(self)

    def serve(self) -> None:
        """Go on with what the journal holds, then wait for work. Each part in a thread of its own."""
        if cycles.alone():
            cycles.look_seldom()
        self.monitor.begin()
        for loop in self._loops:
            loop.start()
        self._ended.wait()

    def _loop(
        self, name: str, stage: str, begin: Callable[[], None], work: Callable[[], float | None]
    ) -> Loop:
        return Loop(name, begin, work, self._errors.of(stage), self.log)

    def _move(self) -> float:
        self.mover.tick(self._abreast[MOVES].run)
        return BUSY_TICK if self.partitioner.plans.active() else IDLE_TICK

    def _balance(self) -> float:
        self.balancer.tick(self._abreast[POLICIES].run)
        return BUSY_TICK if self.balancer.active() else IDLE_TICK

    def _unreadable(self) -> Sequence[health.Check]:
        names = {fs.fscid: fs.name for fs in self.host.file_systems()}
        by_key = {user(fscid): name for fscid, name in names.items()}
        # Of a file system that is gone nothing is to be done: they go by themselves.
        policies = {by_key[key]: why for key, why in list(self.balancer.unreadable.items()) if key in by_key}
        schedulers = {names[i]: why for i, why in list(self.ledger.unreadable.items()) if i in names}
        return health.unreadable(self.partitioner.plans.unreadable, policies, schedulers)

    def _paused(self) -> Sequence[health.Check]:
        waiting = [run for run in self.partitioner.plans.active() if paused_by_guard(run.head)]
        return health.paused(waiting, {fs.fscid: fs.name for fs in self.host.file_systems()})

    def _tell_health(self) -> float:
        self.set_health_checks(health.collect(health.apart(s, self.log) for s in self.health_sources))
        return BUSY_TICK if self.partitioner.plans.active() or self.balancer.active() else IDLE_TICK

    def notify(self, notify_type: NotifyType, notify_id: str) -> None:
        """A new FSMap may let a paused plan go on."""
        if notify_type == NotifyType.fs_map:
            self.wake()

    def config_notify(self) -> None:
        """Intervals that were made shorter count from now on; and what a bad option kept from being judged
        is judged."""
        for part in (self.rounds, self.balancer, self.monitor):
            part.hasten()
        self.wake()

    def wake(self) -> None:
        """Look at once whether there is work for the loops."""
        for loop in self._loops:
            loop.wake()

    def shutdown(self) -> None:
        """End threads, the engine and the mounts."""
        self._ended.set()
        for loop in self._loops:
            loop.end()
        self.desk.shutdown()
        self.monitor.shutdown()
        self.endpoint.shutdown()
        self.analyzer.shutdown()
        self.mover.shutdown()
        for abreast in self._abreast.values():
            abreast.shutdown()
        self.engine.shutdown()
        self.host.shutdown()

    def self_test(self) -> None:
        """Ask every part for a sign of life. :raises AssertionError: with what does not work."""
        answer = self.engine.call("ping", {})
        assert answer["pid"] > 0, "the engine has no process"
        self.host.store.put("self_test", "1")
        assert self.host.store.items("self_test") == {"self_test": "1"}, "the key/value store forgets"
        self.host.store.delete("self_test")
        assert self.host.file_systems() is not None

    def _progress(self, event: str, message: str, part: float, failed: str | None) -> None:
        """See act/events.py. Only an update tells a message: that of the end, too."""
        try:
            self.remote("progress", "update", event, message, part, ["mds_partitioner"], True)
            if failed:
                self.remote("progress", "fail", event, failed)
            elif failed is not None:
                self.remote("progress", "complete", event)
        except (ImportError, RuntimeError) as e:
            self.log.debug("no progress module: %s", e)

    def _fallen_back(self, fs: FsState) -> frozenset[str] | None:
        """The daemons that left our policy; None while none of ours is in force."""
        try:
            switch = self.balancer.get(fs)
        except Unavailable:  # the journal was not read yet
            return None
        if switch is None or not effective(fs, switch):
            return None
        return frozenset(who.daemon for who in self.balancer.fallen_back().get(fs.name, []))

    def _scheduler(self, fs: FsState) -> SchedulerState | None:
        """Its state; None while it was never started, or is not known (yet)."""
        try:
            kept, watch = self.scheduling.get(fs), self.scheduling.watch(fs)
            return scheduler_state(kept, watch, clock.from_epoch(), self.scheduling.stopped(fs))
        except (JournalError, NotFound, Unavailable):
            return None

    def _publish(self) -> None:
        """Listen where the options say, and show where that is in `ceph mgr services`."""
        if self.endpoint.apply(Address.read(self)):
            self.set_uri(self._uri(self.endpoint.address))

    def _uri(self, at: Address | None) -> str:
        if at is None:
            return ""
        host = self.get_mgr_ip() if at.host in ("::", "0.0.0.0") else at.host
        return build_url(scheme="http", host=host, port=at.port, path="/")


class StandbyModule(MgrStandbyModule):
    """A standby manager tells where the active one is; it reads the journal when it takes over."""

    MODULE_OPTIONS = ALL_OPTIONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ended = threading.Event()
        self.endpoint = endpoint.of_standby(self.get_active_uri, self.log)

    def serve(self) -> None:
        """Answer until this manager becomes active. A module that failed as a standby refuses commands then,
        so whatever fails is tried again."""
        while not self._ended.is_set():
            try:
                self.endpoint.apply(Address.read(self))
            except Exception:
                self.log.exception("the endpoint")
            self._ended.wait(STANDBY_TICK)

    def shutdown(self) -> None:
        """End."""
        self._ended.set()
        self.endpoint.shutdown()
