# SPDX-License-Identifier: LGPL-2.1-or-later
"""The names the module imports from librados' Python binding."""


class Error(Exception):
    """Stands for rados.Error."""


class ObjectNotFound(Error):
    """Stands for rados.ObjectNotFound."""


class NoData(Error):
    """Stands for rados.NoData."""
