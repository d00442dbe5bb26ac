# SPDX-License-Identifier: LGPL-2.1-or-later
"""Balancers measured against each other on a real cluster."""
