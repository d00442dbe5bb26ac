# SPDX-License-Identifier: LGPL-2.1-or-later
"""The option by which MDSs look at their pins, and rank 0 begins a beat, as each of them has it now.

MDSs are told at run time: of what is set in the mon that keeps a record of each change, for good
(ConfigMonitor.cc, encode_pending_to_kvmon). What an MDS is told goes over what is set elsewhere, and is
forgotten when it begins anew.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ..errors import CephError, PartitionerError
from ..model import FsState
from .host import Host

TICK, QUICK = "mds_tick_interval", "1.000000"  # s, as the mon writes it: so short while the scheduler moves
USUAL_TICK = 5.0  # s, if nobody has set it (mds.yaml.in)
WITHIN = 2.0  # s that MDSs have to answer: they are asked before something moves
SET_BY = ("cmdline", "file", "env", "mon", "default")  # the first that is there holds (ceph_conf_level_name)


@dataclass(frozen=True)
class Ticks:
    """s between two ticks of an MDS.

    :ivar told: as it was told at run time; None: it was not
    :ivar usual: as it is without that
    """

    told: float | None
    usual: float

    @property
    def ours(self) -> bool:
        """Was it told by this module, as far as one can see?"""
        return self.told == float(QUICK)

    @property
    def operators(self) -> float:
        """As it is without this module."""
        return self.usual if self.told is None or self.ours else self.told


def ticks(host: Host, fs: FsState, names: Collection[str]) -> dict[str, Ticks | PartitionerError]:
    """Of MDSs of a file system, by name; why it is not known, as ``Host.tell_each``."""
    told = host.tell_each(fs, sorted(names), "config diff get", within=WITHIN, var=TICK)
    return {name: _read(name, answer) for name, answer in told.items()}


def _read(name: str, answer: Any) -> Ticks | PartitionerError:
    if isinstance(answer, PartitionerError):
        return answer
    try:
        found = {level: float(value) for level, value in answer["diff"].get(TICK, {}).items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return CephError(f"mds.{name} answered 'config diff get' in another form than Ceph does")
    return Ticks(found.get("override"), next((found[by] for by in SET_BY if by in found), USUAL_TICK))


def shorten(host: Host, fs: FsState, names: Collection[str]) -> dict[str, Any]:
    """Have MDSs tick every second. What each said, as ``Host.tell_each``."""
    return host.tell_each(fs, sorted(names), "config set", within=WITHIN, var=TICK, val=[QUICK])


def restore(host: Host, fs: FsState, names: Collection[str]) -> dict[str, Any]:
    """Have them tick as they would without having been told; likewise. It is no error if they were not."""
    return host.tell_each(fs, sorted(names), "config unset", within=WITHIN, var=TICK)
