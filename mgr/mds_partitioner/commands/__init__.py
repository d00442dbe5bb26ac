# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands: each is declared, checked, done and answered in one place."""
