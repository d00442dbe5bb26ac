# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report, as Markdown: report.md.in with the numbers of a study."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from string import Template

import numpy as np

from mds_partitioner.engine.urgency import ROLE_THRESHOLD, SMOOTHNESS, THRESHOLD
from sim.markdown import table, yes
from sim.papers.lunule import published as said
from sim.papers.lunule.experiment import Run
from sim.papers.lunule.published import LIGHT, LUNULE, SPILL, VANILLA
from sim.papers.lunule.selection import SIBLING, TOLERANCE
from sim.papers.lunule.setting import METADATA
from sim.papers.lunule.study import (
    BALANCERS,
    DATA,
    HASHED,
    NEW,
    OTHERS,
    PHASE,
    PHASES,
    SCALES,
    SEEDS,
    WORKLOADS,
    Study,
    changes,
)
from sim.papers.lunule.workloads import CNN, MD, NLP, WEB, ZIPF
from sim.provenance import rows

_TEMPLATE = Path(__file__).with_name("report.md.in")
_K = 1_000.0
_CLOSE = 1.05  # what differs by less is alike
_SETTLED = 60  # s at the end of a phase
Row = tuple[str, str, str, str]


def text(study: Study, pictures: Sequence[str]) -> str:
    """The whole report; pictures: file names beside it."""
    return Template(_TEMPLATE.read_text()).substitute(
        beside=table(("figure", "the paper", "here", "alike"), [*_single(study), *_others(study)]),
        order=_order(study),
        all=_all(study),
        completion=_completion(study),
        varied=_varied(study),
        web=_web(study),
        pictures="\n\n".join(f"![{name}]({name})" for name in pictures),
        parameters=table(("parameter", "value", "from", "why"), _parameters(study)),
        seeds=len(SEEDS),
        minutes=f"{study.setting.minutes:.0f}",
        create_minutes=f"{study.setting.create_minutes:.0f}",
        clients=study.setting.clients,
        **_told(study),
    )


def _told(study: Study) -> dict[str, str]:
    """Numbers of the sentences."""
    found, varied = study.single, study.varied
    spill = [_mean(found[name, SPILL], _factor) for name in WORKLOADS]
    wide = {
        width: _ratio(varied[f"spread {value}", LUNULE], varied[f"spread {value}", VANILLA])
        for width, value in (("narrow", "0.01"), ("middle", "0.1"), ("wide", "1"))
    }
    return {
        **wide,
        "cnn": f"{_rate(found[CNN, LUNULE]) / _rate(found[CNN, VANILLA]):.2f}",
        "nlp_ratio": f"{_rate(found[NLP, LUNULE]) / _rate(found[NLP, VANILLA]):.2f}",
        "cnn_busiest": f"{100 * _mean(found[CNN, VANILLA], _busiest):.0f}",
        "cnn_moves": f"{_mean(found[CNN, LUNULE], _moves):,.0f}",
        "nlp_moves": f"{_mean(found[NLP, LUNULE], _moves):,.0f}",
        "nlp_fragments": str(study.setting.nlp_folders * study.setting.nlp_fragments),
        "nlp": _many(_rate(found[NLP, LUNULE])),
        "nlp_light": _many(_rate(found[NLP, LIGHT])),
        "spill_least": f"{min(spill):.2f}",
        "spill_most": f"{max(spill):.2f}",
        "zipf_vanilla": f"{_mean(found[ZIPF, VANILLA], _factor):.3f}",
        "zipf_new": f"{_mean(found[ZIPF, 'Ceph 20.2'], _factor):.3f}",
        "forwards": _ratio(varied["forwards 0.5", LUNULE], varied["forwards 0.5", VANILLA]),
        "phase": f"{PHASE / 60:.0f}",
        "new": str(NEW),
        "linear": f"{100 * study.scale[SCALES[-1]].peak / study.scale[1].peak / SCALES[-1]:.0f}",
        "data": " and ".join(f"{_K * value:.0f}" for value in DATA),
    }


