# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Ceph context that mounts have for themselves."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import pytest
import rados

from mds_partitioner.ceph.own_context import OwnContext


class Connection:
    """A Rados that keeps what it was made with."""

    refuses: ClassVar[bool] = False
    made: ClassVar[list[Connection]] = []

    def __init__(self, **given: Any) -> None:
        self.given, self.connected, self.ended = given, False, False
        self.made.append(self)

    def connect(self) -> None:
        """As Rados.connect."""
        if self.refuses:
            raise rados.Error("the keyring cannot be read")
        self.connected = True

    def get_addrs(self) -> str:
        """As Rados.get_addrs."""
        return "10.0.0.1:0/1"

    def shutdown(self) -> None:
        """As Rados.shutdown."""
        self.ended = True


class Manager:
    """What is asked of MgrModule."""

    def __init__(self) -> None:
        self.rados, self.registered = Connection(), list[Any]()

    def get_mgr_id(self) -> str:
        """As in Ceph."""
        return "x"

    def get_ceph_conf_path(self) -> str:
        """As in Ceph."""
        return "/etc/ceph/c.conf"

    def get_ceph_option(self, name: str) -> str | None:
        """As in Ceph."""
        return {"keyring": "/var/lib/ceph/mgr/ceph-x/keyring"}.get(name)

    def _ceph_register_client(self, *client: Any) -> None:
        self.registered.append(client)


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(rados, "Rados", Connection, raising=False)
    monkeypatch.setattr(Connection, "made", [])
    return Manager()


LOG = logging.getLogger("own_context")


def test_directories_are_listed_without_the_size_of_all_below_them(manager: Any) -> None:
    own = OwnContext(manager, lambda: manager.rados, LOG)
    made = own.rados
    assert own.rados is made is not manager.rados and made.connected
    assert (made.given["name"], made.given["conffile"]) == ("mgr.x", "/etc/ceph/c.conf")
    assert made.given["conf"] == {
        "keyring": "/var/lib/ceph/mgr/ceph-x/keyring",
        "client_dirsize_rbytes": "false",
        "client_mount_timeout": "30",
        "client_shutdown_timeout": "5",
        "admin_socket": "",
        "log_file": "",
    }
    assert manager.registered == [(None, "10.0.0.1:0/1", False)], "a fail-over blocklists what it leaves"
    assert own.get_mgr_id() == "x"


def test_a_manager_that_cannot_connect_twice_mounts_all_the_same_and_tries_again(
    manager: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Connection, "refuses", True)
    own = OwnContext(manager, lambda: manager.rados, LOG)
    assert own.rados is own.rados is manager.rados and manager.registered == []
    assert [record.getMessage() for record in caplog.records] == [
        "mounts share the manager's Ceph context, as they cannot have their own: the keyring cannot be read"
    ]
    shared, *others = Connection.made
    assert [other.ended for other in others] == [True, True] and not shared.ended
    monkeypatch.setattr(Connection, "refuses", False)
    assert own.rados is not manager.rados and own.rados.connected
