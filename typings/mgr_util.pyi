# SPDX-License-Identifier: LGPL-2.1-or-later
# What the module uses of Ceph's src/pybind/mgr/mgr_util.py.
from contextlib import AbstractContextManager
from threading import Timer
from typing import Any

from mgr_module import MgrModule

class CephfsConnectionException(Exception):
    errno: int
    error_str: str

class CephfsConnectionPool:
    timer_task: Timer

class CephfsClient:
    connection_pool: CephfsConnectionPool
    def __init__(self, mgr: MgrModule) -> None: ...
    def shutdown(self) -> None: ...

def open_filesystem(fsc: CephfsClient, fs_name: str) -> AbstractContextManager[Any]: ...
def get_default_addr() -> str: ...
def build_url(host: str | None, scheme: str | None = ..., port: int | None = ..., path: str = ...) -> str: ...
