# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine process: ``python3 -m engine --nice N --memory-limit BYTES``."""

import argparse
import importlib.util
import os
import resource
import sys
from typing import BinaryIO

from .names import DEBIANS

NEEDS = {"numpy": "python3-numpy", "scipy": "python3-scipy", "sklearn": "python3-sklearn"}
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="engine", description="The numeric engine of mds_partitioner.")
    parser.add_argument("--nice", type=int, required=True, help="added to the process's niceness")
    parser.add_argument("--memory-limit", type=int, required=True, help="bytes of address space; 0: no limit")
    return parser.parse_args()


def refuse_without_libraries() -> None:
    """:raises SystemExit: this Python lacks what the engine computes with; the manager passes the words on"""
    missing = [package for name, package in NEEDS.items() if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(
            f"{sys.executable} lacks what it computes with: install {' '.join(missing)} {DEBIANS}, "
            "or name another Python by the option engine_python"
        )


def take_stdout() -> BinaryIO:
    """Keep the real stdout for the protocol, and let everything else that prints write to stderr."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return sink


def main() -> None:
    options = arguments()
    refuse_without_libraries()
    os.nice(options.nice)
    if options.memory_limit:
        resource.setrlimit(resource.RLIMIT_AS, (options.memory_limit, options.memory_limit))
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))  # read by numpy when it is imported
    sink = take_stdout()

    from .calls import CALLS
    from .protocol import serve

    try:
        serve(sys.stdin.buffer, sink, CALLS)
    except BrokenPipeError:
        os._exit(0)  # nobody reads the answers any more


if __name__ == "__main__":
    main()
