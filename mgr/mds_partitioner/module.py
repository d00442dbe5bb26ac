# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manager module: options, commands and the loop. It wires and delegates.

In ceph-mgr the parameters' names and types and the docstrings *are* the command line and its help.
Reef reads the types in the form of ``typing.Optional`` only.
"""

import importlib.util
import shutil
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Optional

from mgr_module import HandleCommandResult, MgrModule, MgrStandbyModule, NotifyType
from mgr_util import build_url

from . import commands
from .analyzer import Analyzer
from .balancer import Balancer
from .ceph_compat import Commands, read_command, write_command
from .engine_client import EngineClient
from .errors import PartitionerError
from .host import Host
from .model import FsState
from .monitor import health
from .monitor.app import active_app, standby_app
from .monitor.options import MONITOR_OPTIONS, Address, MonitorSettings
from .monitor.server import Endpoint
from .monitor.service import MOVE, Monitor
from .options import MODULE_OPTIONS, Settings
from .partitioner import Partitioner, paused_by_guard

NEEDED = {"cephfs": "python3-cephfs", "yaml": "python3-yaml", "prettytable": "python3-prettytable"}
NEEDED |= {"cheroot": "python3-cheroot", "prometheus_client": "python3-prometheus-client"}
ENGINE_NEEDS = {"numpy": "python3-numpy", "scipy": "python3-scipy", "sklearn": "python3-sklearn"}
BUSY_TICK, IDLE_TICK = 1.0, 10.0  # s
STANDBY_TICK = 10.0  # s between two looks at the options
ALL_OPTIONS = [*MODULE_OPTIONS, *MONITOR_OPTIONS]


class Module(MgrModule):
    """Keeps the metadata load of file systems even over their active MDS ranks."""

    CLICommand = Commands
    MODULE_OPTIONS = ALL_OPTIONS
    NOTIFY_TYPES: ClassVar = [NotifyType.fs_map]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ended = False
        self._wake = threading.Event()
        self.engine = EngineClient(self.settings, self.log)
        self.host = Host(self, self.settings().tell_concurrency)
        self.analyzer = Analyzer(self.host, self.engine, self.settings, self.log)
        self.partitioner = Partitioner(
            self.host, self.engine, self.analyzer, self.settings, self._progress, self.log
        )
        self.balancer = Balancer(
            self.host, self.engine, self.analyzer, self.settings, self.partitioner.executing, self.log
        )
        self.monitor = Monitor(
            *(self.host, self.engine, self.analyzer, self.partitioner),
            lambda: (self.settings(), MonitorSettings.read(self)),
            self._publish,
            self.log,
        )
        self.monitor.fallen_back = self._fallen_back
        app = active_app(lambda: self.monitor.snapshot, lambda: self.settings().epoch)
        self.endpoint = Endpoint(app, self.log)
        self.health_sources: list[health.Source] = [
            lambda: health.paused([run for run in self.partitioner.active() if paused_by_guard(run.head)]),
            lambda: health.fallen_back(self.balancer.fallen_back()),
            lambda: health.imbalanced(self.monitor.snapshot, MonitorSettings.read(self).imbalance_epochs),
            lambda: health.engine_down(self.monitor.snapshot),
        ]

    @staticmethod
    def can_run() -> tuple[bool, str]:
        """What is missing on this host, if anything. Nothing is imported: numpy may not load here."""
        missing = [
            package
            for name, package in {**NEEDED, **ENGINE_NEEDS}.items()
            if not importlib.util.find_spec(name)
        ]
        if shutil.which("python3") is None:
            missing.append("python3")
        if missing:
            return False, f"install {', '.join(missing)} on the hosts of the managers"
        return True, ""

    def settings(self) -> Settings:
        """The options in force."""
        return Settings.read(self)

    def serve(self) -> None:
        """Go on with what the journal holds, then wait for work."""
        self._begin()
        self.monitor.begin()
        while not self._ended:
            try:
                self.partitioner.tick()
                self.balancer.tick()
                self._health()
            except Exception:  # the mover must outlive what it did not expect, and say so
                self.monitor.count_error(MOVE)
                self.log.exception("the mover failed; it tries again")
            self._wake.wait(BUSY_TICK if self._busy() else IDLE_TICK)
            self._wake.clear()

    def _busy(self) -> bool:
        return bool(self.partitioner.active()) or self.balancer.active()

    def _begin(self) -> None:
        while not self._ended:
            try:
                self.partitioner.begin()
                self.balancer.begin()
                self.analyzer.begin()
                return
            except PartitionerError as e:
                self.log.error("cannot read the journal: %s", e)
                self._wake.wait(BUSY_TICK)

    def notify(self, notify_type: NotifyType, notify_id: str) -> None:
        """A new FSMap may let a paused plan go on."""
        if notify_type == NotifyType.fs_map:
            self._wake.set()

    def shutdown(self) -> None:
        """End threads, the engine and the mounts."""
        self._ended = True
        self._wake.set()
        self.monitor.shutdown()
        self.endpoint.shutdown()
        self.analyzer.shutdown()
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

    def _progress(self, event: str, message: str, part: float | None) -> None:
        try:
            if part is None:
                self.remote("progress", "complete", event)
            else:
                self.remote("progress", "update", event, message, part, ["mds_partitioner"], True)
        except (ImportError, RuntimeError) as e:
            self.log.debug("no progress module: %s", e)

    def _health(self) -> None:
        self.set_health_checks(health.collect(self.health_sources))

    def _fallen_back(self, fs: FsState) -> frozenset[str] | None:
        """The daemons that left our policy; None while none of ours is in force."""
        if self.balancer.get(fs) is None:
            return None
        told = self.balancer.fallen_back().get(fs.name, [])
        return frozenset(who.partition(": ")[0] for who in told)

    def _publish(self) -> None:
        """After each epoch: listen where the options say, and show where that is in `ceph mgr services`."""
        if self.endpoint.apply(Address.read(self)):
            self.set_uri(self._uri(self.endpoint.address))

    def _uri(self, at: Address | None) -> str:
        if at is None:
            return ""
        host = self.get_mgr_ip() if at.host in ("::", "0.0.0.0") else at.host
        return build_url(scheme="http", host=host, port=at.port, path="/")

    def _answer(self, operation: Callable[[], str]) -> HandleCommandResult:
        try:
            return HandleCommandResult(0, operation(), "")
        except PartitionerError as e:
            return HandleCommandResult(-e.code, "", str(e))
        finally:
            self._wake.set()

    @read_command("mds_partitioner status")
    def cmd_status(self, format: str = "table") -> HandleCommandResult:
        """Show what the module is doing on every file system"""
        return self._answer(lambda: commands.status(self, format))

    @read_command("mds_partitioner imbalance")
    def cmd_imbalance(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """Show the imbalance factor of this moment, each rank's load, and what Lunule would move"""
        return self._answer(lambda: commands.imbalance(self, fs, format))

    @write_command("mds_partitioner analyze start")
    def cmd_analyze_start(
        self,
        fs: Optional[str] = None,
        duration: Optional[int] = None,
        directories: Optional[str] = None,
        format: str = "table",
    ) -> HandleCommandResult:
        """Sample the load of subvolumes, or of a JSON list of directories, for a number of seconds"""
        return self._answer(lambda: commands.analyze_start(self, fs, duration, directories, format))

    @read_command("mds_partitioner analyze status")
    def cmd_analyze_status(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """Show the analysis: subvolumes by workload, ranks, imbalance, recommended number of MDSs"""
        return self._answer(lambda: commands.analyze_status(self, fs, format))

    @write_command("mds_partitioner analyze stop")
    def cmd_analyze_stop(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """End an analysis early and judge what was sampled"""
        return self._answer(lambda: commands.analyze_stop(self, fs, format))

    @write_command("mds_partitioner partition plan")
    def cmd_partition_plan(
        self,
        fs: Optional[str] = None,
        plan: Optional[str] = None,
        heavy: str = "mask",
        ranks: Optional[str] = None,
        to_auth: bool = False,
        force: bool = False,
        format: str = "table",
    ) -> HandleCommandResult:
        """Make a plan from the newest analysis and save it; nothing is changed"""
        return self._answer(
            lambda: commands.partition_plan(self, fs, plan, heavy, ranks, to_auth, force, format)
        )

    @write_command("mds_partitioner partition start")
    def cmd_partition_start(
        self,
        fs: Optional[str] = None,
        plan: Optional[str] = None,
        heavy: str = "mask",
        to_auth: bool = False,
        dry_run: bool = False,
        force: bool = False,
        format: str = "table",
    ) -> HandleCommandResult:
        """Execute a plan: the named one, else the newest, else a new one; --dry-run prints it only"""
        return self._answer(
            lambda: commands.partition_start(self, fs, plan, heavy, to_auth, dry_run, force, format)
        )

    @read_command("mds_partitioner partition status")
    def cmd_partition_status(
        self, fs: Optional[str] = None, plan: Optional[str] = None, format: str = "table"
    ) -> HandleCommandResult:
        """Show a plan's execution, one row a subvolume"""
        return self._answer(lambda: commands.partition_status(self, fs, plan, format))

    @read_command("mds_partitioner partition ls")
    def cmd_partition_ls(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """List the plans of a file system"""
        return self._answer(lambda: commands.partition_ls(self, fs, format))

    @write_command("mds_partitioner partition pause")
    def cmd_partition_pause(
        self, fs: Optional[str] = None, duration: Optional[int] = None, format: str = "table"
    ) -> HandleCommandResult:
        """Begin no further step, for a number of seconds or until resumed"""
        return self._answer(lambda: commands.partition_pause(self, fs, duration, format))

    @write_command("mds_partitioner partition resume")
    def cmd_partition_resume(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """Go on with a paused plan"""
        return self._answer(lambda: commands.partition_resume(self, fs, format))

    @write_command("mds_partitioner partition stop")
    def cmd_partition_stop(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """End the execution of a plan where it is"""
        return self._answer(lambda: commands.partition_stop(self, fs, format))

    @write_command("mds_partitioner partition rollback")
    def cmd_partition_rollback(
        self, fs: Optional[str] = None, plan: Optional[str] = None, format: str = "table"
    ) -> HandleCommandResult:
        """Put back every pin, mask and balancer setting that a plan replaced"""
        return self._answer(lambda: commands.partition_rollback(self, fs, plan, format))

    @write_command("mds_partitioner partition rm")
    def cmd_partition_rm(self, plan: str, fs: Optional[str] = None) -> HandleCommandResult:
        """Forget a plan that is not being executed; the pins it set become yours"""
        return self._answer(lambda: commands.partition_rm(self, fs, plan))

    @write_command("mds_partitioner balance on")
    def cmd_balance_on(
        self,
        fs: Optional[str] = None,
        policy: str = "lunule",
        force: bool = False,
        format: str = "table",
        inbuf: Optional[str] = None,
    ) -> HandleCommandResult:
        """Let the MDSs balance by a Mantle policy: lunule, greedyspill, or your own (-i FILE)"""
        return self._answer(lambda: commands.balance_on(self, fs, policy, inbuf, force, format))

    @write_command("mds_partitioner balance off")
    def cmd_balance_off(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """Put back the balancer that 'balance on' replaced, and remove its policy"""
        return self._answer(lambda: commands.balance_off(self, fs, format))

    @read_command("mds_partitioner balance status")
    def cmd_balance_status(self, fs: Optional[str] = None, format: str = "table") -> HandleCommandResult:
        """Show the policy, and what each rank decided lately and why"""
        return self._answer(lambda: commands.balance_status(self, fs, format))


class StandbyModule(MgrStandbyModule):
    """A standby manager tells where the active one is; it reads the journal when it takes over."""

    MODULE_OPTIONS = ALL_OPTIONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ended = threading.Event()
        self.endpoint = Endpoint(standby_app(self.get_active_uri), self.log)

    def serve(self) -> None:
        """Answer until this manager becomes active."""
        while not self._ended.is_set():
            self.endpoint.apply(Address.read(self))
            self._ended.wait(STANDBY_TICK)

    def shutdown(self) -> None:
        """End."""
        self._ended.set()
        self.endpoint.shutdown()
