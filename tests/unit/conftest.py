# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a test finds must not hang on how quick the machine is: no example has a deadline."""

from hypothesis import settings

settings.register_profile("patient", parent=settings(), deadline=None)
settings.load_profile("patient")
