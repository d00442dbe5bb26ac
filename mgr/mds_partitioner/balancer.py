# SPDX-License-Identifier: LGPL-2.1-or-later
"""Balancing by a Mantle policy: what the ``balance`` commands do, and the loop that keeps its hints fresh."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from . import policies
from .act import switch as switching
from .act.switch import ON, TURNING_OFF, TURNING_ON, Switch
from .engine_client import EngineClient
from .errors import BadInput, Busy, NotFound, NotPermitted, PartitionerError, Unavailable
from .host import Host
from .judge.verdict import Verdict
from .model import FsState
from .observe.beats import Beat, fallbacks, last_beat
from .observe.ranks import silence
from .options import Settings
from .plan.hints import PREFIX, Hints, differ, growth, make_hints, policy_object
from .ranks import Ranks
from .sandbox.decide import Metrics, decide
from .sandbox.errors import PolicyError, SandboxError
from .sandbox.vet import vet
from .verify.decisions import REMEMBERED, Decision, Watch
from .verify.guards import SILENT_AFTER, why_wait

FALLBACK_EPOCHS = 3  # how long a fallback is told
FORECAST_FROM = 4  # epochs, before a forecast is worth telling


class Balancer:
    """All file systems that a policy of ours balances."""

    def __init__(
        self,
        host: Host,
        engine: EngineClient,
        ranks: Ranks,
        settings: Callable[[], Settings],
        busy: Callable[[FsState], str | None],
        log: logging.Logger,
    ) -> None:
        """``busy`` names the plan that is being executed on a file system, or None."""
        self._host, self._engine, self._ranks = host, engine, ranks
        self._settings, self._busy, self._log = settings, busy, log
        self._switches: dict[int, Switch] | None = None
        self._watches: dict[int, Watch] = {}
        self._lock = threading.Lock()  # commands and the loop both switch

    def begin(self) -> None:
        """Read the journal; what another manager left half done is done by the next tick."""
        self._switches = switching.load(self._host.store)

    def on(self, fs: FsState, policy: str, given: str | None, force: bool) -> Switch:
        """Let a policy balance the file system.

        :param given: an operator's own policy, the content of ``-i FILE``
        :raises BadInput: no such policy, or it does not pass the sandbox
        :raises NotPermitted: an operator set another balancer, and ``force`` is not given
        :raises Busy: a plan is being executed
        """
        kind, text = policies.choose(policy, given)
        running = self._busy(fs)
        if running is not None:
            raise Busy(f"plan '{running}' of '{fs.name}' is being executed: wait for it or stop it first")
        with self._lock:
            before = self._known().get(fs.fscid)
            if before is None and fs.balancer and not fs.balancer.startswith(PREFIX) and not force:
                raise NotPermitted(
                    f"'{fs.name}' has the balancer '{fs.balancer}', which an operator set: "
                    "use --force to replace it ('balance off' puts it back)"
                )
            if before is not None and _same(before, kind, text) and switching.in_force(fs, before):
                return before
            hints = make_hints(fs, self._settings(), self._capacity(fs), self._resting(fs))
            name, content = policy_object(kind, hints, text or policies.source_of(kind))
            self._vet(fs, content)
            fresh = Switch(
                fs=fs.name,
                fscid=fs.fscid,
                state=TURNING_ON,
                policy=kind,
                source=text,
                old_balancer=before.old_balancer if before else fs.balancer,
                old_automate=before.old_automate if before else fs.balance_automate,
                started=time.time(),
                hints=hints,
                objects=before.objects if before else (),
            )
            self._watches[fs.fscid] = Watch()
            return self._apply(fresh, name, content)

    def off(self, fs: FsState) -> list[str]:
        """Put back what ``on`` replaced; in sentences, what could not be. Off already: nothing to do."""
        with self._lock:
            switch = self._known().get(fs.fscid)
            if switch is None:
                return []
            self._known()[fs.fscid] = replace(switch, state=TURNING_OFF)
            kept = switching.restore(self._host, self._host.store, switch)
            del self._known()[fs.fscid]
            self._watches.pop(fs.fscid, None)
            return kept

    def get(self, fs: FsState) -> Switch | None:
        """The switch of a file system; None: no policy of ours balances it."""
        return self._known().get(fs.fscid)

    def watch(self, fs: FsState) -> Watch:
        """What was seen since this manager began to watch."""
        return self._watches.get(fs.fscid, Watch())

    def active(self) -> bool:
        """Is there a file system to watch?"""
        return bool(self._switches)

    def fallen_back(self) -> dict[str, list[str]]:
        """MDSs that use the built-in balancer in place of our policy, by file system."""
        return {
            switch.fs: watch.fallbacks
            for fscid, switch in (self._switches or {}).items()
            if (watch := self._watches.get(fscid)) is not None and watch.fallbacks
        }

    def tick(self) -> None:
        """Once an epoch and file system: watch the beats, and push hints that have changed."""
        settings = self._settings()
        for switch in list((self._switches or {}).values()):
            watch = self._watches.setdefault(switch.fscid, Watch())
            if time.monotonic() < watch.due:
                continue
            watch.due = time.monotonic() + settings.epoch
            try:
                self._step(switch, watch, settings)
                watch.problem = ""
            except NotFound:
                self._forget(switch)
            except PartitionerError as e:
                self._log.warning("balancing of %s: %s", switch.fs, e)
                watch.problem = str(e)

    def _step(self, switch: Switch, watch: Watch, settings: Settings) -> None:
        fs = self._host.fs(switch.fs)
        if fs.fscid != switch.fscid:
            raise NotFound(f"'{fs.name}' is another file system now")
        with self._lock:
            if self._known().get(fs.fscid) is not switch:
                return
            if switch.state == TURNING_OFF:
                switching.restore(self._host, self._host.store, switch)
                del self._known()[fs.fscid]
                return
            if switch.state == TURNING_ON:
                switch = self._push(switch, switch.hints)
        self._observe(fs, switch, watch, settings)
        if switching.in_force(fs, switch) and self._unwell(fs) is None:
            self._refresh(fs, switch, watch, settings)

    def _observe(self, fs: FsState, switch: Switch, watch: Watch, settings: Settings) -> None:
        now = time.monotonic()
        watch.verdict = self._ranks.judge(fs, now)
        watch.history = self._ranks.history(fs, now)
        for s in watch.history.latest:
            watch.moved.setdefault(s.rank, (s.exported_total, s.imported_total))
        recent = time.time() - FALLBACK_EPOCHS * settings.epoch
        watch.fallbacks = fallbacks(self._host, frozenset(switch.objects), max(recent, switch.started))
        beat = last_beat(self._host, fs)
        if beat is not None and _rates(beat) != _rates(watch.beat):
            watch.beat = beat
            self._remember(switch, watch, beat)

    def _remember(self, switch: Switch, watch: Watch, beat: Beat) -> None:
        _, content = policy_object(switch.policy, switch.hints, self._source(switch))
        try:
            answers = decide(content, [beat.metrics])[0]
        except (PolicyError, SandboxError) as e:
            raise Unavailable(f"what the ranks decided is not known: {e}") from e
        for rank, answer in enumerate(answers):
            line = "; ".join(text for _, text in answer.log)
            decision = Decision(rank, time.time(), answer.targets, line)
            watch.decisions.setdefault(rank, deque(maxlen=REMEMBERED)).append(decision)

    def _refresh(self, fs: FsState, switch: Switch, watch: Watch, settings: Settings) -> None:
        assert watch.verdict is not None
        wanted = self._wanted(fs, watch, watch.verdict, settings)
        if not differ(switch.hints, wanted, settings.hint_dead_band):
            return
        if time.time() - switch.pushed < settings.hint_interval:
            return
        with self._lock:
            if self._known().get(fs.fscid) is switch:
                self._push(switch, wanted)

    def _wanted(self, fs: FsState, watch: Watch, verdict: Verdict, settings: Settings) -> Hints:
        hints = make_hints(fs, settings, verdict.capacity.value, self._resting(fs))
        if len(watch.history.epochs) < FORECAST_FROM or list(fs.ranks_in) != list(range(len(fs.ranks_in))):
            return hints
        expected = growth(verdict.loads, verdict.forecast, settings.hint_dead_band)
        return replace(hints, growth=expected, expires=int(time.time()) + 2 * settings.hint_interval)

    def _push(self, switch: Switch, hints: Hints) -> Switch:
        name, content = policy_object(switch.policy, hints, self._source(switch))
        return self._apply(replace(switch, hints=hints), name, content)

    def _apply(self, switch: Switch, name: str, content: str) -> Switch:
        intended = switching.intend(self._host.store, switch, name, time.time())
        self._known()[switch.fscid] = intended
        done = switching.put_in_force(self._host, self._host.store, intended, content)
        self._known()[switch.fscid] = done
        return done

    def _vet(self, fs: FsState, content: str) -> None:
        """Try a policy before an MDS has to. :raises BadInput: an MDS could not use it."""
        cases: list[Metrics] = [*policies.recorded_cases()]
        beat = last_beat(self._host, fs)
        if beat is not None:
            cases.append(beat.metrics)
        try:
            vet(content, cases)
        except PolicyError as e:
            raise BadInput(f"the policy was not put in force: {e}") from e
        except SandboxError as e:
            raise Unavailable(f"the policy was not put in force: {e}") from e

    def _capacity(self, fs: FsState) -> float | None:
        return self._ranks.judge(fs, time.monotonic()).capacity.value

    def _resting(self, fs: FsState) -> list[int]:
        quiet = silence(self._host, fs, time.time())
        return sorted(rank for rank, seconds in quiet.items() if seconds > SILENT_AFTER)

    def _unwell(self, fs: FsState) -> str | None:
        return why_wait(fs, self._host.health(), {})

    def _source(self, switch: Switch) -> str:
        return switch.source or policies.source_of(switch.policy)

    def _forget(self, switch: Switch) -> None:
        self._log.warning("'%s' was removed: its balancing ends", switch.fs)
        self._host.store.delete(f"balance/{switch.fscid}")
        self._known().pop(switch.fscid, None)
        self._watches.pop(switch.fscid, None)

    def _known(self) -> dict[int, Switch]:
        if self._switches is None:
            raise Unavailable("the module is starting: its journal was not read yet")
        return self._switches


def _same(switch: Switch, kind: str, source: str) -> bool:
    return switch.state == ON and (switch.policy, switch.source) == (kind, source)


def _rates(beat: Beat | None) -> list[float]:
    return [m["req_rate"] for m in beat.metrics] if beat else []
