# SPDX-License-Identifier: LGPL-2.1-or-later
"""programs: those that others wrote, over ceph-fuse: what users run, and how most of them mount."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads.base import CLIENTS, SEED, Workload, home_of
from lab.clients.spec import ClientSpec, LoadSpec

_CACHED = 16_384  # dentries: ceph-fuse's own default
_SOURCE, _SCRIPT = "/tmp/source.sh", "/tmp/programs"
# Python's own library, as a tree, an archive and a repository of two commits; once a lab, outside of CephFS.
_MAKE_SOURCE = """\
set -e
exec 9> /tmp/source.lock
flock 9
test ! -e /tmp/source/ready || exit 0
rm -rf /tmp/source
mkdir -p /tmp/source/tree
cd "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
tar -c --exclude=__pycache__ --exclude='*.so' . | tar -x -C /tmp/source/tree
cd /tmp/source
tar -cf tree.tar tree
cp -r tree repository
cd repository
git init -q
git add .
git -c user.name=lab -c user.email=lab@localhost commit -qm first
git rm -rq encodings
git -c user.name=lab -c user.email=lab@localhost commit -qm second
git gc -q
touch /tmp/source/ready
"""
_RUN = f"""\
unpack sh {_SOURCE} && tar -xf /tmp/source/tree.tar
search grep -rl 'import os' tree
find find tree -name '*.py' -newer tree
delete rm -r tree
clone git clone -q /tmp/source/repository clone
checkout git -C clone checkout -q HEAD~1
status git -C clone status --porcelain
remove rm -r clone
fs_mark mkdir -p fs_mark && fs_mark -d fs_mark -l /dev/null -n 200 -s 0
bonnie++ bonnie++ -q -u root -d . -s 0 -n 1
"""


@dataclass(frozen=True)
class Programs(Workload):
    """A subvolume a client, one mount each; one program after the other there."""

    clients: int = CLIENTS

    @property
    def name(self) -> str:
        """Of the cells' files."""
        return "programs"

    @property
    def packages(self) -> tuple[str, ...]:
        """Debian's."""
        return ("ceph-fuse", "git", "fsmark", "bonnie++")

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One a client."""
        return tuple(f"programs{k}" for k in range(self.clients))

    def inputs(self) -> Mapping[str, str]:
        """What makes the source tree, and the programs."""
        return {_SOURCE: _MAKE_SOURCE, _SCRIPT: _RUN}

    def data(self, paths: Mapping[str, str]) -> None:
        """Programs make their files themselves."""

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients, in directories of this cell: what was left half done is in no other's way."""
        return LoadSpec(tuple(self._client(name, paths[name], tag) for name in self.subvolumes), seed=SEED)

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all subvolumes, which last; what comes and goes in them is below their pins."""
        return {home_of(paths[name]): 1.0 for name in self.subvolumes}

    def _client(self, name: str, path: str, tag: str) -> ClientSpec:
        return ClientSpec(
            name=name, path=path, job="programs", source=_SCRIPT, home=f"/{tag}", workers=1, cache=_CACHED
        )


PROGRAMS = Programs()
