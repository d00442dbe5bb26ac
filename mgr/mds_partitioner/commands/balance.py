# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ``balance`` commands."""

from typing import Optional

from ..desk import URGENT
from ..errors import PartitionerError
from ..model import FsState
from ..report import balance as report
from .declare import Answer, Services, reads, writes

OF_MON = ("balancer", "balance_automate")


class BalanceCommands(Services):
    """Put a Mantle policy in force, and take it back."""

    @writes("balance on")
    def balance_on(
        self,
        fs: Optional[str] = None,
        policy: Optional[str] = None,
        to_auth: bool = False,
        force: bool = False,
        format: str = "table",
        inbuf: Optional[str] = None,
    ) -> Answer:
        """Let the MDSs balance by a Mantle policy.

        --policy is lunule (as is none, unless -i FILE is given), greedyspill, custom (with -i FILE), or the
        path of a .lua file on the active manager's host. --to-auth has MDSs forward every request to the
        authority. --force replaces a balancer that an operator set.
        """
        found = self.host.fs(fs)
        switch = self.balancer.on(found, policy, inbuf, force, to_auth)
        now, problem = self._afterwards(found)
        said = f"'{now.name}' is balanced by the policy {switch.policy}"
        return Answer(
            report.value(now, switch, self.balancer.watch(now)) | _unknown(problem, *OF_MON, "in_force"),
            _lines(f"{said}; see 'ceph mds_partitioner balance status {now.name}'", problem),
        )

    @writes("balance off", URGENT)
    def balance_off(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """Put back what 'balance on' replaced, and remove its policy"""
        found = self.host.fs(fs)
        kept = self.balancer.off(found)
        now, problem = self._afterwards(found)
        value = report.value(now, None, self.balancer.watch(now)) | _unknown(problem, *OF_MON)
        said = _lines(f"'{now.name}': no policy of mds_partitioner balances it", *kept, problem)
        return Answer(value | {"kept": kept}, said)

    @reads("balance status")
    def balance_status(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """Show the policy, what each rank decided lately and why, inodes moved, and fallbacks"""
        found = self._present(self.host.fs(fs))
        switch, watch = self.balancer.get(found), self.balancer.watch(found)
        why = self.balancer.unread(found)
        return Answer(report.value(found, switch, watch, why), report.text(found, switch, watch, why))

    def _afterwards(self, fs: FsState) -> tuple[FsState, str]:
        """The same after an order, and why it could not be asked for: what was done is not undone by that."""
        try:
            return self._present(fs), ""
        except PartitionerError as e:
            return fs, f"that is done; what is in force now is not known: {e}"

    def _present(self, fs: FsState) -> FsState:
        """What the mon has: this manager's FSMap may lack what an operator, or we, set a moment ago."""
        return self.host.fs_of_mon(fs.fscid) or fs


def _unknown(problem: str, *names: str) -> dict[str, Optional[str]]:
    """Of what is shown, what would be as it was before the order; {}: nothing, as there is no problem."""
    return dict.fromkeys(names) | {"problem": problem} if problem else {}


def _lines(*said: str) -> str:
    return "\n".join(line for line in said if line)
