# SPDX-License-Identifier: LGPL-2.1-or-later
"""RADOS objects: the policies that MDSs read are written, where directories are is read."""

from __future__ import annotations

import errno
import threading

import rados

from ..errors import CephError, InDoubt, Unavailable
from ..workers import GivenUp, Workers
from .compat import Connections

RADOS_TIMEOUT = 20.0  # s
WRITERS = READERS = 4  # threads for librados, those included that hang


class Objects:
    """Writes and reads, each with a deadline; at most one write an object at a time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._writers = Workers("RADOS writes", WRITERS)
        self._readers = Workers("RADOS reads", READERS)
        self._lock = threading.Lock()  # of the set alone
        self._under_way: set[tuple[int, str]] = set()  # pool and name, given up or not

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
        :raises Unavailable: no answer within 20 s
        """
        what = f"object '{name}' in pool {pool}"
        return self._readers.run(what, RADOS_TIMEOUT, lambda: self._attribute(pool, name, attribute))

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
            self._writers.run(what, RADOS_TIMEOUT, lambda: self._write(pool, name, content))
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
