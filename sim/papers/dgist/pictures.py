# SPDX-License-Identifier: LGPL-2.1-or-later
"""Creates by cluster and processes; stat by clients."""

from pathlib import Path

from experiments.common.pictures import RANK_COLOURS, canvas
from sim.papers.dgist.model import Reply, Sharing, clusters, creates, stats
from sim.papers.dgist.setting import Setting

_PROCESSES = (1, 2, 4, 8, 16, 32, 64)


def draw(setting: Setting, out: Path) -> list[str]:
    """Both pictures into ``out``; their names."""
    _creates(setting, out / "create.png")
    _stats(setting, out / "stat.png")
    return ["create.png", "stat.png"]


def _creates(setting: Setting, path: Path) -> None:
    with canvas(1, 2, "Figure IV.2: creates of one MDS, by its way to the OSD", path) as axes:
        for panel, reply in zip(axes[0], Reply, strict=True):
            for index, (name, cluster) in enumerate(clusters(setting).items()):
                rates = [creates(setting, cluster, reply, each) for each in _PROCESSES]
                # Lines that lie on each other are all to be seen.
                width = 6.0 - 1.6 * index
                panel.plot(_PROCESSES, rates, color=RANK_COLOURS[index], label=name, linewidth=width)
            panel.axhline(setting.creates, color="#444444", linestyle=":", linewidth=1)
            panel.set(
                title=f"{reply.value} reply", xlabel="processes that create", ylabel="op/s", xscale="log"
            )
            panel.legend(fontsize="small")


def _stats(setting: Setting, path: Path) -> None:
    with canvas(1, 1, "Figure IV.3: stat of all clients in one directory", path) as axes:
        panel = axes[0][0]
        clients = range(1, setting.clients + 1)
        for index, sharing in enumerate(Sharing):
            rates = [stats(setting, sharing, each) for each in clients]
            panel.plot(
                clients, rates, color=RANK_COLOURS[index], label=sharing.value.partition(" (")[0], marker="o"
            )
        panel.set(xlabel="clients", ylabel="op/s", yscale="log")
        panel.legend(fontsize="small")
