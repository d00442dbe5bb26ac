# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report, as Markdown: report.md.in with the numbers of a study."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

import numpy as np

from sim.markdown import table, yes
from sim.papers.tpps.detect import looking
from sim.papers.tpps.measure import MOST, THREADS
from sim.papers.tpps.study import CACHES, SIZES, VARIED, Study, peak_minute
from sim.provenance import rows

_TEMPLATE = Path(__file__).with_name("report.md.in")
_K = 1_000.0
_CLOSE = 1.05  # what differs by less is alike
_SHOWN = (2, 5, 9)  # of THREADS


def text(study: Study, pictures: Sequence[str]) -> str:
    """The whole report; pictures: file names beside it."""
    n = study.setting.namenodes
    return Template(_TEMPLATE.read_text()).substitute(
        beside=table(
            ("figure", "the paper", "here", "alike"), [*_load(study), *_caches(study), *_time(study)]
        ),
        parc_choices=f"{study.systems['PARC'].chosen.mean():.2f}",
        one=f"{_last(study, '1: T'):.0f}",
        two=f"{_last(study, '2: T, T/2, T/4'):.0f}",
        three=f"{_last(study, '1: T, T/2, T/4'):.0f}",
        one_choices=f"{study.systems['1: T, T/2, T/4'].chosen.mean():.1f}",
        two_choices=f"{study.systems['2: T, T/2, T/4'].chosen.mean():.1f}",
        critical=", ".join(f"{count} at {_K * think:.0f} ms" for think, count in study.critical.items()),
        pictures="\n\n".join(f"![{name}]({name})" for name in pictures),
        all=_all(study),
        runs=study.setting.runs,
        most=MOST,
        sizes=_sizes(study),
        varied=_varied(study),
        n=n,
        k=looking(n),
        records=f"{study.laws.records:.2f}",
        harmonic=f"{sum(1 / i for i in range(1, n + 1)):.2f}",
        log=f"{np.log(n):.2f}",
        success=f"{100 * study.laws.success:.1f}",
        formula=f"{100 * study.laws.formula:.1f}",
        parameters=table(("parameter", "value", "from", "why"), rows(study.setting)),
    )


def _load(study: Study) -> list[tuple[str, str, str, str]]:
    gaps = [_K * (slow - fast) for slow, fast in study.gap]
    at = ", ".join(str(THREADS[index]) for index in _SHOWN)
    by_period = _tops(study, "1: T", "1: T/2", "1: T/4")
    by_runs = _tops(study, "2: T", "2: T, T/2", "2: T, T/2, T/4")
    critical = study.critical[study.setting.think_s]
    return [
        (
            "6: slowest less fastest namenode, ms, three numbers of threads",
            "18, 39, 81",
            f"{_listed(gaps[index] for index in _SHOWN)} at {at}",
            "it rises" if _rises(gaps) else "no",
        ),
        (
            "7: Algorithm 1, T = 1, 1/2, 1/4 of the window, 1,000 req/s",
            "shorter is better",
            _listed(by_period),
            yes(_rises(by_period)),
        ),
        ("7: from how many threads of a client on", "63", str(critical), yes(critical == 63)),
        (
            "8: Algorithm 2 once, twice, three times at once, 1,000 req/s",
            "more is better",
            _listed(by_runs),
            yes(_rises(by_runs)),
        ),
    ]


def _caches(study: Study) -> list[tuple[str, str, str, str]]:
    none, lru, arc, queues, parc = (
        float(_K * study.systems[name].response(study.setting)[:, -1].mean()) for name in ("subtree", *CACHES)
    )
    return [
        (
            "9: answer without a cache, ms",
            "the worst",
            f"{none:.2f}",
            yes(none > max(lru, arc, queues, parc)),
        ),
        ("9: LRU, ARC, ms", "'almost inefficient'; good", f"{lru:.2f}; {arc:.2f}", yes(lru > _CLOSE * arc)),
        ("9: PARC, ARC, ms", "PARC is better", f"{parc:.2f}; {arc:.2f}", yes(arc > _CLOSE * parc)),
        (
            "9: PARC, the paper's ARC, ms",
            "PARC is better",
            f"{parc:.2f}; {queues:.2f}",
            yes(queues > _CLOSE * parc),
        ),
        ("9: PARC stays near 10 ms", "basically", f"{parc:.2f}", yes(parc <= 10.0)),
    ]


def _time(study: Study) -> list[tuple[str, str, str, str]]:
    first, second = (study.systems[name].over_time.mean(axis=0) / _K for name in ("1: T", "2: T, T/2, T/4"))
    alone, there = int(first.argmax()) + 1, peak_minute(second, float(first.max()))
    framework = ("subtree", "hash", "PARC")
    spread = [float(np.ptp(study.systems[name].throughput[:, -1])) / _K for name in framework]
    return [
        (
            "10: minute of Algorithm 1's (T) most; minute in which Algorithm 2 (three) has as much",
            "13; 8",
            f"{alone}; {there}",
            "the order" if there is not None and there < alone else "no",
        ),
        (
            "10: most of Algorithms 1 and 2, 1,000 req/s",
            "100; 140",
            f"{first.max():.0f}; {second.max():.0f}",
            "the order" if second.max() > first.max() else "no",
        ),
        (
            "11: subtree, hash, framework, 1,000 req/s",
            "in this order",
            _listed(_tops(study, *framework)),
            yes(_rises(_tops(study, *framework))),
        ),
        (
            "11: highest less lowest run of these, 1,000 req/s",
            "the framework's is the smallest",
            _listed(spread),
            yes(spread[2] == min(spread)),
        ),
    ]


def _all(study: Study) -> str:
    titles = (
        "system",
        *(f"1,000 req/s, {THREADS[index]} threads" for index in _SHOWN),
        "lowest to highest",
        "answer, ms",
        "looked up by a namenode",
        "choices a window",
    )
    found = []
    for name, system in study.systems.items():
        means = system.throughput.mean(axis=0) / _K
        top = system.throughput[:, -1] / _K
        found.append(
            (
                name,
                *(f"{means[index]:.1f}" for index in _SHOWN),
                f"{top.min():.1f} to {top.max():.1f}",
                f"{_K * system.response(study.setting)[:, -1].mean():.2f}",
                f"{system.missed.mean():.3f}",
                f"{system.chosen.mean():.2f}",
            )
        )
    return table(titles, found)


def _sizes(study: Study) -> str:
    found = [
        (f"{entries:,}", *(f"{_K * study.sizes[name][index]:.2f}" for name in CACHES))
        for index, entries in enumerate(SIZES)
    ]
    return table(("entries", *CACHES), found)


def _varied(study: Study) -> str:
    found = [(label, *(f"{by[name] / _K:.1f}" for name in VARIED)) for label, by in study.varied.items()]
    return table(("changed", *VARIED), found)


def _tops(study: Study, *names: str) -> list[float]:
    return [float(study.systems[name].throughput[:, -1].mean()) / _K for name in names]


def _last(study: Study, name: str) -> float:
    return float(study.systems[name].over_time[:, -1].mean()) / _K


def _rises(values: Iterable[float]) -> bool:
    return bool((np.diff(list(values)) > 0).all())


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)
