# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the programs of the bench that run cells can be told."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments.common.balancers.balancers import BALANCERS
from lab import releases

OUT = Path("docs/results/bench")


def program(module: str, doc: str | None) -> argparse.ArgumentParser:
    """Its parser, with the first line of what it says of itself."""
    first = (doc or "").partition("\n")[0]
    return argparse.ArgumentParser(prog=f"python3 -m {module}", description=first, allow_abbrev=False)


def add_names(
    parser: argparse.ArgumentParser, kind: str, known: Sequence[str], default: Sequence[str]
) -> None:
    """An option that takes names of a kind."""
    parser.add_argument(
        f"--{kind}",
        nargs="+",
        choices=known,
        default=default,
        metavar="NAME",
        help=f"of {', '.join(known)}; default: {' '.join(default)}",
    )


def add_options(
    parser: argparse.ArgumentParser, balancers: Sequence[str], *, mds_cpu: int, runs: int
) -> None:
    """Which balancers, of which release, at which quota, how often, and where the results go."""
    add_names(parser, "balancers", list(BALANCERS), balancers)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument(
        "--mds-cpu",
        type=int,
        default=mds_cpu,
        metavar="PERCENT",
        help="of a core, each MDS (default: %(default)s)",
    )
    parser.add_argument("--runs", type=int, default=runs, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="default: %(default)s")
