# SPDX-License-Identifier: LGPL-2.1-or-later
"""How uneven the load is, and why."""
