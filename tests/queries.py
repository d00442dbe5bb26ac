# SPDX-License-Identifier: LGPL-2.1-or-later
"""The queries of dashboards, for those who run them without Grafana."""

from collections.abc import Iterator, Mapping
from typing import Any


def panels(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The panels that show something: rows are left out."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Title of the panel and PromQL, for every query."""
    for panel in panels(board):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def concrete(expr: str, cluster: str, fs: str, interval: str = "1m") -> str:
    """A query with Grafana's variables filled in."""
    values = {"$cluster": cluster, "$fs": fs, "$__rate_interval": interval, "$__interval": interval}
    values |= {"$__range": "1h"}
    for name, value in values.items():
        expr = expr.replace(name, value)
    return expr
