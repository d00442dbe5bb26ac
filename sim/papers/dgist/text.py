# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report, as Markdown: report.md.in with the model's numbers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import Template

from sim.markdown import table
from sim.papers.dgist.lab import WORKERS, Measured
from sim.papers.dgist.model import (
    Cluster,
    Reply,
    Sharing,
    clusters,
    creates,
    fullest_share,
    needed_round_trip,
    stats,
)
from sim.papers.dgist.setting import Setting
from sim.provenance import rows

_TEMPLATE = Path(__file__).with_name("report.md.in")
_SCALING = {"creates": 2.082, "removes": 1.466, "stats": 3.438}  # Figure III.1, from 1 to 16 MDSs
_MS = 1_000.0


def text(setting: Setting, lab: Measured, pictures: Sequence[str]) -> str:
    """The whole report; pictures: file names beside it."""
    shares = (f"{100 * fullest_share(gain):.0f} % ({what})" for what, gain in _SCALING.items())
    return Template(_TEMPLATE.read_text()).substitute(
        release=lab.release,
        creates=_creates(setting),
        write=f"{_MS * setting.write:g}",
        needed=" or ".join(
            f"{_MS * needed_round_trip(setting, reply, setting.best):.2f} ms ({reply.value} replies)"
            for reply in Reply
        ),
        late=_late(setting, lab),
        stats=_stats(setting, lab),
        cached=f"{1e6 * setting.cached:g}",
        shares=", ".join(shares),
        pictures="\n\n".join(f"![{name}]({name})" for name in pictures),
        parameters=table(("parameter", "value", "from", "why"), rows(setting)),
    )


def _creates(setting: Setting) -> str:
    found = []
    for reply in Reply:
        for processes in (1, setting.processes):
            rates = {name: creates(setting, one, reply, processes) for name, one in clusters(setting).items()}
            found.append(
                (
                    reply.value,
                    str(processes),
                    f"{rates['B']:,.0f}",
                    *(f"{rates[name] / rates['B']:.2f}" for name in rates if name != "B"),
                )
            )
    titles = ("reply", "processes", "B, op/s", *(f"{name} / B" for name in clusters(setting) if name != "B"))
    return table(titles, found)


def _late(setting: Setting, lab: Measured) -> str:
    first = lab.creates[0]
    # At full load the MDS's work is what one create takes of it.
    own = replace(setting, create=1.0 / first.rate, write=0.0)
    found = []
    for one in lab.creates:
        by_reply = (
            creates(own, Cluster(0.0, one.journal, 0.0), reply, WORKERS)
            / creates(own, Cluster(0.0, first.journal, 0.0), reply, WORKERS)
            for reply in Reply
        )
        found.append(
            (
                f"{_MS * one.delay:g}",
                f"{_MS * one.journal:.1f}",
                f"{one.rate / first.rate:.2f}",
                *(f"{factor:.2f}" for factor in by_reply),
            )
        )
    titles = (
        "late by, ms",
        "journal write, ms",
        "lab, of the first",
        *(f"{reply.value} replies" for reply in Reply),
    )
    return table(titles, found)


def _stats(setting: Setting, lab: Measured) -> str:
    clients = sorted(lab.stats)
    found = [
        (sharing.value, *(f"{stats(setting, sharing, n) / stats(setting, sharing, 1):.3f}" for n in clients))
        for sharing in Sharing
    ]
    found.append(("the lab", *(f"{lab.stats[n] / lab.stats[1]:.3f}" for n in clients)))
    found.append(("the thesis", *("1" if n == 1 else "below 0.1" for n in clients)))
    return table(
        ("op/s of all, of one client's", *(f"{n} clients" if n > 1 else "1 client" for n in clients)), found
    )
