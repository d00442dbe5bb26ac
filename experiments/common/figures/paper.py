# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Lunule's authors measured (Wang et al., SC '21), and how their setup differs from a cell's.

16 servers, five MDSs on one each, Ceph 12.2.5, 100 clients, runs of minutes to hours. Lunule there is a
changed MDS; Lunule-Light, its policy without its choice of subtrees, is nearest to ours on stock MDSs.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One figure of the paper, as a ratio."""

    workload: str
    figure: str
    of: str
    against: str
    what: str
    ratio: float
    where: str
    differs: str
    """Why a figure of ours may be another one, whatever it is."""


_CONVOY = "clients begin spread over the data set here, and together there"
_MADE_LOG = "the log is a made one: 6,000 files, where theirs has 302,000"
_SHORT = "a run has six beats of the balancer here, and hundreds there"
OPS, P99, MEAN_IF = "op/s", "completion p99, s", "mean IF"
PEAK, RANKS_WORTH = "op/s, best ten seconds", "op/s / C"

CLAIMS = (
    Claim("cnn", "7a", "lunule-mindex", "builtin", OPS, 2.81, "4.3", _CONVOY),
    Claim("cnn", "7a", "lunule", "builtin", OPS, 2.81 / 2.15, "4.3, Lunule-Light", _CONVOY),
    Claim("cnn", "7a", "lunule-mindex", "greedyspill", OPS, 2.14, "4.3", _CONVOY),
    Claim("nlp", "7b", "lunule-mindex", "builtin", OPS, 1.76, "4.3", _CONVOY),
    Claim("nlp", "7b", "lunule", "builtin", OPS, 1.76 / 1.78, "4.3, Lunule-Light", _CONVOY),
    Claim("nlp", "7b", "lunule-mindex", "greedyspill", OPS, 1.65, "4.3", _CONVOY),
    Claim("web", "13b", "lunule-mindex", "dir-hash", OPS, 1.222, "4.6, at most", _MADE_LOG),
    Claim("md", "7e", "lunule-mindex", "builtin", OPS, 1.17, "4.3", _SHORT),
    Claim("md", "7e", "lunule", "builtin", OPS, 1.076, "4.3, Lunule-Light", _SHORT),
    Claim("mix", "11", "lunule-mindex", "builtin", P99, 1 / 1.42, "4.4", _SHORT),
    Claim("mix", "10", "lunule-mindex", "builtin", OPS, 1.6, "4.4, first 50 minutes", _SHORT),
)
GOALS = tuple(c for c in CLAIMS if (c.of, c.against) == ("lunule-mindex", "builtin"))
"""Those that are ours, too."""
# Mean IF below that of Vanilla and GreedySpill, over five workloads (4.3).
IF_LOWER: Mapping[str, float] = {"least": 0.179, "most": 0.904}
ORACLE_GOAL = 0.9
