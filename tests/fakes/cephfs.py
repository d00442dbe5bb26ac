# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for libcephfs' binding, which the host lacks: just its exceptions."""


class Error(Exception):
    """As cephfs.Error: args are an errno and a text."""


class ObjectNotFound(Error):
    """ENOENT."""


class ObjectExists(Error):
    """EEXIST."""
