# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo: one rank serves everything, the module spreads it, and the difference is measured."""
