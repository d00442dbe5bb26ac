# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which subvolume belongs on which rank, as a value."""
