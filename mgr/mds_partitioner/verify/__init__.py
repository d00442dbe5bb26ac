# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has it arrived, and is the cluster well enough to go on."""
