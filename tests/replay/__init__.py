# SPDX-License-Identifier: LGPL-2.1-or-later
"""Replay: the production planner, executor and journal on a modelled cluster, through every kind of fault."""
