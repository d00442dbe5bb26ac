# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the module see that a rank is full?"""
