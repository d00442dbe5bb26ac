# SPDX-License-Identifier: LGPL-2.1-or-later
"""The balancers to choose between, and where metadata is placed."""
