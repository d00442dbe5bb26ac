# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cell: one workload under one balancer, run, recorded, kept."""
