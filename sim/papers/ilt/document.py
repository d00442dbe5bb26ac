# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fills `report.md.in`. Every number is computed from the outcomes, or is the paper's."""

from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from sim.markdown import table
from sim.papers.ilt import experiments, measures, published
from sim.papers.ilt.experiments import Outcomes
from sim.papers.ilt.measures import Measure, median
from sim.papers.ilt.parameters import Costs, Design, Load, Setting
from sim.papers.ilt.run import SYSTEMS

PICTURES: Final = {
    "assumed": "waiting-as-assumed.png",
    "favour": "waiting-in-the-papers-favour.png",
    "dispatcher": "dispatcher.png",
    "rates": "rates.png",
    "added": "server-added.png",
}


def text(outcomes: Outcomes) -> str:
    """The whole report, Markdown."""
    template = Template(Path(__file__).with_name("report.md.in").read_text())
    parts = {
        "given": _given(),
        "assumed": _assumed(),
        "readings": _readings(outcomes),
        "dispatcher": _dispatcher(outcomes),
        "variants": _variants(outcomes),
        "rates": _rates(outcomes),
        "adjustment": _adjustment(outcomes),
        "added": _added(outcomes),
        "seeds": str(len(experiments.SEEDS)),
        "sweep_seeds": str(len(experiments.SWEEP_SEEDS)),
        "sweep_seconds": f"{experiments.SWEEP_DURATION / 1000:.0f}",
        "dispatcher_seconds": f"{experiments.DISPATCHER_DURATION / 1000:.0f}",
        "added_at": f"{experiments.SERVER_ADDED_AT / 1000:.0f}",
        "entries": str(Design().entries),
    }
    pictures = {f"picture_{name}": file for name, file in PICTURES.items()}
    return template.substitute(parts | pictures | _arithmetic() | _limits() | _orders(outcomes))


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return table(head, [list(map(str, row)) for row in rows], left=1)


def _facts(rows: Sequence[tuple[str, object]]) -> str:
    return table(("parameter", "value"), [(name, str(value)) for name, value in rows])


def _given() -> str:
    costs, load = Costs(), Load()
    return _facts(
        [
            ("servers", Design().servers),
            ("search in memory, mean", f"{costs.search} ms"),
            ("hits in the memory cache", f"{costs.hit_ratio:.0%}"),
            ("disk, one metadata", f"{costs.disk} ms"),
            ("network, one metadata", f"{costs.network} ms"),
            ("reads : writes", "9 : 1"),
            ("length of a run", f"{load.duration / 1000:.0f} s"),
        ]
    )


def _assumed() -> str:
    load, design = Load(), Design()
    return _facts(
        [
            ("arrivals", f"Poisson, {load.rate:.4f} requests/ms: see the next section"),
            (
                "bursts",
                f"{load.burst_share:.0%} of all requests, on average one burst in {load.burst_every:.0f} ms, "
                f"{load.burst_length:.0f} ms long, for the files of one directory; "
                f"{load.bursts_after_rename:.0%} of them for what was renamed last",
            ),
            ("files", f"{load.files}: 10 MB of metadata of 256 bytes, as the search time is for"),
            ("directories", f"{load.directories}, each in any that was there before it"),
            ("popularity of files", f"Zipf, exponent {load.zipf:g}"),
            (
                "writes",
                f"{load.creates_of_writes:.0%} create a file, {load.renames_of_writes:.0%} rename a "
                "directory with all below, the rest change a file",
            ),
            (
                "reads that write an access time",
                f"{design.access_time_updates:.0%}; the client does not wait for it",
            ),
            ("distribution of times", "search: exponential; disk, network: constant"),
            ("a server", "one queue, first come first served; a disk access holds it up"),
            ("a write", "found as a read is; logged later; answered when every server that does it has"),
            ("a rename on a replica", "a search for each file below (3.2: all is rearranged)"),
            (
                "moving a metadata",
                "a lookup, a network transfer, a search at the target; a source sends one by one",
            ),
            ("the table", f"{design.entries} entries"),
            (
                "load reports",
                f"each {design.adjust_every or 0:.0f} ms: requests waiting, mean since the last report",
            ),
            (
                "which entries go where",
                "the giver's lowest; to whoever has most room left, in its own Load_e",
            ),
        ]
    )


