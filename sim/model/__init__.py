# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cluster: ranks, clients, directories, migrations and what is counted of them."""
