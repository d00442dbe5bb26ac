# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who balances directories that are made and deleted all the time?"""