def _arithmetic() -> dict[str, str]:
    """What the paper's own numbers come to."""
    costs, rate, time = Costs(), Load().rate, published.BREAK_EVEN_TIME
    alone = _lookup() + costs.network
    return {
        "rate": f"{rate:.2f}",
        "little": ", ".join(f"{published.rate_by_little(system):.2f} ({system})" for system in SYSTEMS),
        "gap": f"{published.RESPONSE['Vesta'] - published.RESPONSE['ILT']:.2f}",
        "formula_mm1": f"{published.dispatcher_response(time, rate):.1f}",
        "formula_md1": f"{published.deterministic_response(time, rate):.1f}",
        "ilt_waiting": str(published.WAITING["ILT"]),
        "ilt_variance": str(published.VARIANCE["ILT"]),
        "vesta_variance": str(published.VARIANCE["Vesta"]),
        "lh3_variance": str(published.VARIANCE["LH3"]),
        "alone": f"{alone:.2f}",
        "busy": f"{rate * _lookup() / Design().servers:.0%}",
    }


def _lookup() -> float:
    """What a read keeps a server busy for, mean, ms."""
    costs = Costs()
    return costs.search + (1 - costs.hit_ratio) * costs.disk


def _limits() -> dict[str, str]:
    """The most requests/ms, when nothing but lookups and updates without a disk is done."""
    load, design = Load(), Design()
    written = (1 - load.reads) + load.reads * design.access_time_updates
    numbers = (design.servers, 2 * design.servers, 8 * design.servers)
    return {
        "limits": ", ".join(
            f"{1 / _lookup() / (load.reads / servers + written):.1f} (of {servers})" for servers in numbers
        ),
        "limit": f"{1 / _lookup() / written:.1f}",
        "limit_shared": f"{design.servers / _lookup() / (load.reads + written):.1f}",
    }


def _readings(outcomes: Outcomes) -> str:
    rows: list[Sequence[object]] = []
    shown: list[tuple[str, Measure, dict[str, float] | None]] = [
        ("mean response, ms (Table 3)", measures.response, published.RESPONSE),
        ("99th percentile of responses, ms", measures.late_response, None),
        ("requests waiting, mean (Table 2)", measures.waiting, published.WAITING),
        ("their variance between servers (Table 2)", measures.variance_of_servers, published.VARIANCE),
        ("their variance over servers and time", measures.variance_of_moments, None),
        ("forwards", measures.forwards, None),
        ("metadata moved", measures.moved, None),
    ]
    for label, measure, paper in shown:
        rows.append((f"**{label}**", *("" for _ in SYSTEMS)))
        if paper is not None:
            rows.append(("the paper", *(f"{paper[system]:.2f}" for system in SYSTEMS)))
        for reading, setting in experiments.READINGS.items():
            runs = experiments.seeded(setting)
            rows.append((reading, *(_spread(outcomes, system, runs, measure) for system in SYSTEMS)))
    return _table(["", *SYSTEMS], rows)


def _spread(outcomes: Outcomes, system: str, settings: Sequence[Setting], measure: Measure) -> str:
    values = [measure(outcomes[system, setting]) for setting in settings]
    middle = median(outcomes, system, settings, measure)
    return " ".join((_short(middle), f"({_short(min(values))} to {_short(max(values))})"))


def _short(value: float) -> str:
    """Some digits that count, without an exponent."""
    if value == 0 or value >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.5f}"


