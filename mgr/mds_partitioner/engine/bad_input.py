# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the engine raises on purpose."""


class BadInputError(ValueError):
    """A value of a request is not usable; the message names the value and what is allowed."""
