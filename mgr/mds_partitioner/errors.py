# SPDX-License-Identifier: LGPL-2.1-or-later
"""Errors that reach the operator: an errno for the command's exit code and one sentence."""

from __future__ import annotations

import errno


def unexpected(error: Exception) -> str:
    """What an operator is told of an exception that nobody expected; its trace is in the log."""
    return f"{type(error).__name__}: {error}; see the manager's log"


class PartitionerError(Exception):
    """A command failed; nothing was changed by it.

    :ivar code: positive errno, returned negated to the ``ceph`` command.
    """

    code = errno.EINVAL

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class BadInput(PartitionerError):
    """A value the operator gave is not allowed; the message names it and what is."""

    code = errno.EINVAL


class BadOption(BadInput):
    """The value of one of the module's options is not allowed: no fault of who asked, nor of the engine."""


class NotFound(PartitionerError):
    """The named file system, plan or directory does not exist."""

    code = errno.ENOENT


class Removed(NotFound):
    """The file system is gone for good."""


class Busy(PartitionerError):
    """Something of the kind is under way already."""

    code = errno.EBUSY


class NotPermitted(PartitionerError):
    """An operator's setting stands in the way; ``--force`` overrides it."""

    code = errno.EPERM


class Unavailable(PartitionerError):
    """A daemon or the engine did not answer; trying again may help."""

    code = errno.EAGAIN


class Unheard(Unavailable):
    """MDSs have not told this manager what they serve: it may be too early, or they are dead."""


class InDoubt(Unavailable):
    """A change was sent and not answered in time: it may have been made, or be made later.

    Whoever reads the value now may read the old one. ``Host.in_flight`` tells when that has ended.
    """


class CephError(PartitionerError):
    """A Ceph command or a libcephfs call failed with ``code``."""

    code = errno.EIO


class JournalError(PartitionerError):
    """The mon's key/value store did not take a journal record: nothing may be changed."""

    code = errno.EIO
