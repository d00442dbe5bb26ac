# SPDX-License-Identifier: LGPL-2.1-or-later
"""The status page: for those without Grafana, and for those who do not trust a graph without its numbers.

No script, no outside resource; it reloads itself once an epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from .. import clock
from ..judge.verdict import Verdict, told
from ..report.imbalance import hot_told
from ..report.text import count, largest, ranks_cell
from ..schedule.record import OFF
from .charts import bar, factor_chart
from .markup import Node, document, el, style
from .state import AnalysisState, FsSample, HotState, PlanState, RankState, SchedulerState, Snapshot
from .stylesheet import STYLE

SOONEST_RELOAD, LATEST_RELOAD = 5, 10  # s: plans are told as they are now in each epoch, however long
MOST_HOT = 5  # that are shown
NEAR = 0.9  # of its capacity: a rank that is shown as full
UNKNOWN = "unknown"
OLD = "These numbers are old: no epoch has ended since. See 'ceph health detail', and the manager's log."


def _shell(*body: Node, reload: int) -> str:
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="refresh", content=str(reload)),
        el("title", "mds_partitioner"),
        style(STYLE),
    )
    return document(el("html", head, el("body", *body), lang="en"))


def page(snapshot: Snapshot, epoch: float, *, old: bool = False) -> str:
    """The active manager's page. ``epoch`` in seconds; old: the next one should have ended long ago."""
    at = f"{clock.told(snapshot.time)} {clock.zone(snapshot.time)}"
    seen = f"as of {at}, every {epoch:g} s" if snapshot.time else "no epoch has ended yet"
    problem = [
        el("section", el("p", text, class_="bad"), id=name)
        for name, text in (("old", OLD if old else ""), ("engine-problem", snapshot.engine_problem))
        if text
    ]
    sections = [_file_system(sample) for sample in snapshot.filesystems]
    return _shell(
        el(
            "header",
            el("h1", "mds_partitioner"),
            el("p", seen),
            el("p", el("a", "metrics", href="/metrics")),
        ),
        el("main", *problem, *(sections or [el("p", "There is no file system.", class_="dim")])),
        reload=min(LATEST_RELOAD, max(SOONEST_RELOAD, round(epoch))),
    )


def standby_page(active_uri: str) -> str:
    """A standby's page."""
    where = el("a", active_uri, href=active_uri) if active_uri else "not known"
    text = el("p", "This manager is a standby. The active one answers at ", where, ".")
    shown = el("header", el("h1", "mds_partitioner")), el("main", el("section", text))
    return _shell(*shown, reload=SOONEST_RELOAD)  # it may become the active one


def _file_system(sample: FsSample) -> Element:
    parts: list[Node] = [el("div", el("h2", sample.fs), *_verdict(sample), class_="head")]
    if sample.problem:
        parts.append(el("p", sample.problem, class_="bad"))
    parts.append(_figures(sample))
    if sample.verdict is not None:
        chart = factor_chart(sample.history, sample.verdict.threshold, sample.time)
        parts += [el("h3", "Imbalance factor over the last hour"), chart, _chart_legend(sample.verdict)]
    if sample.ranks:
        parts += [el("h3", "Ranks"), _ranks(sample), _bar_legend()]
    parts += _scheduler(sample.scheduler)
    parts += _plan(sample.plan)
    parts += _subvolumes(sample)
    return el("section", *parts)


def _verdict(sample: FsSample) -> list[Node]:
    if sample.verdict is None:
        return [el("span", "not judged", class_="badge dim")]
    if sample.uneven_epochs:
        of = "" if sample.verdict.triggered else f": {hot_told(sample.verdict)}"
        of = of if sample.verdict.uneven else " when all ranks were judged last"
        return [el("span", f"uneven for {_epochs(sample.uneven_epochs)}{of}", class_="badge bad")]
    if sample.verdict.uneven:  # as if all ranks were alike
        return [el("span", "even, by what each rank can serve", class_="badge good")]
    if sample.verdict.unsettled:
        return [el("span", "uneven, urgency unknown", class_="badge dim")]
    return [el("span", "no need to act", class_="badge good")]


def _epochs(number: int) -> str:
    return "1 epoch" if number == 1 else f"{number:,} epochs"


