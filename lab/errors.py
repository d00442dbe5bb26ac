# SPDX-License-Identifier: LGPL-2.1-or-later
"""The one exception whose text is meant for the user."""


class LabError(Exception):
    """What went wrong, in one sentence that says what to do about it."""
