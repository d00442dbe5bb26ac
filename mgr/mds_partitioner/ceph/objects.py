# SPDX-License-Identifier: LGPL-2.1-or-later
"""RADOS objects: the policies that MDSs read are written, where directories are is read."""

from __future__ import annotations

import errno
import threading
from concurrent.futures import Future

import rados

from ..errors import CephError, InDoubt, Unavailable
from ..workers import Apart, GivenUp
from .compat import Connections

RADOS_TIMEOUT = 20.0  # s
WRITERS = READERS = 4  # threads a pool for librados, those included that hang


class Objects:
    """Writes and reads, each with a deadline; at most one write an object at a time, and no further read of
    one while one hangs. Each file system has a metadata pool of its own: none waits for another's."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._writers = Apart("RADOS writes", WRITERS)
        self._readers = Apart("RADOS reads", READERS)
        self._lock = threading.Lock()  # of the tables alone
        self._under_way: set[tuple[int, str]] = set()  # pool and name of what is written, given up or not
        self._hanging: dict[Future[bytes | None], tuple[int, str]] = {}  # reads that were given up

    def put(self, pool: int, name: str, text: str) -> None:
        """Write an object whole.

        OSDs that are full, paused or down do not answer. The write then stays with librados and is made when
        they can; until then the object's next one is refused, so that they cannot change places.

        :raises CephError: the OSDs did not take it
        :raises InDoubt: no answer within 20 s, or an earlier write of the object has none yet
        :raises Unavailable: too many other objects' writes hang; this one was not begun
        """
        self._run(pool, name, text.encode())

    def remove(self, pool: int, name: str) -> None:
        """Remove an object; one that is not there is no error. Errors as ``put``."""
        self._run(pool, name, None)

    def attribute(self, pool: int, name: str, attribute: str) -> bytes | None:
        """An extended attribute of an object; None when there is no such object or attribute.

        :raises CephError: the OSDs refused
        :raises Unavailable: no answer within 20 s, or an earlier read of the object has none yet: one more
            would take one more thread
        """
        what = f"object '{name}' in pool {pool}"
        with self._lock:
            if (pool, name) in self._hanging.values():
                raise Unavailable(f"{what}: an earlier read was not answered yet (see 'ceph health detail')")
        workers, read = self._readers.submit(pool, lambda: self._attribute(pool, name, attribute))
        try:
            return workers.result(read, what, RADOS_TIMEOUT)
        except GivenUp:
            with self._lock:
                self._hanging[read] = (pool, name)
            read.add_done_callback(self._answered)
            raise

    def _answered(self, read: Future[bytes | None]) -> None:
        with self._lock:
            del self._hanging[read]

    def _attribute(self, pool: int, name: str, attribute: str) -> bytes | None:
        try:
            with self._connections.rados().open_ioctx2(pool) as objects:
                return bytes(objects.get_xattr(name, attribute))
        except (rados.ObjectNotFound, rados.NoData):
            return None
        except rados.Error as e:
            raise CephError(f"object '{name}' in pool {pool}: {e}") from e

    def shutdown(self) -> None:
        """Begin no more."""
        self._writers.shutdown()
        self._readers.shutdown()

    def _run(self, pool: int, name: str, content: bytes | None) -> None:
        what = f"object '{name}' in pool {pool}"
        with self._lock:
            if (pool, name) in self._under_way:
                raise InDoubt(f"{what}: an earlier write was not answered yet (see 'ceph health detail')")
            self._under_way.add((pool, name))
        try:
            workers, write = self._writers.submit(pool, lambda: self._write(pool, name, content))
            workers.result(write, what, RADOS_TIMEOUT)
        except GivenUp as e:
            raise InDoubt(f"{e}: it may still be made (see 'ceph health detail')") from e
        except Unavailable:
            self._ended(pool, name)
            raise

    def _write(self, pool: int, name: str, content: bytes | None) -> None:
        try:
            with self._connections.rados().open_ioctx2(pool) as objects:
                if content is None:
                    objects.remove_object(name)
                else:
                    objects.write_full(name, content)
        except rados.ObjectNotFound:
            if content is not None:
                raise CephError(f"pool {pool} does not exist", errno.ENOENT) from None
        except rados.Error as e:
            raise CephError(f"object '{name}' in pool {pool}: {e}") from e
        finally:
            self._ended(pool, name)

    def _ended(self, pool: int, name: str) -> None:
        with self._lock:
            self._under_way.discard((pool, name))
