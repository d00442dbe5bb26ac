# SPDX-License-Identifier: LGPL-2.1-or-later
"""MD: mdtest's creates, each client in a private empty directory."""

from experiments.common.workloads.private import Private

MD = Private("md", "create", operations=4_500, files=1)