def _mean(runs: Sequence[Run], measure: Callable[[Run], float]) -> float:
    """Over seeds."""
    return float(np.mean([measure(run) for run in runs]))


def _rate(runs: Sequence[Run]) -> float:
    """req/s over whole runs."""
    return _mean(runs, lambda run: run.mean)


def _factor(run: Run) -> float:
    return float(run.factors.mean())


def _moves(run: Run) -> float:
    return float(run.moves)


def _inodes(run: Run) -> float:
    return run.inodes


def _many(value: float) -> str:
    return f"{value / _K:.1f}"


def _ratio(run: Run, other: Run) -> str:
    return f"{run.mean / other.mean:.2f}"


def _busiest(run: Run) -> float:
    """Its part of all requests."""
    by_rank = run.loads.sum(axis=0)
    return float(by_rank.max() / by_rank.sum())


def _single(study: Study) -> Iterator[Row]:
    """Sections 2.2 and 4.3."""
    found = study.single
    factor = {key: _mean(runs, _factor) for key, runs in found.items()}
    for (name, one, other), times in said.FASTER.items():
        ours = _rate(found[name, one]) / _rate(found[name, other])
        best = [_mean(found[name, balancer], lambda run: run.peak) for balancer in (one, other)]
        yield (
            f"7, {name}: {one} over {other}",
            f"{times:.2f}",
            f"{ours:.2f}; best minute {best[0] / best[1]:.2f}",
            "the order" if ours > _CLOSE else yes(alike=False),
        )
    spill = [factor[name, SPILL] for name in WORKLOADS]
    yield (
        "6: GreedySpill is the worst everywhere, IF",
        "near 1",
        ", ".join(f"{value:.2f}" for value in spill),
        yes(all(factor[w, SPILL] == max(factor[w, b] for b in BALANCERS) for w in WORKLOADS)),
    )
    lower = [1 - factor[w, LUNULE] / factor[w, b] for w in WORKLOADS for b in (VANILLA, SPILL)]
    yield (
        "6: Lunule's mean IF below Vanilla's and GreedySpill's, %",
        f"{100 * said.IF_LOWER[0]:.1f} to {100 * said.IF_LOWER[1]:.1f}",
        f"{100 * min(lower):.1f} to {100 * max(lower):.1f}",
        yes(min(lower) > 0.0),
    )
    yield (
        "6, CNN, NLP: Vanilla's IF as GreedySpill's",
        "'the same poor results'",
        "; ".join(f"{factor[w, VANILLA]:.2f}, {factor[w, SPILL]:.2f}" for w in (CNN, NLP)),
        yes(all(factor[w, VANILLA] * _CLOSE > factor[w, SPILL] for w in (CNN, NLP))),
    )
    zipf = np.mean([run.factors for run in found[ZIPF, VANILLA]], axis=0)
    early, late = float(zipf[:30].min()), float(zipf[30:].mean())
    yield (
        "6, Zipf: Vanilla's IF after the lowest of the first 5 minutes",
        "'fluctuates and keeps increasing'",
        f"{early:.2f}, then {late:.2f} in the mean, {zipf[30:].max():.2f} at most",
        yes(late > early * _CLOSE),
    )
    yield (
        "6, MD: Vanilla's IF",
        f"roughly constant, {said.MD_VANILLA_IF}",
        f"{factor[MD, VANILLA]:.2f}",
        yes(abs(factor[MD, VANILLA] - said.MD_VANILLA_IF) < 0.05),
    )
    yield (
        "6, Zipf, Web, MD: Lunule-Light's IF as Lunule's",
        "'similar'",
        "; ".join(f"{factor[w, LIGHT]:.3f}, {factor[w, LUNULE]:.3f}" for w in (ZIPF, WEB, MD)),
        yes(all(abs(factor[w, LIGHT] - factor[w, LUNULE]) < 0.05 for w in (ZIPF, WEB, MD))),
    )
    busiest = _mean(found[CNN, VANILLA], _busiest)
    yield (
        "2, CNN: the busiest rank's part of the requests under Vanilla, %",
        f"{100 * said.BUSIEST_CNN:.1f}",
        f"{100 * busiest:.1f}",
        yes(busiest > 0.8),
    )