def _dispatcher(outcomes: Outcomes) -> str:
    def added(time: float, poisson: bool) -> str:
        with_it, without = (
            median(outcomes, "ILT", setting, measures.response)
            for setting in (experiments.dispatched(time, poisson), experiments.dispatched(None, poisson))
        )
        return f"{with_it - without:.2f}"

    rows = [
        (
            time,
            f"{time * Load().rate:.0%}",
            f"{published.dispatcher_response(time, Load().rate):.2f}",
            added(time, True),
            added(time, False),
        )
        for time in experiments.DISPATCHER_TIMES
    ]
    head = ["1/C, ms", "lambda / C", "1/(C - lambda)", "Poisson arrivals", "with bursts and renames"]
    return _table(head, rows)


def _variants(outcomes: Outcomes) -> str:
    rows = []
    for label, setting in experiments.VARIANTS.items():
        runs = experiments.swept(setting)
        responses = (f"{median(outcomes, system, runs, measures.response):.2f}" for system in SYSTEMS)
        rows.append((label, *responses, ", ".join(_order(outcomes, runs))))
    return _table(["", *SYSTEMS, "quickest first"], rows)


def _rates(outcomes: Outcomes) -> str:
    rows = [
        (
            rate,
            *(
                f"{median(outcomes, system, experiments.at_rate(rate), measures.response):.2f}"
                for system in SYSTEMS
            ),
        )
        for rate in experiments.RATES
    ]
    return _table(["requests/ms", *SYSTEMS], rows)


def _adjustment(outcomes: Outcomes) -> str:
    shown: dict[str, Measure] = {
        "mean response, ms": measures.response,
        "of reads": measures.read_response,
        "waiting": measures.waiting,
        "variance between servers": measures.variance_of_servers,
        "entries moved": measures.entries_moved,
    }
    labels = (
        "as assumed",
        "table never adjusted",
        "one server at a quarter of the speed",
        "the same, table never adjusted",
    )
    rows = []
    for label in labels:
        runs = experiments.swept(experiments.VARIANTS[label])
        rows.append((label, *(_short(median(outcomes, "ILT", runs, measure)) for measure in shown.values())))
    return _table([f"ILT, {experiments.SWEEP_DURATION / 1000:.0f} s", *shown], rows)


def _added(outcomes: Outcomes) -> str:
    rows = []
    for system in SYSTEMS:
        outcome = outcomes[system, experiments.SERVER_ADDED]
        since = outcome.responses[outcome.arrivals >= experiments.SERVER_ADDED_AT]
        rows.append(
            (
                system,
                f"{(outcome.added_for or 0) / 1000:.2f}",
                outcome.counts.metadata_moved,
                outcome.counts.forwards,
                f"{since.mean():.2f}",
                f"{since.max():.0f}",
            )
        )
    head = ["", "ready after, s", "metadata moved", "forwards", "mean response since, ms", "longest, ms"]
    return _table(head, rows)


def _order(outcomes: Outcomes, settings: Sequence[Setting]) -> list[str]:
    """The systems from the quickest mean response to the slowest."""
    return sorted(SYSTEMS, key=lambda system: median(outcomes, system, settings, measures.response))


def _orders(outcomes: Outcomes) -> dict[str, str]:
    """In which settings the paper's order holds."""
    runs = {label: experiments.swept(setting) for label, setting in experiments.VARIANTS.items()}
    runs |= {
        f"{label}, {len(experiments.SEEDS)} seeds": experiments.seeded(setting)
        for label, setting in experiments.READINGS.items()
    }
    orders = {label: _order(outcomes, settings) for label, settings in runs.items()}

    def where(first: str, second: str) -> str:
        return _which([k for k, found in orders.items() if found.index(first) < found.index(second)], orders)

    return {
        "ilt_first": _which([label for label, found in orders.items() if found[0] == "ILT"], orders),
        "ilt_over_vesta": where("ILT", "Vesta"),
        "vesta_over_lh3": where("Vesta", "LH3"),
    }


def _which(some: Sequence[str], of: dict[str, list[str]]) -> str:
    names = f" ({'; '.join(some)})" if 0 < len(some) <= len(of) // 3 else ""
    return f"{len(some) or 'none'} of the {len(of)} settings tried{names}"
