# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sets extended attributes of directories as the administrator, inside the sandbox.

Standard input: a JSON list of [path, name, value]. Each directory is listed first, because an MDS exports
only what it has in cache. Returns when the MDSs have it in their journals.
"""

import json
import sys

import cephfs

from lab.clients.jobs.files import readdir


def main() -> None:
    """Set them all."""
    fs = cephfs.LibCephFS(auth_id="admin", conffile="/etc/ceph/ceph.conf")
    fs.mount(mount_root=b"/", filesystem_name=b"cephfs")
    try:
        for path, name, value in json.load(sys.stdin):
            readdir(fs, path)
            fs.setxattr(path, name, value.encode(), 0)
        fs.sync_fs()
    finally:
        fs.shutdown()


if __name__ == "__main__":
    main()
