# SPDX-License-Identifier: LGPL-2.1-or-later
"""One client, inside the sandbox: mounts, prepares or runs its load, and always unmounts.

Standard input: one JSON line {"client", "fs", "seed", "seconds", "prepare"}; its end is an order to stop.
Standard output: a JSON line a second and one about the whole (a run), or one (a preparation).
"""

import json
import os
import signal
import sys
import threading
from typing import Any

import cephfs

from lab.clients.jobs.programs import Fuse
from lab.clients.lines import say
from lab.clients.prepare import Prepare
from lab.clients.spec import ClientSpec
from lab.clients.threads import any_at_work
from lab.clients.work import Run
from lab.errors import LabError

_UNMOUNT_S = 20.0


def _mount(order: dict[str, Any], client: ClientSpec, stop: threading.Event) -> Any:
    if client.job == "programs":
        return Fuse(order["fs"], client, stop)
    fs = cephfs.LibCephFS(auth_id="load", conffile="/etc/ceph/ceph.conf")
    fs.conf_set("client_cache_size", str(client.cached))
    fs.mount(mount_root=os.fsencode(client.path), filesystem_name=order["fs"].encode())
    return fs


def _unmount(fs: Any) -> bool:
    """Unmount, unless an MDS that does not answer makes that impossible."""
    if any_at_work():
        return False
    unmount = threading.Thread(target=fs.shutdown, daemon=True)
    unmount.start()
    unmount.join(_UNMOUNT_S)
    return not unmount.is_alive()


def _watch_input(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


def main() -> int:
    """Run one client; the exit status."""
    stop = threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: stop.set())
    order = json.loads(sys.stdin.readline())
    client = ClientSpec(**order["client"])
    threading.Thread(target=_watch_input, args=(stop,), daemon=True).start()
    try:
        fs = _mount(order, client, stop)
    except (cephfs.Error, LabError, OSError) as e:
        say({"client": client.name, "failed": f"mount of {client.path}: {e}"})
        return 1
    fine = False
    try:
        if order["prepare"]:
            fine = Prepare(fs, client, stop).run()
        else:
            fine = Run(fs, client, client.seed_in(order["seed"]), stop).run(order["seconds"])
    except (cephfs.Error, OSError) as e:
        say({"client": client.name, "failed": str(e)})
    if not _unmount(fs):
        say({"client": client.name, "failed": "the file system does not answer, so it is not unmounted"})
        # Threads are stuck in the library: an orderly exit would wait for them.
        os._exit(1)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
