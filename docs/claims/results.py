# SPDX-License-Identifier: LGPL-2.1-or-later
"""The raw results that claims are rendered from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.common.cells import store
from experiments.common.figures import compare
from experiments.common.figures.figures import Cell
from experiments.common.workloads import MATRIX
from lab.errors import LabError

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """Those of a checkout; read when they are first asked for, and once: nobody changes a cell."""

    top: Path
    """docs/results"""
    _read: dict[Path, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    def cells(self, pattern: str) -> list[dict[str, Any]]:
        """By a pattern of their files below docs/results. :raises LabError: there are none"""
        found = [self._cell(path) for path in sorted(self.top.glob(f"{pattern}.json.gz"))]
        if not found:
            raise LabError(f"no cell is there for {pattern}")
        return found

    def _cell(self, path: Path) -> dict[str, Any]:
        if path not in self._read:
            self._read[path] = store.load(path.parent, path.name.removesuffix(".json.gz"))
        return self._read[path]

    def cell(self, key: str) -> dict[str, Any]:
        """One of them. :raises LabError: it is not there"""
        return self.cells(key)[0]

    def json(self, pattern: str) -> list[Result]:
        """Results that are plain JSON. :raises LabError: there are none"""
        found = [json.loads(path.read_text()) for path in sorted(self.top.glob(pattern))]
        if not found:
            raise LabError(f"no result is there for {pattern}")
        return found

    @cached_property
    def matrix(self) -> list[Cell]:
        """All cells at five ranks, by workload."""
        return [
            cell for name in MATRIX for hook in ("", "-hook")
            for cell in self.cells(f"bench/{name}-tentacle{hook}-5x12-*")
        ]  # fmt: skip

    @cached_property
    def rows(self) -> compare.Rows:
        """Their figures."""
        return compare.rows(self.matrix)
