# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ``analyze`` commands."""

import json
import os
import time
from dataclasses import replace
from typing import Optional

from .. import clock
from ..desk import MAKE
from ..errors import BadInput
from ..judge.analysis import Analysis
from ..model import FsState
from ..report.analysis import analysis_text, analysis_value
from ..report.text import TOP, cut
from .declare import Answer, Services, reads, writes

SHOWN = 200  # cells of a bad input


class AnalyzeCommands(Services):
    """Sample the load of subvolumes and judge it."""

    @writes("analyze start", MAKE)
    def analyze_start(
        self,
        fs: Optional[str] = None,
        duration: Optional[int] = None,
        directories: Optional[str] = None,
        format: str = "table",
    ) -> Answer:
        """Sample the load of subvolumes for DURATION seconds: one epoch to a week.

        --directories takes an absolute path below the root, without symbolic links, or a JSON list of them,
        none in another, to sample in place of subvolumes.
        """
        found = self.host.fs(fs)
        analysis = self.analyzer.start(found, duration, parse_directories(directories))
        see = f"see 'ceph mds_partitioner analyze status {found.name}'"
        said = f"analyzing '{found.name}' for {analysis.duration} s; {see}"
        return Answer(analysis_value(analysis, time.monotonic()), said)

    @reads("analyze status")
    def analyze_status(self, fs: Optional[str] = None, format: str = "table", top: int = TOP) -> Answer:
        """Show an analysis: its progress, then subvolumes by workload, ranks, imbalance, recommended ranks.

        A result outlives the manager. An analysis under way goes on from its last checkpoint after a
        fail-over (one in ten minutes), or begins anew, and says so.
        """
        found = self.host.fs(fs)
        return _shown(found, self.analyzer.get(found), top)

    @writes("analyze stop", MAKE)
    def analyze_stop(self, fs: Optional[str] = None, format: str = "table", top: int = TOP) -> Answer:
        """End an analysis early and judge what was sampled"""
        found = self.host.fs(fs)
        return _shown(found, self.analyzer.stop(found), top)


def _shown(fs: FsState, analysis: Analysis, top: int) -> Answer:
    """By its file system's name of today, which commands must name."""
    now, found = clock.read(), analysis.judgement
    judged = None if found is None else replace(found, fs=fs.name)
    analysis = replace(analysis, fs=fs.name, judgement=judged)
    return Answer(analysis_value(analysis, now.steady), analysis_text(analysis, now, top))


def parse_directories(text: Optional[str]) -> list[str]:
    """A path, or a JSON list of paths. :raises BadInput: neither."""
    if text is None:
        return []
    try:
        paths = [text] if text.startswith("/") else json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or JSON in which lists are nested thousands deep
        paths = None
    if not isinstance(paths, list) or not paths or not all(map(_is_path, paths)):
        raise BadInput(
            f"directories '{cut(text, SHOWN)}': give an absolute path or a JSON list of absolute paths"
        )
    return paths


def _is_path(path: object) -> bool:
    r"""Absolute, and bytes that a file system can have; a byte that is not UTF-8 is written \udcXX."""
    try:
        return isinstance(path, str) and path[:1] == "/" and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
