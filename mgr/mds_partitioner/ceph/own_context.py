# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Ceph context that is not shared with the manager's other modules: it has options of our own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import rados
from mgr_module import MgrModule

OPTIONS = {
    # A directory's size may be that of all below it. So libcephfs asks an MDS once more for each subdirectory
    # that it lists (Client.cc, _readdir_r_cb), a full one for seconds. Nobody here wants to know that.
    "client_dirsize_rbytes": "false",
    # s: mons that do not answer hold up the threads that mount no longer. A full MDS may take ten.
    "client_mount_timeout": "30",
    # s: an MDS that hangs holds up no longer who unmounts. mgr_util does so with all mounts locked.
    "client_shutdown_timeout": "5",
    "admin_socket": "",  # the manager has it
    "log_file": "",  # the manager has it, too, and another one is told when it was rotated
}
AS_THE_MANAGER = ("keyring", "mon_host")  # what the manager was given, be it not in its configuration file


class OwnContext:
    """The manager as mgr_util's mounts see it, but for a Ceph context of its own, made when it is needed. It
    stays as long as the process: mounts that hang may use it to the end."""

    def __init__(self, module: MgrModule, shared: Callable[[], Any], log: logging.Logger) -> None:
        """``shared``: the Rados that all modules share."""
        self._module, self._shared, self._log = module, shared, log
        self._own: Any = None
        self._told = False
        # Held while it connects, as mgr_util's is: by threads that nobody waits for longer than he wants.
        self._connecting = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    @property
    def rados(self) -> Any:
        """A connected Rados; the one that all share, while another one cannot be had: listing takes long
        then. :raises rados.Error: nor can that be had"""
        with self._connecting:
            if self._own is None:
                self._own = self._connected()
            return self._own or self._shared()

    def _connected(self) -> Any:
        """As MgrModule.rados, but for the context; None: the manager cannot connect once more."""
        given = {option: str(self._module.get_ceph_option(option) or "") for option in AS_THE_MANAGER}
        made = None
        try:
            made = rados.Rados(
                name=f"mgr.{self._module.get_mgr_id()}",
                conffile=self._module.get_ceph_conf_path(),
                conf={option: value for option, value in given.items() if value} | OPTIONS,
            )
            made.connect()
        except rados.Error as e:
            if made is not None:
                made.shutdown()
            told, self._told = self._told, True
            log = self._log.debug if told else self._log.warning
            log("mounts share the manager's Ceph context, as they cannot have their own: %s", e)
            return None
        self._module._ceph_register_client(None, made.get_addrs(), False)
        return made
