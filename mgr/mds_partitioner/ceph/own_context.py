# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Ceph context that is not shared with the manager's other modules: it has options of our own."""

from __future__ import annotations

import logging
import threading
from typing import Any

import rados
from mgr_module import MgrModule

OPTIONS = {
    # A directory's size may be that of all below it. So libcephfs asks an MDS once more for each subdirectory
    # that it lists (Client.cc, _readdir_r_cb), a full one for seconds. Nobody here wants to know that.
    "client_dirsize_rbytes": "false",
    "admin_socket": "",  # the manager has it
}
AS_THE_MANAGER = ("keyring", "mon_host")  # what the manager was given, be it not in its configuration file


class OwnContext:
    """The manager as mgr_util's mounts see it, but for a Ceph context of its own, made when it is needed."""

    def __init__(self, module: MgrModule, log: logging.Logger) -> None:
        self._module, self._log = module, log
        self._own: Any = None
        # Held while it connects, as mgr_util's is: by threads that nobody waits for longer than he wants.
        self._connecting = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    @property
    def rados(self) -> Any:
        """A connected Rados; the module's, which all share, where another one cannot be had: listing takes
        long then."""
        with self._connecting:
            if self._own is None:
                self._own = self._connected() or self._module.rados
            return self._own

    def _connected(self) -> Any:
        """As MgrModule.rados, but for the context; None: the manager cannot connect twice."""
        given = {option: str(self._module.get_ceph_option(option) or "") for option in AS_THE_MANAGER}
        try:
            made = rados.Rados(
                name=f"mgr.{self._module.get_mgr_id()}",
                conffile=self._module.get_ceph_conf_path(),
                conf={option: value for option, value in given.items() if value} | OPTIONS,
            )
            made.connect()
        except rados.Error as e:
            self._log.warning("mounts share the manager's Ceph context, as they cannot have their own: %s", e)
            return None
        self._module._ceph_register_client(None, made.get_addrs(), False)
        return made

    def shutdown(self) -> None:
        """Disconnect, when nothing is mounted any more."""
        if self._own is None or self._own is self._module.rados:
            return
        addresses = self._own.get_addrs()
        self._own.shutdown()
        self._module._ceph_unregister_client(None, addresses)
