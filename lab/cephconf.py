# SPDX-License-Identifier: LGPL-2.1-or-later
"""ceph.conf, keyrings and names of a lab's cluster: texts only."""

import base64
import itertools
import os
import re
import string
import struct
import time
from collections.abc import Mapping

from lab.errors import LabError

_CAPS = {
    "mon": {"mon": "allow *"},
    "mgr": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
    "osd": {"mon": "allow profile osd", "mgr": "allow profile osd", "osd": "allow *"},
    "mds": {"mon": "allow profile mds", "mgr": "allow profile mds", "osd": "allow *", "mds": "allow *"},
}
_CLIENT_CAPS = {
    "client.admin": {"mon": "allow *", "mgr": "allow *", "osd": "allow *", "mds": "allow *"},
    # What Manila and CSI give their clients, over all subvolumes at once.
    "client.load": {"mon": "allow r", "mds": "allow rw", "osd": "allow rw tag cephfs data=*"},
}

_OPTIONS = {
    # One machine, one OSD in memory.
    "mon_host": "[v2:127.0.0.1:3300,v1:127.0.0.1:6789]",
    "public_addr": "127.0.0.1",
    "cluster_addr": "127.0.0.1",
    "osd_objectstore": "memstore",
    "memstore_device_bytes": str(8 << 30),
    "osd_pool_default_size": "1",
    "osd_pool_default_min_size": "1",
    "osd_crush_chooseleaf_type": "0",
    "mon_allow_pool_size_one": "true",
    "mon_allow_pool_delete": "true",
    "mon_warn_on_pool_no_redundancy": "false",
    "osd_pool_default_pg_autoscale_mode": "off",
    "osd_pool_default_pg_num": "8",
    "mon_data_avail_warn": "2",
    "mon_data_avail_crit": "1",
    "auth_allow_insecure_global_id_reclaim": "false",
    "keyring": "/etc/ceph/$cluster.$name.keyring",
    # Quick to come up and to notice a death.
    "paxos_propose_interval": "0.2",
    "mon_tick_interval": "1",
    "mgr_initial_modules": "",
    "mgr_beacon_period": "1",
    "mon_mgr_beacon_grace": "6",
    "mds_beacon_interval": "2",
    "mds_beacon_grace": "12",
    # A rank that comes back waits this long for clients that died with the manager, say.
    "mds_reconnect_timeout": "12",
}
_OPTION_NAME = re.compile(r"[a-z][a-z0-9_ ]*")


# Ceph's number of a cipher and the bytes of its key (src/include/ceph_fs.h).
_CIPHERS = {"aes": (1, 16), "aes256k": (2, 32)}


def make_key(cipher: str) -> str:
    """A new cephx secret: type, creation time, length, random bytes."""
    kind, length = _CIPHERS[cipher]
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    header = struct.pack("<HIIH", kind, seconds, nanoseconds, length)
    return base64.b64encode(header + os.urandom(length)).decode()


def caps_of(entity: str) -> Mapping[str, str]:
    """Capabilities of an entity such as mds.a or client.admin."""
    return _CLIENT_CAPS.get(entity) or _CAPS[entity.partition(".")[0]]


def keyring(keys: Mapping[str, str]) -> str:
    """The text of a keyring with these entities and their capabilities."""
    parts = []
    for entity, key in keys.items():
        caps = "".join(f'\tcaps {service} = "{cap}"\n' for service, cap in caps_of(entity).items())
        parts.append(f"[{entity}]\n\tkey = {key}\n{caps}")
    return "".join(parts)


def ceph_conf(fsid: str, extra: Mapping[str, str]) -> str:
    """The text of ceph.conf; extra options go over the lab's own."""
    options = {"fsid": fsid, **_OPTIONS, **extra}
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in options.items())


def parse_option(text: str) -> tuple[str, str]:
    """Name and value of a KEY=VALUE for ceph.conf."""
    name, equals, value = text.partition("=")
    name = name.strip().replace(" ", "_").replace("-", "_")
    if not equals or not _OPTION_NAME.fullmatch(name) or "\n" in value:
        raise LabError(f"bad option {text!r}: it must look like mds_cache_memory_limit=1073741824")
    return name, value.strip()


def mds_names(count: int) -> list[str]:
    """a, b, ..., z, aa, ab, ..."""
    letters = string.ascii_lowercase
    names = itertools.chain(letters, map("".join, itertools.product(letters, repeat=2)))
    return list(itertools.islice(names, count))


def mgr_names(count: int) -> list[str]:
    """x, y, z, then x1, x2, ..."""
    names = itertools.chain("xyz", (f"x{i}" for i in itertools.count(1)))
    return list(itertools.islice(names, count))
