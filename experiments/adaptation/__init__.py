# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does a balancer follow ranks and clients that come?"""
