# SPDX-License-Identifier: LGPL-2.1-or-later
"""Change the file system, journal first."""
