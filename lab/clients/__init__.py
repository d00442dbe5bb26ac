# SPDX-License-Identifier: LGPL-2.1-or-later
"""Load on a lab's file system through libcephfs, one process a client."""
