# SPDX-License-Identifier: LGPL-2.1-or-later
"""scan: as cnn, but every client has directories of its own: what the MDS hook was first measured with."""

from experiments.common.workloads.scan import Scan

SCAN_APART = Scan("scan", dirs=100, files=200, touch="open", clients=8, apart=True)
