# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keep the metadata load of a CephFS even over its active MDS ranks."""

from .ceph.interpreter import keep_apart
from .module import Module, StandbyModule

keep_apart()  # when all that is shared was imported

__all__ = ["Module", "StandbyModule"]
