# SPDX-License-Identifier: LGPL-2.1-or-later
"""A simulator in which the decisions that ship are run against modelled clusters (docs/simulator.md)."""
