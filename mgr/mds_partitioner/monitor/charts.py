# SPDX-License-Identifier: LGPL-2.1-or-later
"""The status page's drawings: inline SVG that stretches with the page, its colours from the style sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from xml.etree.ElementTree import Element

from .markup import el
from .sampler import HISTORY
from .state import Point

WIDTH, HEIGHT = 1000.0, 100.0  # units of the drawing, not pixels
GRID = (1.0, 0.5, 0.0)
TIMES = ("60 min ago", "45", "30", "15", "now")
NEAR, GAP = 2, 3.0  # distances on each side; times their median: points that are farther apart are not joined


def _x(time: float, now: float) -> float:
    return WIDTH * max(0.0, 1.0 - (now - time) / HISTORY)


def _y(factor: float) -> float:
    return HEIGHT * (1.0 - min(1.0, max(0.0, factor)))


def _pieces(points: Sequence[Point]) -> Iterator[list[Point]]:
    """Points that belong together: a pause in the observation is a gap in the line. Epochs that have become
    longer are none."""
    far = [b.time - a.time for a, b in zip(points, points[1:])]
    beside = ([*far[max(0, at - NEAR) : at], *far[at + 1 : at + 1 + NEAR]] for at in range(len(far)))
    pauses = [at for at, near in enumerate(beside, 1) if near and far[at - 1] > GAP * median(near)]
    for begin, end in zip([0, *pauses], [*pauses, len(points)]):
        yield list(points[begin:end])


def _path(points: Sequence[Point], now: float) -> str:
    # A line of one point is not drawn, one from it to itself is a dot.
    ends = points if len(points) > 1 else [*points, *points]
    return " ".join(f"{_x(p.time, now):.1f},{_y(p.factor):.1f}" for p in ends)


def _level(kind: str, factor: float) -> Element:
    return el("line", class_=kind, x1=0, x2=WIDTH, y1=_y(factor), y2=_y(factor))


def factor_chart(points: Sequence[Point], threshold: float, now: float) -> Element:
    """The imbalance factor over the last hour, with its threshold."""
    last = f"{points[-1].factor:.3f}" if points else "not known yet"
    drawing = el(
        "svg",
        el("title", f"imbalance factor over the last hour: now {last}, threshold {threshold:g}"),
        *(_level("grid", value) for value in GRID),
        _level("limit", threshold),
        *(el("polyline", class_="line", points=_path(piece, now)) for piece in _pieces(points) if piece),
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        preserveAspectRatio="none",
        role="img",
    )
    return el(
        "div",
        el("div", *(el("span", f"{value:g}") for value in GRID), class_="ys"),
        drawing,
        el("div", *(el("span", text) for text in TIMES), class_="xs"),
        class_="chart",
    )


def _mark(kind: str, at: float) -> Element:
    x = min(99.8, max(0.2, at))
    return el("line", class_=kind, x1=x, x2=x, y1=0, y2=12)


def bar(load: float, forecast: float | None, capacity: float | None, full: float, hot: bool) -> Element:
    """A rank's load as a bar, its forecast as a tick, its capacity as a line; ``full`` is the whole width."""
    scale = 100.0 / full if full > 0 else 0.0
    parts = [
        el("rect", class_="track", x=0, y=2, width=100, height=8),
        el("rect", class_="load hot" if hot else "load", x=0, y=2, width=min(100.0, load * scale), height=8),
    ]
    if capacity is not None and capacity <= full:
        parts.append(_mark("limit", capacity * scale))
    if forecast is not None:
        parts.append(_mark("forecast", forecast * scale))
    return el(
        "svg", *parts, class_="bar", viewBox="0 0 100 12", preserveAspectRatio="none", aria_hidden="true"
    )
