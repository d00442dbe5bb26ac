# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the questions share: cells, their balancers and workloads, figures and pictures."""
