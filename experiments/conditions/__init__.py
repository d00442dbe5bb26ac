# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is a balancer worth from cold, and once it has settled?"""
