# SPDX-License-Identifier: LGPL-2.1-or-later
"""Balancing by a Mantle policy: which one, what it is told, what the MDSs did with it."""
