# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m sim`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sim import papers
from sim.errors import SimError

OUT = Path("out/sim")


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit status."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.do(args)
        return status
    except SimError as e:
        print(f"sim: {e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sim: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m sim", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    paper = commands.add_parser("paper", help="a paper's systems: its numbers beside ours")
    paper.add_argument("name", metavar="NAME", help=f"one of: {', '.join(papers.names())}")
    paper.add_argument("--out", type=Path, default=OUT, help="where pictures go (default: %(default)s)")
    paper.set_defaults(do=_paper)
    return parser


def _paper(args: argparse.Namespace) -> int:
    paper = papers.load(args.name)
    out: Path = args.out / paper.NAME
    out.mkdir(parents=True, exist_ok=True)
    text = paper.report(out)
    (out / "report.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
