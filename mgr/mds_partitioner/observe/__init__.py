# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the cluster is doing: ranks, sessions, subtrees, subvolumes."""