def _figure(name: str, value: str, note: str = "") -> Element:
    small = [el("small", note)] if note else []
    return el("div", el("dt", name), el("dd", value, *small))


def _figures(sample: FsSample) -> Element:
    figures = []
    verdict = sample.verdict
    if verdict is not None:
        figures += _of_verdict(verdict)
    figures.append(_load(sample))
    if verdict is not None:
        known = verdict.capacity.value
        value = UNKNOWN if known is None else f"{count(known)}/s"
        figures.append(_figure("Capacity of a rank", value, told(verdict.capacity.source)))
    active = str(len(sample.ranks)) if sample.observed else UNKNOWN
    figures.append(_figure("Active ranks", active, _recommended(sample.analysis)))
    return el("dl", *figures)


def _load(sample: FsSample) -> Element:
    known, ranks = sum(rank.load is not None for rank in sample.ranks), len(sample.ranks)
    if not sample.observed or (ranks and not known):
        return _figure("Load", UNKNOWN)
    of = "all ranks" if known == ranks else f"of {known} of {ranks} ranks"
    return _figure("Load", f"{count(sample.load)}/s", f"requests, {of}")


def _of_verdict(verdict: Verdict) -> list[Element]:
    variation = f"variation {verdict.cov:.2f}"
    act = f"act above {verdict.threshold:g}"
    if verdict.factor is None or verdict.urgency is None:
        return [
            _figure("Imbalance factor", f"≤ {verdict.most:.3f}", act),
            _figure("Urgency", UNKNOWN, variation),
        ]
    return [
        _figure("Imbalance factor", f"{verdict.factor:.3f}", act),
        _figure("Urgency", f"{verdict.urgency:.2f}", variation),
    ]


def _recommended(analysis: AnalysisState | None) -> str:
    if analysis is None:
        return ""
    return f"recommended: {UNKNOWN if analysis.recommended is None else analysis.recommended}"


def _chart_legend(verdict: Verdict) -> Element:
    return el("p", el("span", class_="key limit"), f"threshold {verdict.threshold:g}", class_="legend")


def _bar_legend() -> Element:
    return el(
        "p",
        el("span", class_="key load"),
        "load",
        el("span", class_="key hot"),
        f"load above {NEAR:.0%} of capacity, or saturated",
        el("span", class_="key forecast"),
        "forecast",
        el("span", class_="key limit"),
        "capacity",
        class_="legend",
    )


def _table(columns: Sequence[tuple[str, str]], rows: Iterable[Element]) -> Element:
    """Columns are titles with a class, or ""."""
    titles = (el("th", title, scope="col", **({"class_": kind} if kind else {})) for title, kind in columns)
    head = el("tr", *titles)
    return el("div", el("table", el("thead", head), el("tbody", *rows)), class_="scroll")


def _ranks(sample: FsSample) -> Element:
    capacity = sample.verdict.capacity.value if sample.verdict else None
    most = max((max(r.load or 0.0, r.forecast or 0.0) for r in sample.ranks), default=0.0)
    # The capacity sets the scale, unless it is so far off that every bar would be a dot.
    full = capacity if capacity is not None and most <= capacity <= 8 * most else most * 1.05
    columns = (
        *(("Rank", ""), ("Load", "left"), ("req/s", ""), ("Forecast", ""), ("Latency", "")),
        *(("Inodes", ""), ("Would move", "left")),
    )
    return _table(columns, [_rank(r, sample, capacity, full) for r in sample.ranks])


def _rank(rank: RankState, sample: FsSample, capacity: float | None, full: float) -> Element:
    load, told = rank.load or 0.0, _fullness(rank, capacity)
    mark: list[Node] = [" ", el("span", told, class_="bad")] if told else []
    return el(
        "tr",
        el("td", f"{rank.rank} ", el("span", rank.daemon, class_="dim"), *mark),
        el("td", bar(load, rank.forecast, capacity, full, bool(told)), class_="wide"),
        el("td", _known(rank.load)),
        el("td", _known(rank.forecast)),
        el("td", "-" if rank.latency is None else f"{rank.latency * 1000:.1f} ms"),
        el("td", _known(rank.inodes)),
        el("td", _role(rank, sample), class_="left"),
    )


