# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the sandbox raises on purpose."""


class PolicyError(Exception):
    """An MDS could not use the policy, or should not run it; the message says why."""


class SandboxError(Exception):
    """The sandbox itself does not work; the message says what to do."""
