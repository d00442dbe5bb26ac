# SPDX-License-Identifier: LGPL-2.1-or-later
"""libcephfs' calls on a directory of this machine, so that jobs can be run without Ceph."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cephfs


@contextlib.contextmanager
def _as_cephfs() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as e:
        raise cephfs.ObjectNotFound(str(e)) from None
    except FileExistsError as e:
        raise cephfs.ObjectExists(str(e)) from None
    except OSError as e:
        raise cephfs.Error(str(e)) from None


class HostFs:
    """Paths are below a root; ``calls`` counts them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls: list[tuple[str, Any]] = []

    def _do(self, name: str, call: Callable[..., Any], path: Any, *args: Any) -> Any:
        self.calls.append((name, path))
        where = f"{self.root}{path}" if isinstance(path, str) else path
        with _as_cephfs():
            return call(where, *args)

    def stat(self, path: str) -> Any:
        return self._do("stat", os.stat, path)

    def fstat(self, fd: int) -> Any:
        return self._do("fstat", os.fstat, fd)

    def statfs(self, path: str) -> Any:
        return self._do("statfs", os.statvfs, path)

    def open(self, path: str, flags: int, mode: int) -> int:
        return int(self._do("open", os.open, path, flags, mode))

    def close(self, fd: int) -> None:
        self._do("close", os.close, fd)

    def write(self, fd: int, data: bytes, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def fsync(self, fd: int, dataonly: int) -> None:
        self._do("fsync", os.fsync, fd)

    def futime(self, fd: int, times: tuple[int, int]) -> None:
        self._do("futime", os.utime, fd, times)

    def flock(self, fd: int, operation: int, owner: int) -> None:
        self._do("flock", lambda _: None, fd)

    def mkdir(self, path: str, mode: int) -> None:
        self._do("mkdir", os.mkdir, path, mode)

    def mkdirs(self, path: str, mode: int) -> None:
        self._do("mkdirs", os.makedirs, path, mode)

    def rmdir(self, path: str) -> None:
        self._do("rmdir", os.rmdir, path)

    def unlink(self, path: str) -> None:
        self._do("unlink", os.unlink, path)

    def rename(self, old: str, new: str) -> None:
        self._do("rename", os.rename, old, f"{self.root}{new}")

    def opendir(self, path: str) -> Any:
        return iter(
            [_Entry(name, self.root / path[1:] / name) for name in self._do("opendir", os.listdir, path)]
        )

    def readdir(self, handle: Any) -> Any:
        return next(handle, None)

    def closedir(self, handle: Any) -> None:
        pass


class _Entry:
    def __init__(self, name: str, path: Path) -> None:
        self.d_name = name.encode()
        self._path = path

    def is_dir(self) -> bool:
        return self._path.is_dir()