def _others(study: Study) -> Iterator[Row]:
    """Figures 8, 12 and 13."""
    for data in DATA:
        short = {
            name: 1 - _through(study.data[name, LUNULE, data]) / _through(study.data[name, VANILLA, data])
            for name in METADATA
        }
        most = [short[name] for name in (CNN, NLP, ZIPF)]
        with_data = f"data {_K * data:.0f} ms"
        yield (
            f"8: completion under Lunule shorter than under Vanilla, CNN, NLP, Zipf, %; {with_data}",
            f"{100 * said.SHORTER[0]:.1f} to {100 * said.SHORTER[1]:.1f}",
            ", ".join(f"{100 * value:.1f}" for value in most),
            "the order" if min(most) > 1.0 - 1.0 / _CLOSE else yes(alike=False),
        )
        limited = yes(short[WEB] < said.SHORTER[0])
        yield f"8: the same, Web, %; {with_data}", "'limited'", f"{100 * short[WEB]:.1f}", limited
    three = [float(study.growing.loads[end - _SETTLED : end].sum(axis=1).mean()) for end in (600, 1200, 1800)]
    yield (
        "12a: 4, 5, 6 ranks, 1,000 req/s at the end of each",
        ", ".join(f"{value / _K:.0f}" for value in said.ADDED),
        ", ".join(_many(value) for value in three),
        yes(three == sorted(three)),
    )
    ends = [int((k + 1) * PHASE) for k in range(PHASES)]
    steps = [float(study.phases.loads[end - _SETTLED : end].sum(axis=1).mean()) for end in ends]
    yield (
        f"12b: {NEW} clients more in each phase, 1,000 req/s at the end of each",
        "every rank's grows",
        ", ".join(_many(value) for value in steps),
        yes(steps == sorted(steps)),
    )
    peaks = [study.scale[ranks].peak for ranks in SCALES]
    yield (
        "13a: 16 ranks over one, MD",
        "linear; 112,000 req/s",
        f"{peaks[-1] / peaks[0]:.1f} times; {peaks[-1]:,.0f} req/s",
        yes(peaks[-1] / peaks[0] > 0.9 * SCALES[-1]),
    )
    web = [study.web[b, 0.0].mean for b in (LUNULE, HASHED, VANILLA)]
    yield (
        "13b, Web: Lunule over Dir-Hash, over Vanilla",
        f"up to {said.OVER_HASH}",
        f"{web[0] / web[1]:.2f}, {web[0] / web[2]:.2f}",
        "the order" if min(web[0] / web[1], web[0] / web[2]) > _CLOSE else yes(alike=False),
    )
    away = {b: study.web[b, 0.5].forwards for b in (LUNULE, HASHED, VANILLA)}
    yield (
        "13b, Web: forwards of Dir-Hash over Lunule's, Vanilla's (forwards 0.5)",
        f"{said.HASH_FORWARDS}",
        f"{away[HASHED] / away[LUNULE]:.2f}, {away[HASHED] / away[VANILLA]:.2f}",
        "the order" if away[HASHED] > _CLOSE * max(away[LUNULE], away[VANILLA]) else yes(alike=False),
    )


def _through(run: Run) -> float:
    return float(run.ended.max())


