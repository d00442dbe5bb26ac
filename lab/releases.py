# SPDX-License-Identifier: LGPL-2.1-or-later
"""What differs between the Ceph releases that the lab can run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab.errors import LabError

DEFAULT = "tentacle"

_CEPH = ("ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-common", "python3-cephfs", "python3-rados")
# What the engine computes with, policies are tried in, and the mgr's own modules import but only recommend.
_NEEDED = (
    "python3-numpy",
    "python3-scipy",
    "python3-sklearn",
    "python3-prettytable",
    "python3-yaml",
    "python3-dateutil",
    "python3-cffi",
    "python3-prometheus-client",
    "python3-cheroot",
    "lua5.3",
)
_KEY_FILES = (
    "usr/bin/ceph-mon",
    "usr/bin/ceph-mgr",
    "usr/bin/ceph-osd",
    "usr/bin/ceph-mds",
    "usr/bin/ceph",
    "usr/bin/lua5.3",
    "usr/share/ceph/mgr/volumes/module.py",
    "usr/lib/python3/dist-packages/sklearn/__init__.py",
)
_IMPORTS = "import bcrypt, cephfs, rados, numpy, scipy, sklearn, prettytable, yaml, dateutil"


@dataclass(frozen=True)
class Release:
    """A Ceph release and the Debian suite that has it."""

    name: str
    suite: str
    cipher: str
    """What cephx keys are made for; a newer release calls the older one's insecure, and refuses it."""
    python: str
    """Version of the suite's Python, for wheels."""
    wheels: tuple[str, ...] = ()
    """Pinned requirements (with hashes) that Debian has not, or that replace its packages."""
    packages: tuple[str, ...] = _CEPH + _NEEDED
    key_files: tuple[str, ...] = _KEY_FILES
    """A root file system without one of these is broken."""
    imports: str = _IMPORTS
    """What its Python must be able to run."""


# Reef's mgr_util imports bcrypt in every sub-interpreter; Debian's, which is PyO3, refuses that.
_BCRYPT = (
    "bcrypt==3.2.2"
    " --hash=sha256:6d2cb9d969bfca5bc08e45864137276e4c3d3d7de2b162171def3d188bf9d34a"  # x86_64
    " --hash=sha256:88273d806ab3a50d06bc6a2fc7c87d737dd669b76ad955f449c43095389bc8fb"  # aarch64
)

RELEASES = {
    "tentacle": Release("tentacle", suite="forky", cipher="aes256k", python="3.14"),
    "reef": Release("reef", suite="trixie", cipher="aes", python="3.13", wheels=(_BCRYPT,)),
}


def get(name: str, more: Sequence[str] = ()) -> Release:
    """The release called name, with more packages of its suite."""
    try:
        release = RELEASES[name]
        return replace(release, packages=(*release.packages, *more))
    except KeyError:
        raise LabError(f"no release {name!r}: the lab knows {', '.join(sorted(RELEASES))}") from None
