# SPDX-License-Identifier: LGPL-2.1-or-later
"""The status page's drawings: inline SVG, its colours from the page's style sheet."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

from .markup import el
from .sampler import HISTORY
from .state import Point

WIDTH, HEIGHT = 640.0, 150.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 8.0, 8.0, 20.0
MINUTES = (60, 45, 30, 15, 0)
GAP = 3.0  # times the usual distance of two points, beyond which they are not joined


def _x(time: float, now: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * max(0.0, 1.0 - (now - time) / HISTORY)


def _y(factor: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(1.0, max(0.0, factor))


def _pieces(points: Sequence[Point]) -> Iterator[list[Point]]:
    """Points that belong together: a pause in the observation is a gap in the line."""
    distances = sorted(b.time - a.time for a, b in pairwise(points))
    usual = distances[len(distances) // 2] if distances else 0.0
    piece: list[Point] = []
    for point in points:
        if piece and point.time - piece[-1].time > GAP * usual:
            yield piece
            piece = []
        piece.append(point)
    if piece:
        yield piece


def _path(points: Sequence[Point], now: float) -> str:
    return " ".join(f"{_x(p.time, now):.1f},{_y(p.factor):.1f}" for p in points)


def factor_chart(points: Sequence[Point], threshold: float, now: float) -> Element:
    """The imbalance factor over the last hour, with its threshold."""
    grid = [
        part
        for value in (0.0, 0.5, 1.0)
        for part in (
            el("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=_y(value), y2=_y(value)),
            el("text", f"{value:g}", x=LEFT - 6, y=_y(value) + 4, text_anchor="end"),
        )
    ]
    axis = [
        el(
            "text",
            "now" if minutes == 0 else f"{minutes} min ago",
            x=_x(now - 60 * minutes, now),
            y=HEIGHT - 4,
            text_anchor={0: "end", 60: "start"}.get(minutes, "middle"),
        )
        for minutes in MINUTES
    ]
    limit = el("line", class_="limit", x1=LEFT, x2=WIDTH - RIGHT, y1=_y(threshold), y2=_y(threshold))
    lines = [el("polyline", class_="line", points=_path(piece, now)) for piece in _pieces(points)]
    newest = [el("circle", class_="dot", cx=_x(p.time, now), cy=_y(p.factor), r=3) for p in points[-1:]]
    last = f"{points[-1].factor:.3f}" if points else "not known yet"
    return el(
        "svg",
        el("title", f"imbalance factor over the last hour: now {last}, threshold {threshold:g}"),
        *(*grid, *axis, limit, *lines, *newest),
        class_="chart",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        role="img",
    )


def bar(load: float, forecast: float | None, capacity: float | None, full: float, hot: bool) -> Element:
    """A rank's load as a bar, its forecast as a tick, its capacity as a line; ``full`` is the whole width."""
    scale = 100.0 / full if full > 0 else 0.0
    parts = [
        el("rect", class_="track", x=0, y=2, width=100, height=8),
        el("rect", class_="load hot" if hot else "load", x=0, y=2, width=min(100.0, load * scale), height=8),
    ]
    if forecast is not None:
        at = min(99.5, forecast * scale)
        parts.append(el("line", class_="forecast", x1=at, x2=at, y1=0, y2=12))
    if capacity is not None and capacity <= full:
        at = min(99.5, capacity * scale)
        parts.append(el("line", class_="limit", x1=at, x2=at, y1=0, y2=12))
    return el(
        "svg", *parts, class_="bar", viewBox="0 0 100 12", preserveAspectRatio="none", aria_hidden="true"
    )