def _order(study: Study) -> str:
    """Balancers by throughput, the best first; = where the next is within a twentieth."""
    found = []
    for name in WORKLOADS:
        rates = {balancer: _rate(study.single[name, balancer]) for balancer in BALANCERS}
        best = sorted(BALANCERS, key=lambda balancer: -rates[balancer])
        line = best[0]
        for better, worse in pairwise(best):
            line += f" {'=' if rates[better] < _CLOSE * rates[worse] else '>'} {worse}"
        found.append((name, line))
    return table(("workload", "here"), found)


def _all(study: Study) -> str:
    titles = (
        *("workload", "balancer", "1,000 req/s", "lowest to highest", "best minute", "mean IF"),
        *("IF, last third", "busiest rank, %", "moves", "1,000 inodes"),
    )
    found = []
    for name, balancer in product(WORKLOADS, (*BALANCERS, *OTHERS)):
        runs = study.single[name, balancer]
        rates = [run.mean for run in runs]
        found.append(
            (
                *(name, balancer, _many(_rate(runs)), f"{_many(min(rates))} to {_many(max(rates))}"),
                *(_many(_mean(runs, lambda run: run.peak)), f"{_mean(runs, _factor):.3f}"),
                f"{_mean(runs, lambda run: float(run.factors[2 * run.factors.size // 3 :].mean())):.3f}",
                f"{100 * _mean(runs, _busiest):.0f}",
                f"{_mean(runs, _moves):,.0f}",
                f"{_mean(runs, _inodes) / _K:,.0f}",
            )
        )
    return table(titles, found)


def _completion(study: Study) -> str:
    titles = (
        *("workload", "data, ms", "Vanilla, last client", "Lunule, last client"),
        *("Vanilla, half", "Lunule, half"),
    )
    found = []
    for name, data in product(METADATA, DATA):
        ends = [study.data[name, balancer, data].ended / 60.0 for balancer in (VANILLA, LUNULE)]
        times = (*(e.max() for e in ends), *(np.median(e) for e in ends))
        found.append((name, f"{_K * data:.0f}", *(f"{time:.0f}" for time in times)))
    return table(titles, found)


def _web(study: Study) -> str:
    found = []
    for balancer in (VANILLA, LUNULE, HASHED):
        free, late = study.web[balancer, 0.0], study.web[balancer, 0.5]
        found.append(
            (
                balancer,
                _many(free.mean),
                f"{free.factors.mean():.3f}",
                _many(late.mean),
                f"{late.forwards:.3f}",
            )
        )
    titles = ("Web", "1,000 req/s", "mean IF", "1,000 req/s, forwards 0.5", "forwards a request")
    return table(titles, found)


def _varied(study: Study) -> str:
    found = []
    for label in changes(study.setting):
        ours, other = study.varied[label, LUNULE], study.varied[label, VANILLA]
        factors = (f"{run.factors.mean():.3f}" for run in (other, ours))
        found.append((label, _many(other.mean), _many(ours.mean), _ratio(ours, other), *factors))
    titles = (
        *("changed", "Vanilla, 1,000 req/s", "Lunule, 1,000 req/s", "their ratio", "Vanilla, mean IF"),
        "Lunule, mean IF",
    )
    return table(titles, found)


def _parameters(study: Study) -> list[tuple[str, str, str, str]]:
    return [
        *rows(study.setting),
        ("S", f"{SMOOTHNESS}", "paper", "3.2"),
        ("threshold of IF", f"{THRESHOLD}", "assumed", "what the authors ship (README of their repository)"),
        ("L", f"{ROLE_THRESHOLD}", "assumed", "this project's default"),
        ("C", "the capacity", "assumed", "the authors ship 8,000; their ranks served more"),
        ("Cap", "none", "assumed", "in inodes; how these become requests is not told"),
        ("epochs of the regression", "12", "assumed", "as this project's module"),
        ("windows", "8", "assumed", "of an epoch each; n and N are not told"),
        ("probability of a sibling", f"{SIBLING}", "assumed", "'a certain probability'"),
        ("tolerance of the search", f"{TOLERANCE}", "paper", "4.1"),
    ]
