# SPDX-License-Identifier: LGPL-2.1-or-later
"""The MDS hook: a patch series against Ceph's src/mds, and the small build that makes a ceph-mds of it."""
