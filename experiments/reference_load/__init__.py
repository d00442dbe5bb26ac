# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the reference load take the machine out of a figure?"""
