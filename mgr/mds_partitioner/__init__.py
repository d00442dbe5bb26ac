# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keep the metadata load of a CephFS even over its active MDS ranks."""

from .module import Module, StandbyModule

__all__ = ["Module", "StandbyModule"]
