# SPDX-License-Identifier: LGPL-2.1-or-later
"""A disposable real CephFS on this machine. Imported on both sides of the sandbox: standard library only."""
