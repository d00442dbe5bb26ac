# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs Mantle policies as an MDS does, in a process of its own that can be limited and killed.

Imports nothing of the manager's: the tests and the simulator decide with it, too.
"""
