# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of the lab."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lab import cephconf, daemons, package, releases, requirements, rootfs, sandbox, state
from lab.api import Lab
from lab.clients.run import ClientRun, Line
from lab.clients.spec import LoadSpec
from lab.errors import LabError
from lab.lifecycle import end
from lab.progress import ConsoleProgress
from lab.signals import EndedError, signals_raise

_EPILOG = """\
commands:
  up        start a lab (its options: up --help)
  status    the labs of this user, their daemons and ranks
  ceph      run ceph in the lab, with everything that follows
  exec      run a program in the lab: exec -- CMD...
  shell     a shell in the lab
  logs      the last lines of all daemons' logs, or of one: logs [DAEMON] [-f]
  kill      send a signal to a daemon: kill DAEMON [--signal KILL]
  start     start a daemon that is not running: start DAEMON
  install   the module's package as the checkout is now, and start its managers again
  clients   load on the file system: clients LOAD.json [--prepare] [--seconds S]
  quota     CPU quota of every MDS in percent of a core: quota PCT|none
  down      end the lab, or all of this user: down [--all]
  build     build the root file systems that are not cached yet: build [RELEASE...]
  prune     remove the cached root file systems
"""


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit status."""
    try:
        with signals_raise():
            args = _parser().parse_args(argv)
            return _COMMANDS[args.command](args.name, args.rest)
    except LabError as e:
        print(f"lab: {e}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + signal.SIGPIPE
    except ModuleNotFoundError as e:
        print(f"lab: {e.name} is missing: run 'make deps', and then .venv/bin/python -m lab", file=sys.stderr)
        return 1
    except EndedError as e:
        print("lab: interrupted", file=sys.stderr)
        return 128 + e.signum


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab",
        description="A disposable real CephFS on this machine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--name", default="default", help="which lab (default: %(default)s)")
    parser.add_argument("command", choices=sorted(_COMMANDS), metavar="COMMAND")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...")
    return parser


def _sub(command: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=f"lab {command}", description=description, allow_abbrev=False)


def _up(name: str, rest: list[str]) -> int:
    parser = _sub("up", "Start a lab and wait until it is healthy.")
    parser.add_argument("--name", default=name)
    parser.add_argument("--release", choices=sorted(releases.RELEASES), default=releases.DEFAULT)
    parser.add_argument("--mds", type=int, default=4, metavar="N", help="active ranks (default: %(default)s)")
    parser.add_argument("--standby", type=int, default=0, metavar="K", help="standbys (default: %(default)s)")
    parser.add_argument("--mgr", type=int, default=2, metavar="N", help="managers (default: %(default)s)")
    parser.add_argument("--mds-cpu", type=int, metavar="PCT", help="CPU quota of each MDS, percent of a core")
    parser.add_argument("--mds-binary", type=Path, metavar="PATH", help="in place of the packaged ceph-mds")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="for ceph.conf")
    args = parser.parse_args(rest)
    lab = Lab.up(
        name=args.name,
        release=args.release,
        mds=args.mds,
        standby=args.standby,
        mgr=args.mgr,
        mds_cpu=args.mds_cpu,
        mds_binary=args.mds_binary and args.mds_binary.resolve(),
        conf=dict(cephconf.parse_option(o) for o in args.conf),
        keep=True,
        progress=ConsoleProgress(),
    )
    print(f"lab {lab.name!r} is up: python3 -m lab --name {lab.name} ceph status")
    return 0


def _ceph(name: str, rest: list[str]) -> int:
    return _replace(name, ["ceph", *rest])


def _exec(name: str, rest: list[str]) -> int:
    argv = rest[1:] if rest[:1] == ["--"] else rest
    if not argv:
        raise LabError("nothing to run: exec -- CMD...")
    return _replace(name, argv)


def _shell(name: str, rest: list[str]) -> int:
    _sub("shell", "A shell in the lab.").parse_args(rest)
    return _replace(name, ["/bin/bash"])


def _replace(name: str, argv: list[str]) -> int:
    """Become the command: its exit status, terminal and signals are then its own."""
    inside = sandbox.Sandbox(state.load(name).sandbox_pid)
    command = inside.command(argv)
    os.execve(command[0], command, sandbox.environment())


def _logs(name: str, rest: list[str]) -> int:
    parser = _sub("logs", "The last lines of the daemons' logs.")
    parser.add_argument("daemon", nargs="?", metavar="DAEMON")
    parser.add_argument("-f", "--follow", action="store_true")
    parser.add_argument("-n", "--lines", type=int, default=30, metavar="N")
    args = parser.parse_args(rest)
    current = state.load(name)
    if args.daemon is not None:
        daemons.check_known(current, args.daemon)
    chosen = [args.daemon] if args.daemon else current.daemons
    paths = [str(p) for d in chosen if (p := daemons.log_path(name, d)).exists()]
    if not paths:
        raise LabError(f"no log yet of {', '.join(chosen)}")
    os.execvp("tail", ["tail", "-n", str(args.lines), *(["-F"] if args.follow else []), "--", *paths])


def _kill(name: str, rest: list[str]) -> int:
    parser = _sub("kill", "Send a signal to a daemon.")
    parser.add_argument("daemon", metavar="DAEMON")
    parser.add_argument("--signal", default="KILL", help="name or number (default: %(default)s)")
    args = parser.parse_args(rest)
    daemons.kill(state.load(name), args.daemon, signal_number(args.signal))
    return 0


def signal_number(text: str) -> int:
    try:
        known = signal.Signals
        return int(known(int(text)) if text.isdigit() else known[f"SIG{text.removeprefix('SIG')}"])
    except (KeyError, ValueError):
        raise LabError(f"no signal {text!r}: use a name such as KILL or TERM, or a number") from None


def _start(name: str, rest: list[str]) -> int:
    parser = _sub("start", "Start a daemon that is not running.")
    parser.add_argument("daemon", metavar="DAEMON")
    Lab(name).start(parser.parse_args(rest).daemon)
    return 0


def _install(name: str, rest: list[str]) -> int:
    _sub("install", "Install the module's package, and start the managers again.").parse_args(rest)
    lab = Lab(name)
    lab.install(package.built(ConsoleProgress()))
    lab.restart_managers()
    return 0


def _quota(name: str, rest: list[str]) -> int:
    parser = _sub("quota", "Set the CPU quota of every MDS, or of some.")
    parser.add_argument("percent", metavar="PCT|none")
    parser.add_argument("only", metavar="DAEMON", nargs="*")
    args = parser.parse_args(rest)
    text = args.percent
    if text != "none" and not text.isdigit():
        raise LabError(f"bad quota {text!r}: a whole number of percent of one core, or none")
    Lab(name).set_mds_cpu(None if text == "none" else int(text), *args.only)
    return 0


def _clients(name: str, rest: list[str]) -> int:
    parser = _sub("clients", "Run the clients of a load until the time is over or until interrupted.")
    parser.add_argument("load", type=Path, metavar="LOAD.json", help="what they do: see lab/clients/spec.py")
    parser.add_argument("--prepare", action="store_true", help="make their directories and files, and end")
    parser.add_argument("--seconds", type=float, metavar="S")
    args = parser.parse_args(rest)
    try:
        load = LoadSpec.from_json(args.load.read_text())
    except OSError as e:
        raise LabError(f"cannot read the load {args.load}: {e.strerror}") from None
    inside = sandbox.Sandbox(state.load(name).sandbox_pid)
    run = ClientRun(inside, load, seconds=args.seconds, prepare=args.prepare, on_line=_print_line)
    try:
        run.wait()
    except EndedError:
        run.stop()
        raise
    return 0


def _print_line(line: Line) -> None:
    try:
        print(json.dumps(line), flush=True)
    except BrokenPipeError:
        # Nobody reads any more, as with `| head`: that ends the clients, and they unmount.
        os.kill(os.getpid(), signal.SIGTERM)
        raise


def _status(name: str, rest: list[str]) -> int:
    _sub("status", "The labs of this user.").parse_args(rest)
    from lab import report

    report.show()
    return 0


def _down(name: str, rest: list[str]) -> int:
    parser = _sub("down", "End the lab.")
    parser.add_argument("--name", default=name)
    parser.add_argument("--all", action="store_true", help="every lab of this user")
    args = parser.parse_args(rest)
    ended = [each for each in (state.names() if args.all else [args.name]) if end(each)]
    print(f"ended: {', '.join(ended)}" if ended else "no lab was running")
    return 0


def _build(name: str, rest: list[str]) -> int:
    parser = _sub("build", "Build the root file systems that are not cached yet, one after the other.")
    known = sorted(releases.RELEASES)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"{', '.join(known)} (default: all)")
    progress = ConsoleProgress()
    for release in map(releases.get, parser.parse_args(rest).releases or known):
        requirements.check(release, state.base_dir())
        rootfs.acquire(release, progress).release()
    return 0


def _prune(name: str, rest: list[str]) -> int:
    _sub("prune", "Remove the cached root file systems.").parse_args(rest)
    removed, kept = rootfs.prune()
    print(f"removed: {', '.join(removed) or 'nothing'}")
    if kept:
        raise LabError(f"kept, for a lab uses it: {', '.join(kept)}; end it with `down` first")
    return 0


_COMMANDS: dict[str, Callable[[str, list[str]], int]] = {
    "up": _up,
    "status": _status,
    "ceph": _ceph,
    "exec": _exec,
    "shell": _shell,
    "logs": _logs,
    "kill": _kill,
    "start": _start,
    "install": _install,
    "clients": _clients,
    "quota": _quota,
    "build": _build,
    "down": _down,
    "prune": _prune,
}
