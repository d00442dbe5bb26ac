# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keeps a file system even by small moves. core/ decides, without I/O; rounds.py looks and acts."""
