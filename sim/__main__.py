# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m sim`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.signals import EndedError, signals_raise
from mds_partitioner.policy.sandbox.refusals import PolicyError, SandboxError
from sim import calibrate, cold, fit, papers, scenario
from sim.compare import FORWARDED, SCENARIOS, SEEDS, compare
from sim.errors import SimError
from sim.explore import explore
from sim.markdown import wrapped
from sim.policies import POLICIES
from sim.run import run_all

OUT = Path("out/sim")


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit status."""
    args = _parser().parse_args(argv)
    try:
        with signals_raise():
            status: int = args.do(args)
            return status
    except (SimError, PolicyError, SandboxError) as e:
        print(f"sim: {e}", file=sys.stderr)
        return 2
    except EndedError as e:
        print("sim: interrupted", file=sys.stderr)
        return 128 + e.signum


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m sim", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run scenarios; all without a name")
    run.add_argument("names", nargs="*", metavar="SCENARIO", help="a name (see: list), or a .toml file")
    run.add_argument("--quick", action="store_true", help="only those that are part of make test")
    run.add_argument("--policy", help="judge this one in place of each scenario's own")
    run.add_argument("--jobs", type=int, default=0, help="runs at once (default: one a core)")
    run.add_argument("--draw", action="store_true", help="pictures of all, not only of those that fail")
    run.add_argument(
        "--out", type=Path, default=OUT, help="where pictures, and --policy's page, go (default: %(default)s)"
    )
    run.set_defaults(do=_run)
    listed = commands.add_parser("list", help="all scenarios, in a sentence each")
    listed.set_defaults(do=_list)
    calibrated = commands.add_parser(
        "calibrate", help="the bench's and the scheduler's cells: measured and simulated"
    )
    calibrated.add_argument(
        "--out", type=Path, default=OUT, help="where the table goes (default: %(default)s)"
    )
    calibrated.add_argument(
        "--fit", action="store_true", help="fit the costs of an MDS instead, and say what they are"
    )
    calibrated.set_defaults(do=_calibrate)
    compared = commands.add_parser("compare", help="every policy and paper's system on the same scenarios")
    compared.add_argument(
        "names", nargs="*", metavar="SCENARIO", help=f"without a name: {', '.join([*SCENARIOS, FORWARDED])}"
    )
    compared.add_argument("--seeds", nargs="+", type=int, default=SEEDS, metavar="SEED", help="default: 1")
    compared.add_argument("--jobs", type=int, default=0, help="runs at once (default: one a core)")
    compared.add_argument(
        "--out", type=Path, default=OUT, help="where all.md and all.png go (default: %(default)s)"
    )
    compared.set_defaults(do=_compare)
    explored = commands.add_parser("explore", help="scenarios that nobody wrote, drawn from seeds")
    explored.add_argument("--policy", choices=POLICIES, default="scheduler", help="default: %(default)s")
    explored.add_argument("--first", type=int, default=0, help="the first seed (default: %(default)s)")
    explored.add_argument("--count", type=int, default=20, help="of scenarios (default: %(default)s)")
    explored.add_argument("--jobs", type=int, default=0, help="runs at once (default: one a core)")
    explored.add_argument("--out", type=Path, default=OUT, help="where pictures go (default: %(default)s)")
    explored.set_defaults(do=_explore)
    paper = commands.add_parser("paper", help="a paper's systems: its numbers beside ours")
    paper.add_argument(
        "name", nargs="?", metavar="NAME", help=f"one of: {', '.join(papers.names())}; all without one"
    )
    paper.add_argument("--out", type=Path, default=OUT, help="where pictures go (default: %(default)s)")
    paper.set_defaults(do=_paper)
    return parser


def _run(args: argparse.Namespace) -> int:
    found = [s for s in scenario.find(args.names) if s.quick or not args.quick]
    if not found:
        raise SimError("there is no such scenario")
    if args.policy is not None:
        for left in (s for s in found if args.policy in s.fails_with and args.policy != s.policy):
            print(f"{left.name} is left out: '{args.policy}' is a policy that must fail in it")
        found = [scenario.instead(s, args.policy) for s in found if args.policy in (s.policy, *_others(s))]
    of_all = None if args.names or args.quick else args.policy
    return 1 if run_all(found, args.out, args.jobs, args.draw, of_all) else 0


def _others(found: scenario.Scenario) -> list[str]:
    """Policies that a scenario can be judged with besides its own."""
    return [policy for policy in POLICIES if policy not in found.fails_with]


def _list(args: argparse.Namespace) -> int:
    for found in scenario.find([]):
        marks = [
            mark for mark, holds in (("quick", found.quick), ("fails today", found.known_failure)) if holds
        ]
        whose = f"{found.policy}, not {' nor '.join(found.fails_with)}"
        print(f"{found.name} ({', '.join([whose, *marks])}): {found.about}")
    return 0


def _calibrate(args: argparse.Namespace) -> int:
    if args.fit:
        for workloads in (calibrate.FITTED, calibrate.CHECKED):
            print(fit.told(fit.fit(workloads), workloads))
        return 0
    text = f"{calibrate.report()}\n## From cold\n\n{cold.report()}"
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "calibration.md").write_text(wrapped(text))
    print(text)
    return 0


def _compare(args: argparse.Namespace) -> int:
    print(compare(args.names, args.seeds, args.jobs, args.out))
    return 0


def _explore(args: argparse.Namespace) -> int:
    seeds = range(args.first, args.first + args.count)
    text, bad = explore(seeds, args.policy, args.out, args.jobs)
    print(text)
    return 1 if bad else 0


def _paper(args: argparse.Namespace) -> int:
    for name in [args.name] if args.name else papers.names():
        paper = papers.load(name)
        out: Path = args.out / paper.NAME
        out.mkdir(parents=True, exist_ok=True)
        text = paper.report(out)
        (out / "report.md").write_text(wrapped(text))
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
