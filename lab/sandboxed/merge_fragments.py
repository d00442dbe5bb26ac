# SPDX-License-Identifier: LGPL-2.1-or-later
"""Merges directories' fragments again, inside the sandbox: all must be on rank 0.

Standard input: a JSON list of paths. Standard output: a JSON object, why an MDS refused a path.
"""

import json
import sys

from lab.sandboxed.sampler import RUN, ask

_WHOLE = "0/0"


def main() -> None:
    """Ask rank 0, which merges in its own time."""
    paths, refused = json.load(sys.stdin), {}
    for socket in sorted(RUN.glob("ceph-mds.*.asok")):
        status = ask(socket, prefix="status")
        if status.get("state") != "up:active" or status["whoami"] != 0:
            continue
        for path in paths:
            answer = ask(socket, prefix="dirfrag merge", path=path, frag=_WHOLE)
            if answer:
                refused[path] = answer
    print(json.dumps(refused))


if __name__ == "__main__":
    main()
