# SPDX-License-Identifier: LGPL-2.1-or-later
"""Zipf: filebench's reads from 10,000 private files, 80 % of them from 20 % of the files."""

from experiments.common.workloads.private import Private

# Of 10,000 files by Zipf's law, the 2,000 most popular get 80 % of the draws.
EIGHTY_TWENTY = 0.95

ZIPF = Private("zipf", "open", operations=12_000, files=10_000, zipf=EIGHTY_TWENTY)
# Twelve subvolumes: ranks that serve 1 to 2 can have 1 to 2 of them.
ZIPF12 = Private("zipf12", "open", operations=12_000, files=10_000, zipf=EIGHTY_TWENTY, clients=12)
