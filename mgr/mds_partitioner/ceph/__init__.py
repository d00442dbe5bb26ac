# SPDX-License-Identifier: LGPL-2.1-or-later
"""All that calls Ceph, each call with a deadline; the rest of the module is given its answers."""
