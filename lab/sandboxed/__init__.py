# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that run inside the sandbox, with its Python and Ceph's bindings."""
