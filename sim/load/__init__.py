# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clients do over time."""
