# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which balancer is best on which workload? Every pair of both, as in the paper."""