def _fullness(rank: RankState, capacity: float | None) -> str:
    """In a word, as colours are not for everybody; "": it has room, or that is not known."""
    if rank.saturated:
        return "saturated"
    return "near capacity" if capacity is not None and (rank.load or 0.0) > NEAR * capacity else ""


def _known(number: float | None) -> str:
    return "-" if number is None else count(number)


def _role(rank: RankState, sample: FsSample) -> str:
    moves = sample.verdict.moves if sample.verdict else ()
    given = largest([(m.amount, f"to {m.target}") for m in moves if m.source == rank.rank])
    taken = largest([(m.amount, f"from {m.source}") for m in moves if m.target == rank.rank])
    return "; ".join(told for told in (given, taken) if told)


def _scheduler(state: SchedulerState | None) -> list[Node]:
    if state is None or state.mode == OFF:
        return []
    badge = el("span", state.mode, class_="badge bad" if state.stuck else "badge dim")
    parts: list[Node] = [el("h3", "Scheduler ", badge), el("p", f"{state.why}; {_done(state)}", class_="dim")]
    if state.problem:
        parts.append(el("p", f"problem: {state.problem}", class_="bad"))
    if state.hot:
        columns = (("Hot spot", ""), ("Kind", "left"), ("Share", ""))
        parts.append(_table(columns, [_hot(spot) for spot in state.hot[:MOST_HOT]]))
    if state.last:
        last = [(clock.told(at), text) for at, text in state.last]
        rows = [el("tr", el("td", at), el("td", text, class_="left name")) for at, text in last]
        parts.append(_table((("Decided", ""), ("What", "left")), rows))
    return parts


def _done(state: SchedulerState) -> str:
    facts = [
        f"{state.under_way} moves under way",
        f"{state.moves:,} moves of {count(state.inodes)} inodes in all",
        f"{count(state.predicted)} req/s were to be gained in the last hour, {count(state.real)} were",
    ]
    if state.advised:
        facts[0] = f"{state.advised} moves advised"
    return ", ".join(facts)


def _hot(spot: HotState) -> Element:
    share = el("td", f"{spot.share:.0%}")
    return el("tr", el("td", spot.path, class_="name"), el("td", spot.kind, class_="left"), share)


def _plan(plan: PlanState | None) -> list[Node]:
    if plan is None:
        return []
    state = el("span", plan.told, class_="badge bad" if plan.waiting else "badge dim")
    parts: list[Node] = [
        el("h3", f"Plan {plan.name} ", state),
        el("progress", value=plan.progress, max=1, aria_label="progress of the plan"),
        el("p", _plan_facts(plan), class_="dim"),
    ]
    if plan.why:
        parts.append(el("p", plan.why, class_="bad" if plan.waiting else "dim"))
    return parts


def _plan_facts(plan: PlanState) -> str:
    facts = [f"{plan.progress:.0%} of its steps have ended", f"about {count(plan.inodes)} inodes to move"]
    if plan.started is not None:
        facts.append(f"started {clock.told(plan.started)}")
    if plan.finished is not None:
        facts.append(f"ended {clock.told(plan.finished)}")
    return ", ".join(facts)


def _subvolumes(sample: FsSample) -> list[Node]:
    analysis = sample.analysis
    if analysis is None:
        hint = f"Not analyzed yet: ceph mds_partitioner analyze start {sample.fs}"
        if sample.analyzing is not None:
            hint = f"Being analyzed: {sample.analyzing:.0%}"
        return [el("h3", "Subvolumes"), el("p", hint, class_="dim")]
    columns = (
        *(("Name", ""), ("Class", "left"), ("Workload", ""), ("req/s", ""), ("Working set", "")),
        ("Ranks then", "left"),
    )
    rows = [
        el(
            "tr",
            el("td", s.name, class_="name"),
            el("td", s.klass, class_="left"),
            el("td", count(s.workload)),
            el("td", count(s.requests)),
            el("td", count(s.wss)),
            el("td", ranks_cell(s.ranks), class_="left"),
        )
        for s in analysis.top
    ]
    told = f"The {len(rows):,} heaviest of {analysis.total:,}, analyzed until {clock.told(analysis.ended)}."
    return [el("h3", "Subvolumes"), _table(columns, rows), el("p", told, class_="legend")]
