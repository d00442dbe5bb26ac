# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is one full rank of many relieved?"""
